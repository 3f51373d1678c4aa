// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `coppice why`, docs/why.md.
#pragma once
#include <string>

namespace llvm {
class raw_ostream;
}

namespace coppice {

struct WhyOptions {
  std::string program, name;
  bool json = false;
};

/// The exit status: 1 if the program has no record, or nothing of that name is in it.
int whyCommand(const WhyOptions &options, llvm::raw_ostream &out, llvm::raw_ostream &err);

} // namespace coppice
