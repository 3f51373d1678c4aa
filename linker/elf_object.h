// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes one relocatable ELF object for x86-64 into memory. LLVM's own writers (MC, ObjectYAML) copy every byte of a
// section several times and hold it twice; weights of gigabytes are copied once here, from the model's mapping to the
// object that lld reads. Layout follows the System V gABI: header, sections, symbol table, string tables, section
// headers.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace coppice {

class ElfObject {
public:
  using Section = unsigned;
  using Symbol = unsigned;
  static constexpr Section undefined = 0;

  /// A section of `size` bytes, zero until pieces are added. Names and pieces must live until write().
  Section addSection(std::string name, uint64_t flags, uint64_t alignment, uint64_t size);
  /// Bytes at an offset of a section.
  void addPiece(Section section, uint64_t offset, llvm::ArrayRef<char> bytes);
  /// SHF_LINK_ORDER: lives and dies with `other`.
  void linkTo(Section section, Section other);
  Symbol addLocal(std::string name, Section section);
  /// Hidden and global; with Section `undefined` a reference.
  Symbol addGlobal(std::string name, Section section, uint64_t value = 0, uint64_t size = 0, bool hidden = true);
  /// R_X86_64_64 at an offset of a section.
  void addPointer(Section section, uint64_t offset, Symbol target, int64_t addend = 0);
  /// R_X86_64_PLT32: the last four bytes of an instruction that refers to a symbol.
  void addPcRelative(Section section, uint64_t offset, Symbol target);

  /// The object; null when there is not enough memory.
  std::unique_ptr<llvm::MemoryBuffer> write(llvm::StringRef name) const;

private:
  struct Piece {
    uint64_t offset;
    llvm::ArrayRef<char> bytes;
  };
  struct SectionData {
    std::string name;
    uint64_t flags, alignment, size;
    Section link = 0;
    std::vector<Piece> pieces;
    std::vector<llvm::ELF::Elf64_Rela> pointers; // r_info holds our symbol until write()
  };
  struct SymbolData {
    std::string name;
    Section section;
    uint64_t value, size;
    bool global, hidden;
  };
  std::vector<SectionData> sections; // section 1 is sections[0]
  std::vector<SymbolData> symbols;
};

} // namespace coppice
