// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes of MatMul as in numpy.matmul. Compiled once; the kernels of all CPU levels use it.
#pragma once
#include "coppice/kernel.h"

namespace coppice::onnx {

struct matmul_shape {
  int64_t m, n, k;
  // The matrices of a batch, outermost loop first; steps in elements. Rank is at least 1; no matrices: dim[0] is 0.
  int rank;
  int64_t dim[COPPICE_MAX_RANK], a_step[COPPICE_MAX_RANK], b_step[COPPICE_MAX_RANK];
};
/// Plans inputs 0 and 1, and allocates output 0.
status plan_matmul(call &c, matmul_shape &shape);

/// Steps to the next pair of matrices; false after the last. `index` begins as zeros.
bool next_matrices(const matmul_shape &shape, int64_t *index, int64_t &a, int64_t &b);

} // namespace coppice::onnx
