// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a user's NAME means in a record of reasons.
#pragma once
#include "analysis/reach/why_record.h"

namespace coppice {

struct WhyMatches {
  struct Match {
    uint32_t item;
    llvm::StringRef symbol; ///< where it is not the item's own name that fits but that of a symbol inside: this one
  };
  std::vector<Match> items;      ///< the biggest first
  std::vector<std::string> near; ///< if there is none: names that are like it
};

/// A symbol (mangled; demangled, with or without its parameters; its last part), a key or op, a graph, a section
/// `file.o:(.text.x)`, an object or archive member, a class or namespace, or a glob over all of these. The most exact
/// of these meanings that fits anything wins.
WhyMatches findInRecord(const WhyRecord &record, llvm::StringRef name);

/// The name for people: demangled, else the section's.
std::string displayName(const WhyRecord &record, uint32_t item);

} // namespace coppice
