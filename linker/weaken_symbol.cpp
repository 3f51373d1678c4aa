// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/weaken_symbol.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include <cstddef>

using namespace llvm;

namespace coppice {

bool weakenDefinition(MutableArrayRef<char> object, StringRef symbol) {
  using Elf = object::ELF64LE;
  StringRef data(object.data(), object.size());
  if (!data.starts_with(ELF::ElfMagic)) return false;
  auto file = object::ELFFile<Elf>::create(data);
  auto sections = file ? file->sections() : Expected<Elf::ShdrRange>(file.takeError());
  if (!sections) {
    consumeError(sections.takeError());
    return false;
  }
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_SYMTAB) continue;
    auto symbols = file->symbols(&section);
    auto names = file->getStringTableForSymtab(section, *sections);
    if (!symbols || !names) {
      consumeError(symbols.takeError());
      consumeError(names.takeError());
      return false;
    }
    for (const Elf::Sym &s : *symbols) {
      if (!s.isDefined() || s.getBinding() != ELF::STB_GLOBAL) continue;
      auto name = s.getName(*names);
      if (!name) {
        consumeError(name.takeError());
        continue;
      }
      if (*name != symbol) continue;
      size_t info = size_t(reinterpret_cast<const char *>(&s) - object.data()) + offsetof(ELF::Elf64_Sym, st_info);
      object[info] = char(ELF::STB_WEAK << 4 | s.getType());
      return true;
    }
  }
  return false;
}

} // namespace coppice
