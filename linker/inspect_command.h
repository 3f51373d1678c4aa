// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `coppice inspect`, docs/inspect.md.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace coppice {

struct InspectOptions {
  std::vector<std::string> files;
  std::optional<std::string> graph; ///< print the MLIR of this graph; empty: of all
  bool json = false;
};

/// The exit status: 1 if a file cannot be inspected, or is damaged, or has no such graph.
int inspectCommand(const InspectOptions &options, llvm::raw_ostream &out, llvm::raw_ostream &err);

} // namespace coppice
