// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What --print-kernels and --size-summary say.
#pragma once
#include "analysis/reach/shake.h"
#include "linker/graphs.h"

namespace coppice {

void printKernels(llvm::raw_ostream &os, const CompiledGraphs &graphs);
void printSizeSummary(llvm::raw_ostream &os, const CompiledGraphs &graphs, const KernelIndex &index,
                      llvm::StringRef output);
/// What of the kernels that register themselves is kept and why. `shaken` is null where nothing was asked to go.
void printRegistrations(llvm::raw_ostream &os, llvm::ArrayRef<Binding> bindings, const Registrations &registrations,
                        const Shaken *shaken);
/// COP403: registrations that are kept because they are not understood. COP406: what only exported symbols keep.
void warnKept(const Shaken &shaken, llvm::ArrayRef<Binding> bindings, Diagnostics &diagnostics);
/// COP106: kernels that no graph uses but whose code cannot go, because it shares a section with code that is used.
void warnSharedSections(const CompiledGraphs &graphs, KernelIndex &index, Diagnostics &diagnostics);

} // namespace coppice
