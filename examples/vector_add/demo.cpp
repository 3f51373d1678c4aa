// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel, a graph that uses it, and a program that runs the graph: all of Coppice in one file.
#include <coppice/coppice.h>
#include <cstdio>

void vector_add(coppice::in<float, 1> a, coppice::in<float, 1> b, coppice::out<float, 1> sum) {
  for (int64_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
}
COPPICE_KERNEL("my.vector_add", vector_add);

COPPICE_GRAPH(add3, R"mlir(
  func.func @add3(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
    %0 = "my.vector_add"(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %1 = "my.vector_add"(%0, %c) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  })mlir");

int main() {
  const float a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40}, c[] = {100, 200, 300, 400};
  float sum[4];
  if (add3(a, b, c, sum) != coppice::status::ok) {
    std::fprintf(stderr, "%s\n", coppice::last_error());
    return 1;
  }
  for (float s : sum) std::printf("%g\n", double(s));
}
