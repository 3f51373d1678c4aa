// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <stdint.h>

namespace coppice::onnx {

/// Where the right-hand matrix of a product comes from, a piece of a row at a time: a convolution makes its patches
/// while they are packed, and never stores them all. `row` gives the n elements from column j of row k: in place if
/// they lie in memory, else written to `buffer`.
template <class T> struct row_source {
  const T *(*row)(const row_source *, int64_t k, int64_t j, int64_t n, T *buffer);
};

} // namespace coppice::onnx
