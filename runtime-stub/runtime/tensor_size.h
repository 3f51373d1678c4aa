// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many bytes a dense tensor has, without overflow.
#pragma once
#include "coppice/dlpack.h"
#include <stdint.h>

namespace coppice::runtime {

/// False when a dimension is negative or when the product of those that are not 0 passes 2^62 bytes: kernels may then
/// multiply dimensions in any order.
inline bool tensor_bytes(const int64_t *dims, int32_t rank, uint64_t element_bytes, uint64_t &bytes) {
  uint64_t product = element_bytes;
  bool empty = false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return false;
    if (dims[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, uint64_t(dims[i]), &product) || product > uint64_t(1) << 62)
      return false;
  }
  bytes = empty ? 0 : product;
  return true;
}

inline bool same_shape(const int64_t *a, int32_t rank_a, const int64_t *b, int32_t rank_b) {
  if (rank_a != rank_b) return false;
  for (int32_t i = 0; i < rank_a; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

} // namespace coppice::runtime
