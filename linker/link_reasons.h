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

/// Makes .coppice.why of a linked program a section that `strip` removes. GNU strip keeps sections that are not loaded,
/// but for those with the names of debug information and those of type SHT_SHLIB, which has no meaning (gABI) and which
/// lld does not read. Where this fails, strip keeps the record: no more than that.
void makeRecordStrippable(llvm::StringRef program);

} // namespace coppice
