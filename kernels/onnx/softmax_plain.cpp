// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax of other types than f32 (which softmax.cpp has).
#include "dtypes.h"
#include "float16.h"
#include "operands.h"
#include "softmax_shape.h"
#include <math.h>

namespace coppice::onnx {
namespace {

template <class T> status softmax(call &c, bool flatten) {
  using C = computation<T>;
  using A = typename C::type;
  softmax_shape s;
  if (status planned = plan_softmax(c, flatten, s); planned != status::ok) return planned;
  if (s.n == 0) return status::ok;
  const T *x = data_of<const T>(c.inputs[0]);
  T *z = data_of<T>(c.outputs[0]);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      const int64_t first = o * s.n * s.inner + i, end = first + s.n * s.inner;
      A largest = C::load(x[first]), sum = 0;
      for (int64_t k = first; k < end; k += s.inner)
        if (A v = C::load(x[k]); v > largest) largest = v;
      for (int64_t k = first; k < end; k += s.inner) sum += A(exp(C::load(x[k]) - largest));
      for (int64_t k = first; k < end; k += s.inner) z[k] = C::store(A(exp(C::load(x[k]) - largest)) / sum);
    }
  return status::ok;
}
template <class T> status softmax_axis(call &c) { return softmax<T>(c, false); }
template <class T> status softmax_flat(call &c) { return softmax<T>(c, true); }

} // namespace

#define SOFTMAX(op, dtype, T)                                                                                          \
  COPPICE_VARIANT(op, dtype "_until12", softmax_flat<T>, "in *x" dtype ", out *x" dtype ", attr i64 axis=1",           \
                  versions{1, 12}, in_place);                                                                          \
  COPPICE_VARIANT(op, dtype, softmax_axis<T>, "in *x" dtype ", out *x" dtype ", attr i64 axis=-1", versions{13},       \
                  in_place);
SOFTMAX("onnx.Softmax", "f64", double)
COPPICE_ONNX_HALVES(SOFTMAX, "onnx.Softmax")

} // namespace coppice::onnx
