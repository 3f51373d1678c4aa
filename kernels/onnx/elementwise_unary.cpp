// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sqrt, Reciprocal, Neg, Abs, Relu, Log; and Exp, Tanh, Sigmoid of other types than f32 (which exponential.cpp has).
#include "dtypes.h"
#include "float16.h"
#include "operands.h"
#include "unary_call.h"
#include <math.h>
#include <type_traits>

namespace coppice::onnx {
namespace {

struct square_root {
  static float apply(float x) { return sqrtf(x); }
  static double apply(double x) { return sqrt(x); }
};
struct reciprocal {
  template <class T> static T apply(T x) { return T(1) / x; }
};
struct negation {
  template <class T> static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return T(0 - uint64_t(x)); // the lowest value is its own negation
    else
      return -x;
  }
};
struct absolute {
  template <class T> static T apply(T x) {
    if constexpr (std::is_unsigned_v<T>)
      return x;
    else if constexpr (std::is_integral_v<T>)
      return x < 0 ? negation::apply(x) : x;
    else
      return T(fabs(x));
  }
};
struct rectifier {
  template <class T> static T apply(T x) { return x < 0 ? T(0) : x; } // keeps a NaN
};
struct logarithm {
  static float apply(float x) { return logf(x); }
  static double apply(double x) { return log(x); }
};
struct exponential {
  static float apply(float x) { return expf(x); }
  static double apply(double x) { return exp(x); }
};
struct hyperbolic_tangent {
  static float apply(float x) { return tanhf(x); }
  static double apply(double x) { return tanh(x); }
};
struct logistic {
  static float apply(float x) { return 1 / (1 + expf(-x)); }
  static double apply(double x) { return 1 / (1 + exp(-x)); }
};

template <class T, class F> void map(const char *in, char *out, int64_t n) {
  using C = computation<T>;
  auto *x = reinterpret_cast<const T *>(in);
  auto *z = reinterpret_cast<T *>(out);
  COPPICE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) z[i] = C::store(F::apply(C::load(x[i])));
}
template <class T, class F> status unary(call &c) { return unary_call(c, map<T, F>); }

} // namespace

// consumed_inputs is a hint of version 1 that has no meaning for us.
#define UNARY(op, F, dtype, T)                                                                                         \
  COPPICE_VARIANT(op, dtype, (unary<T, F>), "in *x" dtype ", out *x" dtype ", attr list i64 consumed_inputs=[]",       \
                  versions{1}, in_place);

COPPICE_ONNX_FLOATS(UNARY, "onnx.Sqrt", square_root)
COPPICE_ONNX_FLOATS(UNARY, "onnx.Reciprocal", reciprocal)
COPPICE_ONNX_FLOATS(UNARY, "onnx.Log", logarithm)
UNARY("onnx.Exp", exponential, "f64", double)
COPPICE_ONNX_HALVES(UNARY, "onnx.Exp", exponential)
UNARY("onnx.Tanh", hyperbolic_tangent, "f64", double)
COPPICE_ONNX_HALVES(UNARY, "onnx.Tanh", hyperbolic_tangent)
UNARY("onnx.Sigmoid", logistic, "f64", double)
COPPICE_ONNX_HALVES(UNARY, "onnx.Sigmoid", logistic)
COPPICE_ONNX_FLOATS(UNARY, "onnx.Neg", negation)
COPPICE_ONNX_SIGNED_INTEGERS(UNARY, "onnx.Neg", negation)
COPPICE_ONNX_NUMBERS(UNARY, "onnx.Abs", absolute)
COPPICE_ONNX_FLOATS(UNARY, "onnx.Relu", rectifier)
COPPICE_ONNX_SIGNED_INTEGERS(UNARY, "onnx.Relu", rectifier)

} // namespace coppice::onnx
