// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "packer/pack.h"
#include <string>

namespace llvm {
class raw_ostream;
}

namespace coppice {

struct PackCommandOptions {
  std::string input, output;
  PackOptions pack;
  bool stats = false; ///< sizes of the parts, on `out`
};

/// `coppice pack APP -o FILE`. Returns the exit status.
int packCommand(const PackCommandOptions &options, llvm::raw_ostream &out, llvm::raw_ostream &err);

} // namespace coppice
