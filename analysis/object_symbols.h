// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symbols of one relocatable object, ELF or LLVM bitcode alike.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/StringSaver.h"
#include <optional>
#include <string>
#include <vector>

namespace coppice {

struct ObjectSymbol {
  llvm::StringRef name;
  bool undefined = false, weak = false, common = false;
};

/// Global and weak symbols, in the object's order. ELF names point into `object`, others into `saver`.
/// Fails for what is not a little-endian x86-64 object.
llvm::Expected<std::vector<ObjectSymbol>> readObjectSymbols(llvm::MemoryBufferRef object, llvm::StringSaver &saver);

/// The initial value of a variable, and what its first pointer points at.
struct DataSymbol {
  std::string name;
  std::string bytes; ///< pointers are zero
  bool defined = false;
  uint64_t pointerOffset = 0;  ///< of the first relocation, from the start of the symbol; only with pointsAtSection
  std::string pointsAtSection; ///< ELF: the section that the first relocation refers to, if it is one of this object
  uint64_t pointsAtIndex = 0, pointsAtOffset = 0; ///< that section's index, and the place in it
};

/// The variables whose names `wanted` accepts, in the object's order. Of a finished program those in .symtab, local
/// ones too; none if it is stripped.
llvm::Expected<std::vector<DataSymbol>> readDataSymbols(llvm::MemoryBufferRef object,
                                                        llvm::function_ref<bool(llvm::StringRef)> wanted);

/// A string that needs not be there is a hint, not a promise: does the object, or the symbol index of the archive, hold
/// this text among its symbol names? Looks at string tables only, so it costs next to nothing.
bool mentionsSymbol(llvm::MemoryBufferRef file, llvm::StringRef text);

/// Is this what gcc -flto writes without -ffat-lto-objects? Then its code is for gcc alone, and lld takes it as empty.
bool isSlimLto(llvm::MemoryBufferRef object);

} // namespace coppice
