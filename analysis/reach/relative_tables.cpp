// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table starts where something refers to it: at the beginning of the variable that it is, or, if it has no symbol, at
// a place in the row of entries to which code refers. All such places count; so does the entry itself (`.long f - .`).
#include "analysis/reach/relative_tables.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace coppice {

RelativeTables::RelativeTables(const ObjectFile &object) : object(object) {
  auto sections = object.sections();
  anchors.resize(sections.size());
  variables.resize(sections.size());
  auto holdsData = [&](uint32_t section) {
    return section && (sections[section].sh_flags & ELF::SHF_ALLOC) &&
           !(sections[section].sh_flags & ELF::SHF_EXECINSTR);
  };
  for (uint32_t from = 1; from < sections.size(); ++from) {
    if (!(sections[from].sh_flags & ELF::SHF_ALLOC)) continue;
    for (const ObjectFile::Relocation &r : object.relocations(from)) {
      uint32_t symbol = object.symbolOf(r), section = object.sectionOf(symbol);
      if (!symbol || !holdsData(section)) continue;
      // An immediate of up to four bytes may follow a PC-relative field.
      for (unsigned fieldToEnd : {0, 4, 5, 6, 8})
        anchors[section].push_back(uint64_t(targetOffset(r, object.symbols()[symbol].st_value, fieldToEnd)));
    }
  }
  for (uint32_t i = 1; i < object.symbols().size(); ++i) {
    const ObjectFile::Symbol &s = object.symbols()[i];
    uint32_t section = object.sectionOf(i);
    if (!holdsData(section) || s.getType() == ELF::STT_SECTION) continue;
    anchors[section].push_back(s.st_value);
    if (s.st_size) variables[section].push_back({s.st_value, s.st_value + s.st_size});
  }
  for (auto &list : anchors) {
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  for (auto &list : variables) llvm::sort(list, [](auto &a, auto &b) { return a.begin < b.begin; });
}

SmallVector<int64_t, 2> RelativeTables::targets(uint32_t section, uint32_t relocation) const {
  SmallVector<int64_t, 2> result;
  auto relocations = object.relocations(section);
  const ObjectFile::Relocation &r = relocations[relocation];
  uint32_t symbol = object.symbolOf(r), type = r.getType(false);
  if (!symbol || (type != ELF::R_X86_64_PC32 && type != ELF::R_X86_64_PLT32)) return result;
  uint64_t entry = r.r_offset, start = entry;
  // The last variable that begins at or before the entry and holds it.
  auto variable = upper_bound(variables[section], entry, [](uint64_t o, const Variable &v) { return o < v.begin; });
  bool isInVariable = variable != variables[section].begin() && entry < std::prev(variable)->end;
  if (isInVariable) {
    start = std::prev(variable)->begin;
  } else {
    // Back over the entries before it, which compilers write in order.
    uint32_t k = relocation;
    while (k > 0 && relocations[k - 1].r_offset + 4 == relocations[k].r_offset &&
           (relocations[k - 1].getType(false) == ELF::R_X86_64_PC32 ||
            relocations[k - 1].getType(false) == ELF::R_X86_64_PLT32))
      --k;
    start = relocations[k].r_offset;
    // Entries that are zero, or a header before them.
    auto before = upper_bound(anchors[section], start);
    if (before != anchors[section].begin()) start = *std::prev(before);
  }
  int64_t addend = int64_t(object.symbols()[symbol].st_value) + r.r_addend;
  for (auto at = lower_bound(anchors[section], start); at != anchors[section].end() && *at <= entry; ++at)
    result.push_back(addend - int64_t(entry - *at));
  result.push_back(addend);
  llvm::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

} // namespace coppice
