// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls the global functions that are named on the command line.
#include <cstdio>
#include <tvm/ffi/function.h>
extern int kernels_are_linked;

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    auto function = tvm::ffi::Function::GetGlobal(argv[i]);
    if (!function)
      std::printf("%s: not found\n", argv[i]);
    else
      std::printf("%s: %.17g\n", argv[i], (*function)(0.75).cast<double>());
  }
  return !kernels_are_linked;
}
