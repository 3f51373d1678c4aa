// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MatMul of the types that no model spends its time in: integers and 16-bit floats (summed in float).
#include "dtypes.h"
#include "float16.h"
#include "matmul_shape.h"
#include "operands.h"
#include <type_traits>

namespace coppice::onnx {
namespace {

template <class T> status matmul(call &c) {
  using C = computation<T>;
  using A = typename C::type;
  matmul_shape s;
  if (status planned = plan_matmul(c, s); planned != status::ok) return planned;
  if (s.dim[0] == 0 || s.m == 0 || s.n == 0) return status::ok;
  auto *sums = static_cast<A *>(c.scratch(&c, uint64_t(s.n) * sizeof(A)));
  if (!sums) return status::out_of_memory;
  const T *a = data_of<const T>(c.inputs[0]), *b = data_of<const T>(c.inputs[1]);
  T *out = data_of<T>(c.outputs[0]);
  int64_t index[COPPICE_MAX_RANK] = {}, a_at = 0, b_at = 0;
  do {
    for (int64_t i = 0; i < s.m; ++i, out += s.n) {
      memset(sums, 0, size_t(s.n) * sizeof(A));
      for (int64_t p = 0; p < s.k; ++p) {
        A x = C::load(a[a_at + i * s.k + p]);
        const T *row = b + b_at + p * s.n;
        for (int64_t j = 0; j < s.n; ++j) {
          if constexpr (std::is_integral_v<A>) {
            using M = std::make_unsigned_t<A>; // wraps around
            sums[j] = A(M(sums[j]) + M(x) * M(row[j]));
          } else {
            sums[j] += x * C::load(row[j]);
          }
        }
      }
      for (int64_t j = 0; j < s.n; ++j) out[j] = C::store(sums[j]);
    }
  } while (next_matrices(s, index, a_at, b_at));
  return status::ok;
}

} // namespace

#define MATMUL(op, dtype, T)                                                                                           \
  COPPICE_VARIANT(op, dtype, matmul<T>, "in *x" dtype ", in *x" dtype ", out *x" dtype, versions{1});
COPPICE_ONNX_HALVES(MATMUL, "onnx.MatMul")
COPPICE_ONNX_WIDE_INTEGERS(MATMUL, "onnx.MatMul")

} // namespace coppice::onnx
