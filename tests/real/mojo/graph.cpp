// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph whose kernels are Mojo's: 2x, then + 5, then x 2 again by another kernel of the library.
#include <coppice/coppice.h>
#include <cstdio>

#define KERNEL(NAME)                                                                                                   \
  extern "C" void mojo_##NAME(float *, const float *, long);                                                           \
  static void NAME(coppice::in<float, 1> x, coppice::out<float, 1> y) { mojo_##NAME(y.data(), x.data(), x.size()); }   \
  COPPICE_KERNEL("mojo." #NAME, NAME);
KERNEL(op0)
KERNEL(op6)
KERNEL(op7)

COPPICE_GRAPH(run, R"mlir(
  func.func @run(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = "mojo.op0"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = "mojo.op6"(%0) : (tensor<?xf32>) -> tensor<?xf32>
    %2 = "mojo.op7"(%1) : (tensor<?xf32>) -> tensor<?xf32>
    return %2 : tensor<?xf32>
  })mlir");

int main() {
  const float x[] = {2, 5};
  float y[2];
  if (run(x, y) != coppice::status::ok) return 1;
  std::printf("%g %g\n", double(y[0]), double(y[1]));
}
