// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In the form that ExecuTorch's code generator writes for a library of kernels.
#include "kernels.h"
#include <executorch/runtime/core/evalue.h>

using KernelSpan = ::executorch::runtime::Span<const ::executorch::runtime::Kernel>;
namespace torch {
namespace executor {
namespace function {
namespace {
using executorch::runtime::EValue;
using executorch::runtime::Span;

#define UNBOXED(OP)                                                                                                    \
  Kernel("aten::" #OP ".out", [](executorch::runtime::KernelRuntimeContext &context, Span<EValue *> stack) {           \
    *stack[2] = EValue(native::OP##_out(context, stack[0]->to<double>(), stack[1]->to<double>()));                     \
  }),
static Kernel kernels_to_register[] = {KERNELS(UNBOXED)};

static KernelSpan kernel_span(kernels_to_register, kernels_to_register + sizeof(kernels_to_register) / sizeof(Kernel));

static auto success_with_kernel_reg = register_kernels(kernel_span);
} // namespace
} // namespace function
} // namespace executor
} // namespace torch

int kernels_are_linked = 1;
