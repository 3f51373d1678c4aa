// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// lld in process. Objects that only exist in memory are handed over at the one function through which lld opens files,
// so that its messages, maps and dependency files name what the user knows.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace coppice {

struct MemoryInput {
  std::string name;         ///< what stands in lld's arguments, and what lld calls it
  llvm::StringRef contents; ///< an object; not owned
  bool isFile = false; ///< `name` is also a file that is read: it is listed as a dependency and goes into --reproduce
  std::vector<std::string> alsoReads = {}; ///< further files of that kind: external data of a model
};

/// Runs ld.lld with `arguments` (without the program's name), once at a time. Returns its exit code.
int runLld(llvm::ArrayRef<const char *> arguments, llvm::ArrayRef<MemoryInput> memoryInputs, llvm::raw_ostream &out,
           llvm::raw_ostream &err);

} // namespace coppice
