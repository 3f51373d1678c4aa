// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for values whose size is only known at run time, and for scratch. Blocks are kept and given out again, within
// a run and over runs, so that a run with the shapes of the one before asks the C library for nothing.
#pragma once
#include <stdint.h>

namespace coppice::runtime {

/// A header of 64 bytes in front of the memory.
struct alignas(64) block {
  block *next; // in a list of free blocks, or in one of the user's
  uint32_t size_class;
  uint32_t last_run; // when it was last given out
  uint8_t *data() { return reinterpret_cast<uint8_t *>(this + 1); }
};

/// Size classes are 4 to each power of two. A block only serves its own class: so what the second of two equal runs
/// asks for is exactly what the first has left. Classes that several runs did not use are freed before the pool grows.
class pool {
public:
  /// 64-byte aligned memory of at least `bytes` bytes, or null.
  block *take(uint64_t bytes);
  void give(block *b) {
    b->next = free_[b->size_class];
    free_[b->size_class] = b;
  }
  void begin_run() { ++run_; }
  /// Everything must have been given back.
  void destroy() { trim(0); }

private:
  void trim(uint32_t runs_unused);
  static constexpr uint32_t classes = 3 + 4 * 55 + 1;
  block *free_[classes];
  uint32_t run_;
};

} // namespace coppice::runtime
