// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a section as separate nodes, for code that was built without -ffunction-sections. An assembler needs
// no relocation for a call inside of one section, so the code is decoded to find all references between its functions.
// A section is split only where every byte of it is understood; what is not certain keeps it whole.
#pragma once
#include "analysis/reach/object_file.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include <string>
#include <vector>

namespace coppice {

class Decoder;

/// Indices of relocations(section), in the order of their offsets.
std::vector<uint32_t> relocationsByOffset(const ObjectFile &object, uint32_t section);

/// The relocations of a section, and their order by offset.
struct OrderedRelocations {
  llvm::ArrayRef<ObjectFile::Relocation> table;
  llvm::ArrayRef<uint32_t> order;
  /// The first at or after this offset.
  const uint32_t *from(uint64_t offset) const {
    return llvm::partition_point(order, [&](uint32_t i) { return table[i].r_offset < offset; });
  }
};

/// A distance to another function of the section that the assembler has written without a relocation.
struct LocalReference {
  uint64_t field = 0, target = 0;
  uint8_t fieldSize = 0;  ///< 1, 4; 0: not clear
  uint8_t fieldToEnd = 0; ///< from the field to the end of its instruction
  bool isJump = false;    ///< or a call
};

struct FunctionRange {
  uint64_t begin = 0, end = 0;
  /// Where in the same section this function refers to without a relocation: each is in another range. Sorted.
  std::vector<uint64_t> references;
  /// The places of these references, in order.
  std::vector<LocalReference> fields;
  bool fallsThrough = false; ///< what follows may run after it
};

struct SectionRanges {
  /// Sorted and disjoint; functions that overlap are one. Empty: the section is one node.
  std::vector<FunctionRange> ranges;
  /// Why a section with several functions could not be split.
  std::string keptWhole;
  /// For each of relocations(section): the distance from its field to the end of the instruction, which targetOffset()
  /// wants. 4 where it was not decoded: outside of functions, and in sections that are one node. There an immediate may
  /// follow the field, but no compiler writes an instruction with an immediate that refers to code.
  std::vector<uint8_t> fieldToEnd;
  /// Of each byte: does an instruction start there? Empty where the section is one node.
  llvm::BitVector instructionStarts;

  /// The range that holds this offset. Null: none does, so a reference to it needs the whole section.
  const FunctionRange *at(uint64_t offset) const;
};

/// Symbols in executable sections that say what is where: functions, and sized data, which keeps a section whole.
class FunctionSymbols {
public:
  explicit FunctionSymbols(const ObjectFile &object);
  /// In the order of their values.
  llvm::ArrayRef<uint32_t> operator[](uint32_t section) const {
    return llvm::ArrayRef(symbols).slice(first[section], first[section + 1] - first[section]);
  }

private:
  std::vector<uint32_t> first, symbols;
};

/// `symbols` is FunctionSymbols(object)[section].
SectionRanges splitIntoFunctions(const ObjectFile &object, uint32_t section, Decoder &decoder,
                                 llvm::ArrayRef<uint32_t> symbols);

} // namespace coppice
