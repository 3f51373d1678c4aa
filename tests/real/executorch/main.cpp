// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the ops that are named on the command line.
#include <cstdio>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

using namespace executorch::runtime;
extern int kernels_are_linked;

int main(int argc, char **argv) {
  std::printf("%zu kernels are registered\n", get_registered_kernels().size());
  for (int i = 1; i < argc; ++i) {
    auto kernel = get_op_function_from_registry(argv[i]);
    if (!kernel.ok()) {
      std::printf("%s: not found\n", argv[i]);
      continue;
    }
    EValue values[] = {EValue(0.75), EValue(2.0), EValue(0.0)};
    EValue *stack[] = {&values[0], &values[1], &values[2]};
    KernelRuntimeContext context;
    (*kernel)(context, {stack, 3});
    std::printf("%s: %.17g\n", argv[i], values[2].toDouble());
  }
  return !kernels_are_linked;
}
