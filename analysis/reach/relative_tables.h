// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of 32-bit distances to code, as compilers make them of a switch in position-independent code: `.long target -
// table`. The assembler writes the entry at P as R_X86_64_PC32 with the addend target + (P - table), so that where an
// entry points depends on where its table starts, which no relocation says.
#pragma once
#include "analysis/reach/object_file.h"
#include "llvm/ADT/SmallVector.h"

namespace coppice {

class RelativeTables {
public:
  explicit RelativeTables(const ObjectFile &object);

  /// All places in the section of the relocation's symbol at which an entry may point. `section` holds data. Empty: the
  /// relocation is no entry of such a table.
  llvm::SmallVector<int64_t, 2> targets(uint32_t section, uint32_t relocation) const;

private:
  const ObjectFile &object;
  /// For each section of data: where code and data refer to, and where symbols start. Sorted.
  std::vector<std::vector<uint64_t>> anchors;
  struct Variable {
    uint64_t begin, end;
  };
  std::vector<std::vector<Variable>> variables; // by section; sorted
};

} // namespace coppice
