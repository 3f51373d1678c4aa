// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/object_file.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"

using namespace llvm;
using namespace llvm::object;

namespace coppice {

Expected<ObjectFile> ObjectFile::parse(MemoryBufferRef object) {
  ObjectFile result;
  result.data = object.getBuffer();
  if (result.data.size() < sizeof(Elf::Ehdr)) return createStringError("truncated: an ELF header has 64 bytes");
  if (result.data[ELF::EI_CLASS] != ELF::ELFCLASS64) return createStringError("not a 64-bit object");
  if (result.data[ELF::EI_DATA] != ELF::ELFDATA2LSB) return createStringError("not a little-endian object");
  auto file = ELFFile<Elf>::create(result.data);
  if (!file) return file.takeError();
  const Elf::Ehdr &header = file->getHeader();
  if (header.e_machine != ELF::EM_X86_64)
    return createStringError("for another machine (e_machine %u, x86-64 is %u)", unsigned(header.e_machine),
                             unsigned(ELF::EM_X86_64));
  if (header.e_type != ELF::ET_REL)
    return createStringError("not a relocatable object (e_type %u)", unsigned(header.e_type));
  auto sections = file->sections();
  if (!sections) return sections.takeError();
  result.sectionTable = *sections;
  auto names = file->getSectionStringTable(*sections);
  if (!names) return names.takeError();
  result.sectionNames = *names;

  const Elf::Shdr *symbolTable = nullptr;
  for (const Elf::Shdr &s : *sections) {
    if (s.sh_name >= result.sectionNames.size() && s.sh_type != ELF::SHT_NULL)
      return createStringError("the name of a section is outside of the string table");
    if (s.sh_type == ELF::SHT_SYMTAB && !symbolTable) symbolTable = &s;
    if (s.sh_type == ELF::SHT_SYMTAB_SHNDX) {
      auto indices = file->getSectionContentsAsArray<Elf::Word>(s);
      if (!indices) return indices.takeError();
      result.extendedIndices = *indices;
    }
    if (s.sh_type != ELF::SHT_NOBITS && s.sh_type != ELF::SHT_NULL)
      if (auto contents = file->getSectionContents(s); !contents) return contents.takeError();
  }
  if (symbolTable) {
    auto symbols = file->symbols(symbolTable);
    if (!symbols) return symbols.takeError();
    result.symbolTable = *symbols;
    auto strings = file->getStringTableForSymtab(*symbolTable, *sections);
    if (!strings) return strings.takeError();
    result.symbolNames = *strings;
    result.firstGlobalSymbol = std::min<uint64_t>(symbolTable->sh_info, result.symbolTable.size());
    for (size_t i = 0; i < result.symbolTable.size(); ++i) {
      const Elf::Sym &s = result.symbolTable[i];
      if (s.st_name >= result.symbolNames.size() && s.st_name)
        return createStringError("the name of symbol %zu is outside of the string table", i);
      if (s.st_shndx == ELF::SHN_XINDEX && i >= result.extendedIndices.size())
        return createStringError("symbol %zu has no entry in the table of section indices", i);
      if (result.sectionOf(i) >= sections->size())
        return createStringError("symbol %zu is in a section that does not exist", i);
    }
  }

  result.relocationsOf.resize(sections->size());
  result.opaque.resize(sections->size());
  for (size_t i = 0; i < sections->size(); ++i) {
    const Elf::Shdr &s = (*sections)[i];
    bool isCrel = s.sh_type == ELF::SHT_CREL;
    if (s.sh_type != ELF::SHT_RELA && s.sh_type != ELF::SHT_REL && !isCrel) continue;
    uint32_t target = s.sh_info;
    if (target == 0 || target >= sections->size())
      return createStringError("relocation section %zu is for a section that does not exist", i);
    ArrayRef<Relocation> list;
    if (isCrel) {
      auto decoded = file->crels(s);
      if (!decoded) return decoded.takeError();
      result.decoded.push_back(std::make_unique<std::vector<Relocation>>(std::move(decoded->second)));
      list = *result.decoded.back();
    } else if (s.sh_type == ELF::SHT_REL) {
      return createStringError("relocations without addends are not used on x86-64");
    } else {
      auto table = file->relas(s);
      if (!table) return table.takeError();
      list = *table;
    }
    if (!result.relocationsOf[target].empty()) {
      auto both = std::make_unique<std::vector<Relocation>>(result.relocationsOf[target].vec());
      both->insert(both->end(), list.begin(), list.end());
      list = *both;
      result.decoded.push_back(std::move(both));
      result.opaque[target] = true;
    }
    result.relocationsOf[target] = list;
    result.opaque[target] |= isCrel;
  }
  return result;
}

bool ObjectFile::hasValidRelocations() const {
  return all_of(relocationsOf, [&](ArrayRef<Relocation> list) {
    return all_of(list,
                  [&](const Relocation &r) { return r.getSymbol(false) < std::max<size_t>(symbolTable.size(), 1); });
  });
}

// A string table ends with a zero: getStringTable checked that.
StringRef ObjectFile::sectionName(uint32_t section) const {
  uint32_t name = sectionTable[section].sh_name; // of SHT_NULL it was not checked
  return name < sectionNames.size() ? StringRef(sectionNames.data() + name) : StringRef();
}

StringRef ObjectFile::sectionNameStart(uint32_t section) const {
  const char *name = sectionNames.data() + sectionTable[section].sh_name;
  return {name, size_t(name[0] ? name[1] ? 2 : 1 : 0)};
}

bool ObjectFile::holdsConstructors(uint32_t section) const {
  switch (sectionTable[section].sh_type) {
  case ELF::SHT_INIT_ARRAY:
  case ELF::SHT_FINI_ARRAY:
  case ELF::SHT_PREINIT_ARRAY:
    return true;
  default:
    break;
  }
  StringRef start = sectionNameStart(section);
  if (start != ".i" && start != ".c" && start != ".d") return false;
  StringRef name = sectionName(section);
  return name.starts_with(".init_array") || name.starts_with(".ctors") || name.starts_with(".dtors");
}

StringRef ObjectFile::symbolName(uint32_t symbol) const {
  return symbolNames.empty() ? StringRef() : StringRef(symbolNames.data() + symbolTable[symbol].st_name);
}

uint32_t ObjectFile::sectionOf(uint32_t symbol) const {
  uint32_t index = symbolTable[symbol].st_shndx;
  if (index == ELF::SHN_XINDEX) return extendedIndices[symbol];
  return index >= ELF::SHN_LORESERVE ? 0 : index;
}

ArrayRef<uint8_t> ObjectFile::contents(uint32_t section) const {
  const Section &s = sectionTable[section];
  if (s.sh_type == ELF::SHT_NOBITS || s.sh_type == ELF::SHT_NULL) return {};
  return {reinterpret_cast<const uint8_t *>(data.data()) + s.sh_offset, size_t(s.sh_size)};
}

int64_t targetOffset(const ObjectFile::Relocation &relocation, uint64_t symbolValue, unsigned fieldToEnd) {
  int64_t offset = symbolValue + uint64_t(relocation.r_addend);
  switch (relocation.getType(false)) {
  case ELF::R_X86_64_PC32:
  case ELF::R_X86_64_PLT32:
    return int64_t(uint64_t(offset) + fieldToEnd);
  case ELF::R_X86_64_GOTPCREL:
  case ELF::R_X86_64_GOTPCRELX:
  case ELF::R_X86_64_REX_GOTPCRELX: // the slot holds the symbol's address; the addend is the field's alone
  case ELF::R_X86_64_CODE_4_GOTPCRELX:
    return int64_t(symbolValue);
  default:
    return offset;
  }
}

} // namespace coppice
