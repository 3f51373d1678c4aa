// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `coppice why` and --why=NAME say (docs/why.md).
#pragma once
#include "linker/why_query.h"

namespace llvm {
class raw_ostream;
}

namespace coppice {

/// The chain of the biggest few, a line for the others; or that there is none.
void printWhyAsText(llvm::raw_ostream &os, const WhyRecord &record, llvm::StringRef name, const WhyMatches &matches);
void printWhyAsJson(llvm::raw_ostream &os, const WhyRecord &record, llvm::StringRef program, llvm::StringRef name,
                    const WhyMatches &matches);

/// From what stands below item 0, 1 or 2 to the item.
std::vector<uint32_t> chainTo(const WhyRecord &record, uint32_t item);
/// The flag that would keep what is dropped for want of this key, a child of item 1.
std::string flagThatKeeps(const WhyRecord::Item &key);

} // namespace coppice
