// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that a module exports by name.
#include <cmath>
#include <tvm/ffi/function.h>

#define EXPORT(NAME, EXPRESSION)                                                                                       \
  static double NAME##_(double x, double y) { return (void)y, EXPRESSION; }                                            \
  TVM_FFI_DLL_EXPORT_TYPED_FUNC(NAME, NAME##_);

EXPORT(add, x + y)
EXPORT(sub, x - y)
EXPORT(mul, x *y)
EXPORT(div, x / y)
EXPORT(maximum, x > y ? x : y)
EXPORT(minimum, x < y ? x : y)
EXPORT(hypot, std::hypot(x, y))
EXPORT(atan2, std::atan2(x, y))
EXPORT(fmod, std::fmod(x, y))
EXPORT(pow, std::pow(x, y))
EXPORT(sin, std::sin(x))
EXPORT(cos, std::cos(x))
EXPORT(tan, std::tan(x))
EXPORT(exp, std::exp(x))
EXPORT(log, std::log(x))
EXPORT(sqrt, std::sqrt(x))
EXPORT(asin, std::asin(x))
EXPORT(acos, std::acos(x))
EXPORT(atan, std::atan(x))
EXPORT(tanh, std::tanh(x))
