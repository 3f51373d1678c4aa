/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The same in C. Prints "3 6 9". */
#include <coppice/graph.h>
#include <stdio.h>

COPPICE_GRAPH(add3, "func.func @add3(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {\n"
                    "  …\n"
                    "}\n");
COPPICE_C_IMPORT_GRAPH(twice, "in ?xf32, out ?xf32");

int main(void) {
  float x[3] = {1, 2, 3}, y[3];
  int64_t shape[1] = {3}, room[COPPICE_MAX_RANK];
  DLTensor in = {x, {1, 0}, 1, {2, 32, 1}, shape, NULL, 0}, out = in, allocated = {NULL, {1, 0}, 0, {0, 0, 0}, room, NULL, 0};
  DLTensor *all[] = {&in, &in, &in, &out}, *of_twice[] = {&in, &allocated};
  coppice_context *c = coppice_context_create(add3_plan());
  out.data = y;
  if (!c || add3(all, 4) || coppice_run_in(c, all, 4) || twice(of_twice, 2)) return puts(coppice_last_error()), 1;
  coppice_context_destroy(c);
  if (allocated.ndim != 1 || room[0] != 3 || ((float *)allocated.data)[2] != 6) return 2;
  coppice_free(allocated.data);
  printf("%g %g %g\n", (double)y[0], (double)y[1], (double)y[2]);
  return 0;
}
