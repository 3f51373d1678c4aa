// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One relocatable ELF object for x86-64 (System V gABI and its x86-64 supplement), as checked views into its mapped
// bytes. All tables are in bounds once parse() has succeeded; symbols inside of relocations are checked where they are
// asked for, since most relocations of a large program are never looked at.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <memory>
#include <vector>

namespace coppice {

class ObjectFile {
public:
  using Elf = llvm::object::ELF64LE;
  using Section = Elf::Shdr;
  using Symbol = Elf::Sym;
  using Relocation = Elf::Rela;

  /// The error says what is wrong, without the object's name.
  static llvm::Expected<ObjectFile> parse(llvm::MemoryBufferRef object);

  llvm::StringRef bytes() const { return data; }
  /// With the null section, so that an index of the file is an index here.
  llvm::ArrayRef<Section> sections() const { return sectionTable; }
  /// With the null symbol.
  llvm::ArrayRef<Symbol> symbols() const { return symbolTable; }
  uint32_t firstGlobal() const { return firstGlobalSymbol; }
  llvm::StringRef sectionName(uint32_t section) const;
  /// Its first two characters, or fewer: for those who need no more, since finding the end takes longer.
  llvm::StringRef sectionNameStart(uint32_t section) const;
  /// Do its contents run, or are they called, when a program starts or ends: .init_array and the like?
  bool holdsConstructors(uint32_t section) const;
  llvm::StringRef symbolName(uint32_t symbol) const;
  /// The section that a symbol is defined in; 0 for undefined, absolute and common ones.
  uint32_t sectionOf(uint32_t symbol) const;
  /// Empty for SHT_NOBITS.
  llvm::ArrayRef<uint8_t> contents(uint32_t section) const;
  /// Relocations that apply to a section, as they are in the file. Sections with SHT_REL or SHT_CREL have none here:
  /// see opaqueRelocations().
  llvm::ArrayRef<Relocation> relocations(uint32_t section) const { return relocationsOf[section]; }
  /// The symbol of a relocation; 0 if there is no such symbol.
  uint32_t symbolOf(const Relocation &relocation) const {
    uint32_t symbol = relocation.getSymbol(false);
    return symbol < symbolTable.size() ? symbol : 0;
  }
  /// Do all relocations refer to symbols that exist?
  bool hasValidRelocations() const;
  /// Are there relocations that cannot be edited in place (SHT_CREL), or two tables for one section? These are
  /// decoded; `relocations` then points at a copy.
  bool opaqueRelocations(uint32_t section) const { return opaque[section]; }

private:
  llvm::StringRef data, sectionNames, symbolNames;
  llvm::ArrayRef<Section> sectionTable;
  llvm::ArrayRef<Symbol> symbolTable;
  llvm::ArrayRef<Elf::Word> extendedIndices; // SHT_SYMTAB_SHNDX: objects with more than 65,279 sections
  uint32_t firstGlobalSymbol = 0;
  std::vector<llvm::ArrayRef<Relocation>> relocationsOf;
  std::vector<char> opaque;
  std::vector<std::unique_ptr<std::vector<Relocation>>> decoded;
};

/// x86-64: where a relocation points, from the start of the symbol's section, if the symbol is `symbolValue` there:
/// S + A, with the 4 or more bytes that a PC-relative field adds taken off. `fieldToEnd` is the distance from the field
/// to the end of its instruction (4 where no immediate follows; 0 for data).
int64_t targetOffset(const ObjectFile::Relocation &relocation, uint64_t symbolValue, unsigned fieldToEnd);

} // namespace coppice
