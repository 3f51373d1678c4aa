// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MatMul of f32 and f64, once per CPU level.
#include "gemm.h"
#include "matmul_shape.h"

namespace coppice::onnx {
namespace {

template <class T> struct matrix_rows : row_source<T> { // the rows lie in memory
  const T *data;
  int64_t ldb;
};
template <class T> const T *matrix_row(const row_source<T> *source, int64_t k, int64_t j, int64_t, T *) {
  auto *self = static_cast<const matrix_rows<T> *>(source);
  return self->data + k * self->ldb + j;
}
template <class T> T *elements(const DLTensor *t) {
  return reinterpret_cast<T *>(static_cast<char *>(t->data) + t->byte_offset);
}

template <class T> status matmul(call &c) {
  matmul_shape s;
  if (status planned = plan_matmul(c, s); planned != status::ok) return planned;
  if (s.dim[0] == 0 || s.m == 0 || s.n == 0) return status::ok;
  void *scratch = c.scratch(&c, COPPICE_ONNX_LEVEL::gemm_scratch(s.m, s.n, s.k, sizeof(T)));
  if (!scratch) return status::out_of_memory;
  const T *a = elements<const T>(c.inputs[0]), *b = elements<const T>(c.inputs[1]);
  T *out = elements<T>(c.outputs[0]);
  int64_t index[COPPICE_MAX_RANK] = {}, a_at = 0, b_at = 0;
  do {
    matrix_rows<T> rows;
    rows.row = matrix_row<T>;
    rows.data = b + b_at;
    rows.ldb = s.n;
    COPPICE_ONNX_LEVEL::gemm(s.m, s.n, s.k, a + a_at, s.k, rows, out, s.n, false, scratch);
    out += s.m * s.n;
  } while (next_matrices(s, index, a_at, b_at));
  return status::ok;
}

} // namespace

COPPICE_VARIANT("onnx.MatMul", "f32" COPPICE_ONNX_LEVEL_SUFFIX, matmul<float>, "in *xf32, in *xf32, out *xf32",
                versions{1});
COPPICE_VARIANT("onnx.MatMul", "f64" COPPICE_ONNX_LEVEL_SUFFIX, matmul<double>, "in *xf64, in *xf64, out *xf64",
                versions{1});

} // namespace coppice::onnx
