// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages of Mojo (.mojoc, .mojopkg): the ops that they register for MAX. A package is a head, then a zstd frame with
// MLIR bytecode whose dialects only Mojo knows; its tables of strings and attributes can be read all the same.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace coppice {

struct MojoPackage {
  std::string compiler; ///< the hash of the compiler that can read it
  std::vector<std::string> ops;
};

struct MojoPackageError {
  std::string message;
  uint64_t offset = 0;        ///< in the file, or
  bool isInsideFrame = false; ///< in what the frame holds
};

bool isMojoPackage(llvm::StringRef contents);
std::optional<MojoPackageError> readMojoPackage(llvm::StringRef contents, MojoPackage &package);

} // namespace coppice
