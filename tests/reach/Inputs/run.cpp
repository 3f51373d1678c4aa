// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the kernels that are named on the command line, one after the other.
#include "registrar.h"
#include <cstdio>
int main(int argc, char **argv) {
  float x[64];
  for (int i = 0; i < 64; ++i) x[i] = float(i);
  for (int i = 1; i < argc; ++i)
    if (Kernel kernel = find(argv[i]))
      kernel(x), std::printf("%s: %g\n", argv[i], double(x[5]));
    else
      std::printf("op not found: %s\n", argv[i]);
}
