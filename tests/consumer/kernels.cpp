// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <coppice/kernel.h>

void scale(coppice::in<float> x, double factor, coppice::out<float> y) {
  for (int64_t i = 0; i < y.size(); ++i) y[i] = x[i] * float(factor);
}
COPPICE_KERNEL("my.scale", scale, "factor");

void unused(coppice::in<float> x, coppice::out<float> y) {
  for (int64_t i = 0; i < y.size(); ++i) y[i] = x[i] + 1;
}
COPPICE_KERNEL("my.unused", unused);
