// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel library: two kernels in one file, of which the graphs use one.
#include <coppice/kernel.h>
#include <stdio.h>

static void vector_add(coppice::in<float, 1> a, coppice::in<float, 1> b, coppice::out<float, 1> sum) {
  for (int64_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
}
COPPICE_KERNEL("my.vector_add", vector_add, coppice::in_place);

static void unused(coppice::in<float, 1> a, coppice::out<float, 1> y) { y[0] = float(puts("unused")) + a[0]; }
COPPICE_KERNEL("my.unused", unused);
