// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's bytecode reader and parser trust their input: one wrong byte can make them overflow the stack, read outside of
// their tables or never end (about one in a hundred changed bytes does), and a crash cannot be undone in a process. So
// a file is first read in a copy of this process, which may crash.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <optional>
#include <string>

namespace coppice {

/// Runs `action` in a forked child, whose output goes nowhere, with at most 5 s of CPU time, and memory of 1 GiB and 32
/// times `inputSize`. Returns nullopt when it came to an end, else what happened ("Segmentation fault"). Takes about a
/// millisecond. When there can be no child, nothing is tried and the answer is nullopt.
std::optional<std::string> tryInChild(uint64_t inputSize, llvm::function_ref<void()> action);

} // namespace coppice
