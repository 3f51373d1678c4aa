// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pool.h"
#include <stdlib.h>

namespace coppice::runtime {
namespace {

constexpr uint32_t runs_before_trim = 8;

struct size_class {
  uint32_t index;
  uint64_t bytes;
};
size_class class_of(uint64_t bytes) { // bytes <= 2^62
  uint64_t units = bytes ? (bytes + 63) / 64 : 1;
  if (units < 4) return {uint32_t(units - 1), units * 64};
  uint32_t exponent = 63 - uint32_t(__builtin_clzll(units));
  uint64_t step = uint64_t(1) << (exponent - 2);
  uint64_t steps = (units + step - 1) / step; // 4 to 8; 8 is the 4 of the next exponent, with the same index
  return {3 + (exponent - 2) * 4 + uint32_t(steps - 4), steps * step * 64};
}

} // namespace

block *pool::take(uint64_t bytes) {
  if (bytes > uint64_t(1) << 61) return nullptr;
  size_class c = class_of(bytes);
  block *b = free_[c.index];
  if (b) {
    free_[c.index] = b->next;
  } else {
    trim(runs_before_trim);
    b = static_cast<block *>(aligned_alloc(64, sizeof(block) + c.bytes));
    if (!b) {
      trim(0);
      b = static_cast<block *>(aligned_alloc(64, sizeof(block) + c.bytes));
      if (!b) return nullptr;
    }
    b->size_class = c.index;
  }
  b->next = nullptr;
  b->last_run = run_;
  return b;
}

void pool::trim(uint32_t runs_unused) {
  for (block *&list : free_) {
    block **link = &list;
    while (block *b = *link) {
      if (run_ - b->last_run >= runs_unused) {
        *link = b->next;
        free(b);
      } else {
        link = &b->next;
      }
    }
  }
}

} // namespace coppice::runtime
