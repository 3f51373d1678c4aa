// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class raw_ostream;
}

namespace coppice {
struct Installation;

/// The link step: `arguments` are those of ld.lld and ours, without the program's name. Returns the exit status.
int link(llvm::ArrayRef<const char *> arguments, const Installation &installation, llvm::raw_ostream &out,
         llvm::raw_ostream &err);

} // namespace coppice
