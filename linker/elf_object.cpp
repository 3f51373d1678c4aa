// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/elf_object.h"
#include "llvm/MC/StringTableBuilder.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace llvm::ELF;

namespace coppice {

ElfObject::Section ElfObject::addSection(std::string name, uint64_t flags, uint64_t alignment, uint64_t size) {
  sections.push_back({std::move(name), flags, alignment, size, 0, {}, {}});
  return unsigned(sections.size());
}

void ElfObject::addPiece(Section section, uint64_t offset, ArrayRef<char> bytes) {
  sections[section - 1].pieces.push_back({offset, bytes});
}

void ElfObject::linkTo(Section section, Section other) {
  sections[section - 1].flags |= SHF_LINK_ORDER;
  sections[section - 1].link = other;
}

ElfObject::Symbol ElfObject::addLocal(std::string name, Section section) {
  symbols.push_back({std::move(name), section, 0, 0, false, false});
  return unsigned(symbols.size() - 1);
}

ElfObject::Symbol ElfObject::addGlobal(std::string name, Section section, uint64_t value, uint64_t size, bool hidden) {
  symbols.push_back({std::move(name), section, value, size, true, hidden});
  return unsigned(symbols.size() - 1);
}

void ElfObject::addPointer(Section section, uint64_t offset, Symbol target, int64_t addend) {
  Elf64_Rela rela = {};
  rela.r_offset = offset;
  rela.setSymbolAndType(target, R_X86_64_64);
  rela.r_addend = addend;
  sections[section - 1].pointers.push_back(rela);
}

void ElfObject::addPcRelative(Section section, uint64_t offset, Symbol target) {
  Elf64_Rela rela = {};
  rela.r_offset = offset;
  rela.setSymbolAndType(target, R_X86_64_PLT32);
  rela.r_addend = -4;
  sections[section - 1].pointers.push_back(rela);
}

std::unique_ptr<MemoryBuffer> ElfObject::write(StringRef bufferName) const {
  // Local symbols stand before global ones (gABI, "Symbol Table").
  std::vector<unsigned> order, finalIndex(symbols.size());
  for (bool global : {false, true})
    for (unsigned i = 0; i < symbols.size(); ++i)
      if (symbols[i].global == global) {
        finalIndex[i] = unsigned(order.size()) + 1;
        order.push_back(i);
      }
  unsigned firstGlobal = 1;
  for (const SymbolData &s : symbols) firstGlobal += !s.global;

  StringTableBuilder names(StringTableBuilder::ELF), sectionNames(StringTableBuilder::ELF);
  for (const SymbolData &s : symbols) names.add(s.name);
  std::vector<std::string> relaNames;
  for (const SectionData &s : sections) {
    sectionNames.add(s.name);
    if (!s.pointers.empty()) relaNames.push_back(".rela" + s.name);
  }
  for (const std::string &name : relaNames) sectionNames.add(name);
  for (StringRef name : {".symtab", ".strtab", ".shstrtab"}) sectionNames.add(name);
  names.finalize();
  sectionNames.finalize();

  // Headers in the order: null, ours, one .rela each, symtab, strtab, shstrtab.
  std::vector<Elf64_Shdr> headers(1);
  uint64_t end = sizeof(Elf64_Ehdr);
  auto place = [&](StringRef name, unsigned type, uint64_t flags, uint64_t alignment, uint64_t size) -> Elf64_Shdr & {
    Elf64_Shdr h = {};
    h.sh_name = unsigned(sectionNames.getOffset(name));
    h.sh_type = type;
    h.sh_flags = flags;
    h.sh_addralign = alignment;
    h.sh_size = size;
    h.sh_offset = end = alignTo(end, alignment);
    end += size;
    headers.push_back(h);
    return headers.back();
  };
  for (const SectionData &s : sections) place(s.name, SHT_PROGBITS, s.flags, s.alignment, s.size).sh_link = s.link;
  unsigned symtabIndex = unsigned(sections.size() + relaNames.size() + 1);
  size_t next = 0;
  for (unsigned i = 0; i < sections.size(); ++i) {
    if (sections[i].pointers.empty()) continue;
    Elf64_Shdr &h =
        place(relaNames[next++], SHT_RELA, SHF_INFO_LINK, 8, sections[i].pointers.size() * sizeof(Elf64_Rela));
    h.sh_entsize = sizeof(Elf64_Rela);
    h.sh_link = symtabIndex;
    h.sh_info = i + 1;
  }
  Elf64_Shdr &symtab = place(".symtab", SHT_SYMTAB, 0, 8, (symbols.size() + 1) * sizeof(Elf64_Sym));
  symtab.sh_entsize = sizeof(Elf64_Sym);
  symtab.sh_link = symtabIndex + 1;
  symtab.sh_info = firstGlobal;
  place(".strtab", SHT_STRTAB, 0, 1, names.getSize());
  place(".shstrtab", SHT_STRTAB, 0, 1, sectionNames.getSize());
  uint64_t headersAt = alignTo(end, 8);

  auto buffer =
      WritableMemoryBuffer::getNewUninitMemBuffer(headersAt + headers.size() * sizeof(Elf64_Shdr), bufferName);
  if (!buffer) return nullptr;
  char *out = buffer->getBufferStart();
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ElfMagic, 4);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = headersAt;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = uint16_t(headers.size());
  header.e_shstrndx = uint16_t(headers.size() - 1);
  memcpy(out, &header, sizeof header);

  // Everything between what is written below is padding: zero, so that the object is the same every time.
  uint64_t written = sizeof header;
  auto put = [&](uint64_t at, const void *bytes, uint64_t size) {
    memset(out + written, 0, at - written);
    if (size) memcpy(out + at, bytes, size);
    written = at + size;
  };
  for (size_t i = 0; i < sections.size(); ++i) {
    for (const Piece &piece : sections[i].pieces)
      put(headers[i + 1].sh_offset + piece.offset, piece.bytes.data(), piece.bytes.size());
    put(headers[i + 1].sh_offset + headers[i + 1].sh_size, nullptr, 0);
  }
  size_t index = sections.size() + 1;
  for (const SectionData &s : sections) {
    if (s.pointers.empty()) continue;
    std::vector<Elf64_Rela> relas = s.pointers;
    for (Elf64_Rela &r : relas) r.setSymbolAndType(finalIndex[r.getSymbol()], r.getType());
    put(headers[index++].sh_offset, relas.data(), relas.size() * sizeof(Elf64_Rela));
  }
  std::vector<Elf64_Sym> table(1);
  memset(table.data(), 0, sizeof(Elf64_Sym));
  for (unsigned i : order) {
    const SymbolData &s = symbols[i];
    Elf64_Sym entry = {};
    entry.st_name = unsigned(names.getOffset(s.name));
    unsigned type = !s.section ? STT_NOTYPE : sections[s.section - 1].flags & SHF_EXECINSTR ? STT_FUNC : STT_OBJECT;
    entry.setBindingAndType(s.global ? STB_GLOBAL : STB_LOCAL, type);
    entry.st_other = s.hidden ? STV_HIDDEN : STV_DEFAULT;
    entry.st_shndx = uint16_t(s.section);
    entry.st_value = s.value;
    entry.st_size = s.size;
    table.push_back(entry);
  }
  put(headers[index++].sh_offset, table.data(), table.size() * sizeof(Elf64_Sym));
  for (StringTableBuilder *strings : {&names, &sectionNames}) {
    std::vector<uint8_t> bytes(strings->getSize());
    strings->write(bytes.data());
    put(headers[index++].sh_offset, bytes.data(), bytes.size());
  }
  put(headersAt, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  return buffer;
}

} // namespace coppice
