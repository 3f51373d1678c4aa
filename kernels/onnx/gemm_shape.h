// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes of Gemm: alpha A' B' + beta C. Compiled once; the kernels of all CPU levels use it.
#pragma once
#include "coppice/kernel.h"

namespace coppice::onnx {

struct gemm_shape {
  int64_t m, n, k;
  double alpha, beta;
  bool transpose_a, transpose_b;
  bool addend;                       // C is given and beta is not 0
  int64_t addend_row, addend_column; // elements of C from one row or column of the result to the next
};
/// From the attributes alpha, beta, transA, transB (0 to 3); allocates output 0.
status plan_gemm(call &c, gemm_shape &s);

} // namespace coppice::onnx
