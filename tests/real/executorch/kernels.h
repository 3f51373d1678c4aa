// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <executorch/runtime/kernel/operator_registry.h>
// clang-format off
#define KERNELS(X) X(add) X(sub) X(mul) X(div) X(relu) X(neg) X(abs) X(exp) X(log) X(sqrt) X(sin) X(cos) X(tan) X(tanh) X(asin) X(acos) X(atan) X(floor) X(ceil) X(round)
// clang-format on

namespace native {
#define DECLARE(OP) double OP##_out(executorch::runtime::KernelRuntimeContext &, double x, double y);
KERNELS(DECLARE)
#undef DECLARE
} // namespace native
