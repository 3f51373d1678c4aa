// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.h"
#include <cmath>

using executorch::runtime::KernelRuntimeContext;
namespace native {
static double accumulate(double x, double y, double (*function)(double, double)) {
  double sum = 0;
  for (int i = 1; i <= 4; ++i) sum += function(x / i, y);
  return sum;
}
#define KERNEL(OP, EXPRESSION)                                                                                         \
  double OP##_out(KernelRuntimeContext &, double x, double y) {                                                        \
    return accumulate(x, y, [](double a, double b) { return (void)b, EXPRESSION; });                                   \
  }
KERNEL(add, a + b)
KERNEL(sub, a - b)
KERNEL(mul, a *b)
KERNEL(div, a / b)
KERNEL(relu, a > 0 ? a : 0)
KERNEL(neg, -a)
KERNEL(abs, std::fabs(a))
KERNEL(exp, std::exp(a))
KERNEL(log, std::log(a))
KERNEL(sqrt, std::sqrt(a))
KERNEL(sin, std::sin(a))
KERNEL(cos, std::cos(a))
KERNEL(tan, std::tan(a))
KERNEL(tanh, std::tanh(a))
KERNEL(asin, std::asin(a))
KERNEL(acos, std::acos(a))
KERNEL(atan, std::atan(a))
KERNEL(floor, std::floor(a))
KERNEL(ceil, std::ceil(a))
KERNEL(round, std::round(a))
} // namespace native
