// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pow. The exponent may be of another type since version 12.
#include "binary_row.h"
#include "dtypes.h"
#include <math.h>
#include <type_traits>

namespace coppice::onnx {
namespace {

float raise(float x, float y) { return powf(x, y); }
double raise(double x, double y) { return pow(x, y); }

template <class T, class E> T power(T x, E y) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) { // wraps around
    if constexpr (std::is_signed_v<E>)
      if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    using M = std::make_unsigned_t<T>;
    M result = 1, square = M(x);
    for (auto n = std::make_unsigned_t<E>(y); n; n >>= 1, square *= square)
      if (n & 1) result *= square;
    return T(result);
  } else if constexpr (std::is_integral_v<T>) {
    double z = pow(double(x), double(y));
    return z >= -0x1p63 && z < 0x1p63 ? T(int64_t(z)) : T(0);
  } else {
    return raise(x, T(y));
  }
}

template <class T, class E> void power_row(const char *const *data, char *out, int64_t n, unsigned moves) {
  auto *a = reinterpret_cast<const T *>(data[0]);
  auto *b = reinterpret_cast<const E *>(data[1]);
  auto *z = reinterpret_cast<T *>(out);
  const int64_t step_a = moves & 1, step_b = moves >> 1 & 1;
  if (!step_b && *b == E(2)) { // nearly always
    COPPICE_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) {
      T x = a[i * step_a];
      if constexpr (std::is_integral_v<T>)
        z[i] = T(std::make_unsigned_t<T>(x) * std::make_unsigned_t<T>(x));
      else
        z[i] = x * x;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) z[i] = power(a[i * step_a], b[i * step_b]);
}

// Not in place where the sizes of the elements differ: the exponents' buffer could be overwritten before it is read.
template <class T, class E> status power_op(call &c) { return broadcast_call(c, 2, power_row<T, E>); }
template <class T> status power_until6(call &c) { return broadcast_with_axis(c, power_row<T, T>); }

} // namespace

#define POWER(dtype, T, exponent_dtype, E)                                                                             \
  COPPICE_VARIANT("onnx.Pow", dtype "_" exponent_dtype, (power_op<T, E>),                                              \
                  "in *x" dtype ", in *x" exponent_dtype ", out *x" dtype, versions{7});
#define POWERS(dtype, T)                                                                                               \
  POWER(dtype, T, "f32", float)                                                                                        \
  POWER(dtype, T, "f64", double)                                                                                       \
  POWER(dtype, T, "i32", int32_t)                                                                                      \
  POWER(dtype, T, "i64", int64_t)                                                                                      \
  POWER(dtype, T, "ui32", uint32_t)                                                                                    \
  POWER(dtype, T, "ui64", uint64_t)
POWERS("f32", float)
POWERS("f64", double)
POWERS("i32", int32_t)
POWERS("i64", int64_t)
#define POWER_UNTIL_6(dtype, T)                                                                                        \
  COPPICE_VARIANT("onnx.Pow", dtype "_until6", power_until6<T>,                                                        \
                  "in *x" dtype ", in *x" dtype ", out *x" dtype COPPICE_ONNX_AXIS_ATTRIBUTES, versions{1, 6});
POWER_UNTIL_6("f32", float)
POWER_UNTIL_6("f64", double)

} // namespace coppice::onnx
