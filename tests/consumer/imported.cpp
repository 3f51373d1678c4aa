// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <coppice/coppice.h>
#include <cstdio>

COPPICE_IMPORT_GRAPH(scale, void(coppice::in<float, 1>, coppice::out<float, 1>));

int main() {
  const float x[] = {1, 2};
  float y[2];
  if (scale(x, y) != coppice::status::ok) {
    std::fprintf(stderr, "%s\n", coppice::last_error());
    return 1;
  }
  std::printf("imported: %g %g\n", double(y[0]), double(y[1]));
}
