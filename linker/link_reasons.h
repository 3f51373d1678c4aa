// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The record of reasons, as the link makes it: what its compiled graphs use, and the object that brings it into the
// program.
#pragma once
#include "analysis/reach/reasons.h"
#include "linker/graphs.h"

namespace coppice {

std::vector<PlanUse> planUses(const CompiledGraphs &graphs);

/// An object with the section .coppice.why; null when there is not enough memory.
std::unique_ptr<llvm::MemoryBuffer> whyObject(const WhyRecord &record);

} // namespace coppice
