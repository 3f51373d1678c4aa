// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

namespace llvm {
class raw_ostream;
}

namespace coppice {

struct UnpackOptions {
  std::string input, output;
};

/// `coppice unpack APP -o FILE`. Returns the exit status.
int unpackCommand(const UnpackOptions &options, llvm::raw_ostream &err);

} // namespace coppice
