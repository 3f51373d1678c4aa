// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Architectures without levels.
#include "cpu_level.h"

namespace coppice::runtime {

int cpu_level() { return 0; }

} // namespace coppice::runtime
