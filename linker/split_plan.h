// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which parts of an object's sections become sections, and what then has to change in its relocations. Functions that
// have to stay side by side (one runs on into the next, or a jump of two bytes goes from one to the other) are one
// part.
#pragma once
#include "linker/split_object.h"
#include <optional>

namespace coppice {

struct SplitPlan {
  struct Piece {
    uint32_t section;
    uint64_t begin, end;
  };
  /// A relocation through the symbol of a section that is split.
  struct Change {
    uint32_t relocation; ///< index into relocations(section)
    uint32_t piece;      ///< that it refers to
  };
  /// A relocation where there was none.
  struct Addition {
    uint32_t piece, target; ///< pieces
    uint64_t offset;        ///< in the old section
    int64_t addend;
    bool isJump;
  };
  std::vector<Piece> pieces;                ///< by section and place
  std::vector<std::vector<Change>> changes; ///< of each section, in the order of the relocations
  std::vector<Addition> additions;
  std::vector<std::string> notSplit; ///< "(.text): why"

  bool isSplit(uint32_t section) const;
  std::optional<uint32_t> pieceAt(uint32_t section, uint64_t offset) const;
};

SplitPlan planSplit(const ObjectFile &object, llvm::ArrayRef<SectionFunctions> sections, llvm::ArrayRef<char> isLive);

} // namespace coppice
