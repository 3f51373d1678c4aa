// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace coppice {

/// Makes the definition of a global symbol weak in an ELF object, in place: a strong one in another object then stands
/// for it. False where there is none, or the object is of another kind (bitcode).
bool weakenDefinition(llvm::MutableArrayRef<char> object, llvm::StringRef symbol);

} // namespace coppice
