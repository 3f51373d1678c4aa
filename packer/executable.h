// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An executable as the packer sees it: what its program headers say, checked.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace coppice {

using ProgramHeader = llvm::object::ELF64LE::Phdr;

struct Executable {
  llvm::object::ELF64LE::Ehdr header;
  std::vector<ProgramHeader> programHeaders;
  std::vector<ProgramHeader> segments;  ///< PT_LOAD in ascending order; each has pages of its own
  uint64_t imageLow = 0, imageHigh = 0; ///< whole pages
  const ProgramHeader *find(unsigned type) const;
};

/// The error says why this cannot be packed.
llvm::Expected<Executable> readExecutable(llvm::StringRef file);

} // namespace coppice
