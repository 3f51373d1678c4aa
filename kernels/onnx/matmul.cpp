// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MatMul of f32 and f64, once per CPU level.
#include "gemm.h"
#include "matmul_shape.h"

namespace coppice::onnx {
namespace {

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
    COPPICE_ONNX_LEVEL::gemm(s.m, s.n, s.k, a + a_at, s.k, matrix(b + b_at, s.n), out, s.n, false, scratch);
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
