// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gemm of f32 and f64, once per CPU level.
#include "gemm.h"
#include "gemm_shape.h"

namespace coppice::onnx {
namespace {

template <class T> status gemm_op(call &c) {
  gemm_shape s;
  if (status planned = plan_gemm(c, s); planned != status::ok) return planned;
  if (s.m == 0 || s.n == 0) return status::ok;
  const T *a = elements<const T>(c.inputs[0]), *b = elements<const T>(c.inputs[1]);
  T *out = elements<T>(c.outputs[0]);
  // The product of one row with a transposed matrix is that matrix times a column: nothing need be transposed.
  const bool swap = s.m == 1 && s.transpose_b;
  const int64_t m = swap ? s.n : s.m, n = swap ? 1 : s.n;
  const bool copy_a = s.alpha != 1 || (s.transpose_a && s.m != 1);
  uint64_t product_bytes = (COPPICE_ONNX_LEVEL::gemm_scratch(m, n, s.k, sizeof(T)) + 63) / 64 * 64;
  auto *scratch = static_cast<char *>(c.scratch(&c, product_bytes + (copy_a ? uint64_t(s.m * s.k) * sizeof(T) : 0)));
  if (!scratch) return status::out_of_memory;
  if (copy_a) {
    auto *copy = reinterpret_cast<T *>(scratch + product_bytes);
    const int64_t row = s.transpose_a ? 1 : s.k, column = s.transpose_a ? s.m : 1;
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t p = 0; p < s.k; ++p) copy[i * s.k + p] = T(s.alpha) * a[i * row + p * column];
    a = copy;
  }
  if (s.addend) {
    const T *addend = elements<const T>(c.inputs[2]);
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) out[i * s.n + j] = T(s.beta) * addend[i * s.addend_row + j * s.addend_column];
  }
  if (swap)
    COPPICE_ONNX_LEVEL::gemm(m, 1, s.k, b, s.k, matrix(a, 1), out, 1, s.addend, scratch);
  else
    COPPICE_ONNX_LEVEL::gemm(m, n, s.k, a, s.k, s.transpose_b ? transposed_matrix(b, s.k) : matrix(b, n), out, n,
                             s.addend, scratch);
  return status::ok;
}

} // namespace

// Before opset 7 the addend is broadcast only where `broadcast` says so; there is nothing else that it could mean.
#define GEMM(dtype, T)                                                                                                 \
  COPPICE_VARIANT("onnx.Gemm", dtype "_until6" COPPICE_ONNX_LEVEL_SUFFIX, gemm_op<T>,                                  \
                  "in ?x?x" dtype ", in ?x?x" dtype ", in *x" dtype ", out ?x?x" dtype                                 \
                  ", attr f64 alpha=1.0, attr f64 beta=1.0, attr i64 transA=0, attr i64 transB=0"                      \
                  ", attr i64 broadcast=0",                                                                            \
                  versions{1, 6});                                                                                     \
  COPPICE_VARIANT("onnx.Gemm", dtype COPPICE_ONNX_LEVEL_SUFFIX, gemm_op<T>,                                            \
                  "in ?x?x" dtype ", in ?x?x" dtype ", in? *x" dtype ", out ?x?x" dtype                                \
                  ", attr f64 alpha=1.0, attr f64 beta=1.0, attr i64 transA=0, attr i64 transB=0",                     \
                  versions{7})
GEMM("f32", float);
GEMM("f64", double);

} // namespace coppice::onnx
