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

namespace {

template <class T> struct matrix_rows : row_source<T> {
  const T *data;
  int64_t step; // elements from row to row; of a transposed matrix, from column to column
};
template <class T> const T *matrix_row(const row_source<T> *source, int64_t k, int64_t j, int64_t, T *) {
  auto *self = static_cast<const matrix_rows<T> *>(source);
  return self->data + k * self->step + j;
}
template <class T> const T *matrix_column(const row_source<T> *source, int64_t k, int64_t j, int64_t n, T *buffer) {
  auto *self = static_cast<const matrix_rows<T> *>(source);
  for (int64_t i = 0; i < n; ++i) buffer[i] = self->data[(j + i) * self->step + k];
  return buffer;
}
/// A right-hand matrix that lies in memory, row by row.
template <class T> matrix_rows<T> matrix(const T *data, int64_t step) {
  matrix_rows<T> rows;
  rows.row = matrix_row<T>;
  rows.data = data;
  rows.step = step;
  return rows;
}
/// The same, of which the transpose lies in memory.
template <class T> matrix_rows<T> transposed_matrix(const T *data, int64_t step) {
  matrix_rows<T> rows = matrix(data, step);
  rows.row = matrix_column<T>;
  return rows;
}

/// The data of a tensor, as data_of (operands.h), which the files of a level do not include.
template <class T> T *elements(const DLTensor *t) {
  return reinterpret_cast<T *>(static_cast<char *>(t->data) + t->byte_offset);
}

} // namespace
} // namespace coppice::onnx
