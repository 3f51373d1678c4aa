// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "llvm/ADT/StringRef.h"

namespace llvm {
class raw_ostream;
}

namespace coppice {

/// `coppice explain CODE`: prints the page docs/errors/CODE.md, which is part of this program. Upper and lower case and
/// a bare number are the same ("COP101", "cop101", "101"). An empty code lists all. Returns the exit status.
int explainCommand(llvm::StringRef code, llvm::raw_ostream &out, llvm::raw_ostream &err);

} // namespace coppice
