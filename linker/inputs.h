// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inputs of a link: what the arguments name, found as lld finds it and opened.
#pragma once
#include "analysis/input_file.h"
#include "linker/command_line.h"

namespace coppice {

/// Files in lld's order; linker scripts are replaced by the files that they name. What cannot be found is left to lld
/// to report; what is damaged is reported (COP302).
std::vector<InputFile> openInputs(const CommandLine &commandLine, Diagnostics &diagnostics);

} // namespace coppice
