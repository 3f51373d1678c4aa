// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that throws, against the rules, ends the program; nobody can catch it with a run half done.
#include <coppice/coppice.h>
#include <exception>
#include <stdio.h>
#include <stdlib.h>

static void vector_add(coppice::in<float, 1>, coppice::in<float, 1>, coppice::out<float, 1>) { throw 1; }
COPPICE_KERNEL("my.vector_add", vector_add);
COPPICE_IMPORT_GRAPH(twice, void(coppice::in<float, 1>, coppice::out<float, 1>));

int main() {
  std::set_terminate([] {
    puts("terminated");
    fflush(stdout);
    _Exit(0);
  });
  float x[1] = {}, y[1];
  try {
    (void)twice(x, y);
  } catch (int) {
    puts("caught");
  }
  return 1;
}
