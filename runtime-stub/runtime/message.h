// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of the last error of each thread, put together by hand: printf and its locale stay out of the program.
#pragma once
#include "coppice/dlpack.h"
#include <stddef.h>
#include <stdint.h>

namespace coppice::runtime {

/// Begins a new last error of this thread; the calls append to it. What does not fit is cut and ends in "...".
class message {
public:
  message();
  message &text(const char *);
  message &number(int64_t);
  /// "(2, 3)"; -1 is a dimension that is not known before: "?".
  message &shape(const int64_t *dims, int32_t rank);
  /// "f32"
  message &dtype(DLDataType);

private:
  void put(char);
};

/// What coppice_last_error returns.
const char *last_message();

} // namespace coppice::runtime
