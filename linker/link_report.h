// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What --print-kernels and --size-summary say.
#pragma once
#include "linker/graphs.h"

namespace coppice {

void printKernels(llvm::raw_ostream &os, const CompiledGraphs &graphs);
void printSizeSummary(llvm::raw_ostream &os, const CompiledGraphs &graphs, const KernelIndex &index,
                      llvm::StringRef output);
/// COP106: kernels that no graph uses but whose code cannot go, because it shares a section with code that is used.
void warnSharedSections(const CompiledGraphs &graphs, KernelIndex &index, Diagnostics &diagnostics);

} // namespace coppice
