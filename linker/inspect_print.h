// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `coppice inspect` prints, as text and as JSON (docs/inspect.md).
#pragma once
#include "analysis/inspect/inspection.h"
#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class raw_ostream;
}

namespace coppice {

void printInspection(llvm::raw_ostream &os, const Inspection &inspection);

/// One document for all files. Graphs whose `text` is not empty have it.
void printInspectionsAsJson(llvm::raw_ostream &os, llvm::ArrayRef<Inspection> inspections);

} // namespace coppice
