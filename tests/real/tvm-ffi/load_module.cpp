// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads a module and calls its functions: load_module MODULE NAME...
#include <cstdio>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

int main(int argc, char **argv) {
  tvm::ffi::Module module = tvm::ffi::Module::LoadFromFile(argv[1]);
  for (int i = 2; i < argc; ++i) {
    auto function = module->GetFunction(argv[i]);
    if (!function)
      std::printf("%s: not found\n", argv[i]);
    else
      std::printf("%s: %.17g\n", argv[i], (*function)(0.75, 2.0).cast<double>());
  }
}
