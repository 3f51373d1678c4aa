// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class raw_ostream;
}

namespace coppice {
struct Installation;

/// The link step: `arguments` are those of ld.lld and ours, without the program's name. Returns the exit status;
/// `leave` gets it when all is done, before memory is given back, which takes long after a large link.
int link(llvm::ArrayRef<const char *> arguments, const Installation &installation, llvm::raw_ostream &out,
         llvm::raw_ostream &err, llvm::function_ref<void(int)> leave);

} // namespace coppice
