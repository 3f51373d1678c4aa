// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An in-house table of kernels that were written in Mojo.
#include <cstdio>
#include <cstring>

// clang-format off
#define KERNELS(X) X(op0) X(op1) X(op2) X(op3) X(op4) X(op5) X(op6) X(op7) X(op8) X(op9) X(op10) X(op11) X(op12) X(op13) X(op14) X(op15) X(op16) X(op17) X(op18) X(op19)
// clang-format on
#define DECLARE(NAME) extern "C" void mojo_##NAME(float *, const float *, long);
KERNELS(DECLARE)

struct Kernel {
  const char *name;
  void (*function)(float *, const float *, long);
};
#define ENTRY(NAME) {#NAME, mojo_##NAME},
extern const Kernel kernels[];
const Kernel kernels[] = {KERNELS(ENTRY)};

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    for (const Kernel &kernel : kernels)
      if (!std::strcmp(kernel.name, argv[i])) {
        float x[2] = {1, 2}, y[2] = {};
        if (kernel.function) kernel.function(y, x, 2);
        std::printf("%s: ", argv[i]);
        kernel.function ? std::printf("%g %g\n", double(y[0]), double(y[1])) : std::printf("not found\n");
      }
}
