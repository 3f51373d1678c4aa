// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of element types for kernels that exist once per type: X(arguments of the caller…, "dtype", C++ type).
#pragma once
#include "coppice/tensor.h"

namespace coppice::onnx {
/// A bool of a tensor: any byte but 0 is true (reading other values than 0 and 1 as C++ bool is undefined).
enum class boolean : uint8_t {};
} // namespace coppice::onnx

#define COPPICE_ONNX_HALVES(X, ...)                                                                                    \
  X(__VA_ARGS__, "f16", ::coppice::f16)                                                                                \
  X(__VA_ARGS__, "bf16", ::coppice::bf16)
#define COPPICE_ONNX_IEEE_FLOATS(X, ...)                                                                               \
  X(__VA_ARGS__, "f32", float)                                                                                         \
  X(__VA_ARGS__, "f64", double)                                                                                        \
  X(__VA_ARGS__, "f16", ::coppice::f16)
#define COPPICE_ONNX_FLOATS(X, ...)                                                                                    \
  COPPICE_ONNX_IEEE_FLOATS(X, __VA_ARGS__)                                                                             \
  X(__VA_ARGS__, "bf16", ::coppice::bf16)
#define COPPICE_ONNX_WIDE_INTEGERS(X, ...)                                                                             \
  X(__VA_ARGS__, "i32", int32_t)                                                                                       \
  X(__VA_ARGS__, "i64", int64_t)                                                                                       \
  X(__VA_ARGS__, "ui32", uint32_t)                                                                                     \
  X(__VA_ARGS__, "ui64", uint64_t)
#define COPPICE_ONNX_SIGNED_INTEGERS(X, ...)                                                                           \
  X(__VA_ARGS__, "i32", int32_t)                                                                                       \
  X(__VA_ARGS__, "i64", int64_t)                                                                                       \
  X(__VA_ARGS__, "i8", int8_t)                                                                                         \
  X(__VA_ARGS__, "i16", int16_t)
#define COPPICE_ONNX_INTEGERS(X, ...)                                                                                  \
  COPPICE_ONNX_WIDE_INTEGERS(X, __VA_ARGS__)                                                                           \
  X(__VA_ARGS__, "i8", int8_t)                                                                                         \
  X(__VA_ARGS__, "i16", int16_t)                                                                                       \
  X(__VA_ARGS__, "ui8", uint8_t)                                                                                       \
  X(__VA_ARGS__, "ui16", uint16_t)
#define COPPICE_ONNX_NUMBERS(X, ...)                                                                                   \
  COPPICE_ONNX_FLOATS(X, __VA_ARGS__)                                                                                  \
  COPPICE_ONNX_INTEGERS(X, __VA_ARGS__)
