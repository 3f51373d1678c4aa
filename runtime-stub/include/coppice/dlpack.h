// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* The part of DLPack 1.x that the kernel ABI uses (https://github.com/dmlc/dlpack, include/dlpack/dlpack.h), under
   DLPack's own include guard; the user's copy wins where there is one. */
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stdint.h>
typedef struct {
  int32_t device_type; /* 1: CPU */
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code;   /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool */
  uint8_t bits;   /* of one lane */
  uint16_t lanes; /* 1 everywhere in Coppice */
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* null: dense, row-major. Kernels only ever see dense tensors */
  uint64_t byte_offset;
} DLTensor;
#endif
