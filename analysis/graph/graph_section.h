// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The section with the MLIR of all graphs of a program. Linkers lay the records of several objects one after another:
//   0 "CPGRAPH1"   8 u64 size of the name   16 u64 size of the bytecode   24 name, bytecode, zeros up to a multiple of
//   8
// Numbers are little-endian. The section is not loaded; weights are not in it.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coppice {

inline constexpr char graphSectionName[] = ".coppice.graph";

/// One record, padded.
std::string makeGraphSectionRecord(llvm::StringRef graphName, llvm::StringRef bytecode);

/// Points into the section.
struct GraphSectionRecord {
  llvm::StringRef name, bytecode;
  uint64_t bytecodeOffset = 0; ///< from the start of the section
};

struct GraphSectionError {
  uint64_t offset = 0; ///< from the start of the section
  std::string message;
};

struct GraphSection {
  std::vector<GraphSectionRecord> records; ///< those before the error, if there is one
  std::optional<GraphSectionError> error;
};

/// Any bytes; the bytecode itself is not looked at.
GraphSection parseGraphSection(llvm::StringRef contents);

} // namespace coppice
