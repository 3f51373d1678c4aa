// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exp, Tanh, Sigmoid of f32, a vector at a time; once per CPU level.
#include "unary_call.h"
#include "vector_exp.h"

namespace coppice::onnx {
namespace {

/// A ratio of polynomials, p(x^2) x / d(x^2): with the coefficients that Eigen and ONNX Runtime use, because the layer
/// norms of networks magnify what is left of a difference (docs/onnx-kernels.md).
static inline V hyperbolic_tangent(V x) {
#if defined(__FMA__) // where the ratio, as it is rounded, reaches 1
  const V limit = splat(7.99881172180175781f);
#else
  const V limit = splat(7.90531110763549805f);
#endif
  V clamped = choose(x > limit, limit, x);
  clamped = choose(clamped < -limit, -limit, clamped);
  V q = clamped * clamped;
  V p = splat(-2.76076847742355e-16f);
  p = p * q + splat(2.00018790482477e-13f);
  p = p * q + splat(-8.60467152213735e-11f);
  p = p * q + splat(5.12229709037114e-08f);
  p = p * q + splat(1.48572235717979e-05f);
  p = p * q + splat(6.37261928875436e-04f);
  p = p * q + splat(4.89352455891786e-03f);
  V d = splat(1.19825839466702e-06f);
  d = d * q + splat(1.18534705686654e-04f);
  d = d * q + splat(2.26843463243900e-03f);
  d = d * q + splat(4.89352518554385e-03f);
  return choose(absolute(x) < splat(0.0004f), x, clamped * p / d);
}

static inline V logistic(V x) {
  V e = exponential(-absolute(x)); // never overflows, so that small results are exact too
  return choose(x < splat(0.0f), e, splat(1.0f)) / (splat(1.0f) + e);
}

template <V (*F)(V)> void map(const char *in, char *out, int64_t n) {
  auto *x = reinterpret_cast<const float *>(in);
  auto *z = reinterpret_cast<float *>(out);
  int64_t i = 0;
  for (; i + lanes<float> <= n; i += lanes<float>) store(z + i, F(load(x + i)));
  if (i == n) return;
  float rest[lanes<float>] = {};
  memcpy(rest, x + i, size_t(n - i) * sizeof *x);
  store(rest, F(load(rest)));
  memcpy(z + i, rest, size_t(n - i) * sizeof *x);
}
template <V (*F)(V)> status unary(call &c) { return unary_call(c, map<F>); }

} // namespace

#define UNARY(op, F)                                                                                                   \
  COPPICE_VARIANT(op, "f32" COPPICE_ONNX_LEVEL_SUFFIX, (unary<F>),                                                     \
                  "in *xf32, out *xf32, attr list i64 consumed_inputs=[]", versions{1}, in_place)
UNARY("onnx.Exp", exponential);
UNARY("onnx.Tanh", hyperbolic_tangent);
UNARY("onnx.Sigmoid", logistic);

} // namespace coppice::onnx
