// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix product under MatMul, Gemm and Conv, once per CPU level: C[m, n] = A[m, k] B[k, n], row-major.
#pragma once
#include "gemm_rows.h"
#include "level.h"

namespace coppice::onnx {

namespace COPPICE_ONNX_LEVEL {

/// Bytes of working memory for a product of this size. They need not be cleared; alignment 64.
uint64_t gemm_scratch(int64_t m, int64_t n, int64_t k, int64_t element_bytes);

/// lda, ldc: elements from row to row. With `add` to what C holds. Re-entrant.
void gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const row_source<float> &b, float *c,
          int64_t ldc, bool add, void *scratch);
void gemm(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const row_source<double> &b, double *c,
          int64_t ldc, bool add, void *scratch);

} // namespace COPPICE_ONNX_LEVEL
} // namespace coppice::onnx
