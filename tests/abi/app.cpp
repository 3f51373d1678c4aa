// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every way to call a graph. Prints "3 6 9".
#include "imported.h"
#include <array>
#include <coppice/coppice.h>
#include <stdio.h>
#include <vector>

COPPICE_GRAPH(add3, R"mlir(
#map = affine_map<(d0) -> (d0)> // "it's
func.func @add3(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "my.vector_add"(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = "my.vector_add"(%0, %c) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
})mlir");
namespace unused {
COPPICE_GRAPH(never_called, "func.func @never_called()");
}

#define CHECK(call)                                                                                                    \
  if ((call) != coppice::status::ok) return puts(coppice::last_error()), 1
int main() {
  const float x[3] = {1, 2, 3};
  std::vector<float> y(3);
  std::array<float, 3> z{};
  CHECK(add3(x, x, x, y));
  coppice::context c(add3);
  if (!c) return puts(coppice::last_error()), 2;
  CHECK(add3(c, x, coppice::borrow(x, 3), coppice::borrow(x, 3), z));
  int64_t shape[COPPICE_MAX_RANK] = {3};
  DLTensor in = {const_cast<float *>(x), {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0}, out = in;
  float w[3];
  out.data = w;
  DLTensor *all[] = {&in, &in, &in, &out};
  CHECK(add3(all, 4));
  CHECK(add3(c, all, 4));
  CHECK(add3(in, &in, in, out));
  coppice::tensor<float, 1> t;
  CHECK(add3(x, x, x, t));
  for (size_t i = 0; i < 3; ++i)
    if (y[i] != 3 * x[i] || z[i] != y[i] || w[i] != y[i] || t[int64_t(i)] != y[i]) return 3;
  CHECK(graphs::twice(x, t));
  if (t[2] != 6 || half_of_twice(5) != 5) return 4;
  printf("%g %g %g\n", double(y[0]), double(y[1]), double(y[2]));
}
