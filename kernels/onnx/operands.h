// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every ONNX kernel asks of its operands. `static`: files that are compiled for one CPU level include this, and a
// shared inline function of one level must not replace that of another at link time.
#pragma once
#include "coppice/kernel.h"
#include <string.h>

namespace coppice::onnx {

static inline char *bytes_of(const DLTensor *t) { return static_cast<char *>(t->data) + t->byte_offset; }
template <class T> static inline T *data_of(const DLTensor *t) { return reinterpret_cast<T *>(bytes_of(t)); }

/// Number of elements: the product of the dimensions.
static inline int64_t count_of(const DLTensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; ++i) n *= t->shape[i];
  return n;
}
/// Bytes of one element; 0 for the types that are smaller than a byte.
static inline int64_t element_bytes(const DLTensor *t) { return t->dtype.bits / 8 * t->dtype.lanes; }

static inline bool same_shape(const DLTensor *a, const DLTensor *b) {
  if (a->ndim != b->ndim) return false;
  for (int i = 0; i < a->ndim; ++i)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}

/// Input i, or null where it is absent: left out in the middle, or beyond the last that the graph gives.
static inline const DLTensor *optional_input(const call &c, uint32_t i) {
  return i < c.n_inputs ? c.inputs[i] : nullptr;
}

/// Gives output i its shape and memory. (`c.allocate(i, shape, rank)` with a pointer to non-const would be taken for
/// the overload that lists dimensions.)
static inline status allocate(call &c, uint32_t i, const int64_t *shape, int rank) {
  return status(c.allocate_output(&c, i, shape, rank));
}

/// An axis counted from the end when negative. False: not an axis of a tensor of that rank.
static inline bool normalize_axis(int64_t &axis, int64_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank;
}

} // namespace coppice::onnx

/// In front of a loop whose iterations are independent although an output may lie exactly over an input (in place):
/// the compiler need not check for overlap, and vectorizes the in-place case too.
#if defined(__clang__)
#define COPPICE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define COPPICE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
