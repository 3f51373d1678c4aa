// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the files that options name say about what a link keeps: version scripts, dynamic lists, linker scripts.
#pragma once
#include "linker/command_line.h"

namespace coppice {

/// Where a file cannot be read or is not understood, more is kept; lld reports what is wrong with it.
LinkSettings readLinkSettings(const CommandLine &commandLine);

} // namespace coppice
