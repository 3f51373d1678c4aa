// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/object_edits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::ELF;

namespace coppice {

bool ObjectEdits::needsNewSymbols() const {
  return !definitions.empty() || !jumps.empty() ||
         any_of(relocations, [](const Retarget &r) { return !r.symbol.empty(); });
}

namespace {

// The structures of an object lie as they are in memory, at any alignment.
template <class T> T read(ArrayRef<char> bytes, uint64_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
template <class T> void write(MutableArrayRef<char> bytes, uint64_t offset, const T &value) {
  memcpy(bytes.data() + offset, &value, sizeof value);
}

uint64_t offsetIn(const ObjectFile &elf, const void *place) {
  return uint64_t(static_cast<const char *>(place) - elf.bytes().data());
}

void editInPlace(const ObjectFile &elf, const ObjectEdits &edits, MutableArrayRef<char> bytes) {
  for (const ObjectEdits::Retarget &r : edits.relocations) {
    if (!r.symbol.empty()) continue;
    uint64_t at = offsetIn(elf, &elf.relocations(r.section)[r.relocation]);
    auto rela = read<Elf64_Rela>(bytes, at);
    rela.setSymbolAndType(0, R_X86_64_NONE);
    rela.r_addend = 0;
    write(bytes, at, rela);
  }
  for (const ObjectEdits::Fill &f : edits.fills)
    memset(bytes.data() + elf.sections()[f.section].sh_offset + f.begin, 0xcc, f.end - f.begin);
  for (const ObjectEdits::Shorter &s : edits.shorter) {
    memcpy(bytes.data() + elf.sections()[s.section].sh_offset, s.contents.data(), s.contents.size());
    uint64_t at = offsetIn(elf, &elf.sections()[s.section]);
    auto header = read<Elf64_Shdr>(bytes, at);
    header.sh_size = s.contents.size();
    write(bytes, at, header);
  }
  for (uint32_t section : edits.excluded) {
    uint64_t at = offsetIn(elf, &elf.sections()[section]);
    auto header = read<Elf64_Shdr>(bytes, at);
    header.sh_flags |= SHF_EXCLUDE;
    write(bytes, at, header);
  }
  for (uint32_t symbol : edits.hidden) {
    uint64_t at = offsetIn(elf, &elf.symbols()[symbol]);
    auto entry = read<Elf64_Sym>(bytes, at);
    entry.st_other = (entry.st_other & ~3) | STV_HIDDEN;
    write(bytes, at, entry);
  }
}

// New entries at the end of the symbol table shift no index: local symbols stand first.
std::unique_ptr<WritableMemoryBuffer> withNewSymbols(const ObjectFile &elf, const ObjectEdits &edits,
                                                     ArrayRef<char> original, StringRef name) {
  const auto sections = elf.sections();
  uint32_t symtab = 0, shndx = 0;
  for (uint32_t i = 1; i < sections.size(); ++i) {
    if (sections[i].sh_type == SHT_SYMTAB && !symtab) symtab = i;
    if (sections[i].sh_type == SHT_SYMTAB_SHNDX) shndx = i;
  }
  uint32_t strtab = sections[symtab].sh_link;
  std::string strings(original.data() + sections[strtab].sh_offset, sections[strtab].sh_size);
  std::vector<Elf64_Sym> added;
  std::vector<uint32_t> addedSections;
  std::map<std::string, uint32_t> references;
  uint32_t count = uint32_t(elf.symbols().size());
  auto add = [&](const std::string &symbol, uint32_t section, uint64_t value) {
    Elf64_Sym s = {};
    s.st_name = uint32_t(strings.size());
    strings.append(symbol.c_str(), symbol.size() + 1);
    s.setBindingAndType(STB_GLOBAL, section ? STT_FUNC : STT_NOTYPE);
    s.st_other = STV_HIDDEN;
    s.st_shndx = uint16_t(section >= SHN_LORESERVE ? unsigned(SHN_XINDEX) : section);
    s.st_value = value;
    added.push_back(s);
    addedSections.push_back(section >= SHN_LORESERVE ? section : 0);
    return count + uint32_t(added.size()) - 1;
  };
  for (const ObjectEdits::Definition &d : edits.definitions) add(d.name, d.section, d.offset);
  for (const ObjectEdits::Retarget &r : edits.relocations)
    if (!r.symbol.empty() && !references.count(r.symbol)) references[r.symbol] = add(r.symbol, 0, 0);

  for (const ObjectEdits::Jump &j : edits.jumps)
    if (!references.count(j.symbol)) references[j.symbol] = add(j.symbol, 0, 0);
  // Jumps need relocations: the table of their section, longer, or a new one.
  struct Table {
    uint32_t header = 0;
    std::vector<Elf64_Rela> entries;
    uint64_t offset = 0;
  };
  std::map<uint32_t, Table> tables;
  uint32_t headerCount = uint32_t(sections.size());
  for (const ObjectEdits::Jump &j : edits.jumps) {
    auto [it, isNew] = tables.try_emplace(j.section);
    if (isNew) {
      for (uint32_t i = 1; i < sections.size(); ++i)
        if (sections[i].sh_type == SHT_RELA && sections[i].sh_info == j.section) it->second.header = i;
      if (!it->second.header) it->second.header = headerCount++;
    }
    Elf64_Rela rela = {};
    rela.r_offset = j.offset + 1;
    rela.setSymbolAndType(references[j.symbol], R_X86_64_PLT32);
    rela.r_addend = -4;
    it->second.entries.push_back(rela);
  }

  uint64_t symtabAt = alignTo(original.size(), 8), symtabSize = (count + added.size()) * sizeof(Elf64_Sym);
  uint64_t stringsAt = symtabAt + symtabSize;
  uint64_t shndxAt = alignTo(stringsAt + strings.size(), 8), shndxSize = shndx ? (count + added.size()) * 4 : 0;
  uint64_t end = alignTo(shndxAt + shndxSize, 8);
  auto oldSize = [&](const Table &t) { return t.header < sections.size() ? uint64_t(sections[t.header].sh_size) : 0; };
  for (auto &[section, table] : tables) {
    table.offset = end;
    end += oldSize(table) + table.entries.size() * sizeof(Elf64_Rela);
  }
  uint64_t headersAt = end;
  auto buffer = WritableMemoryBuffer::getNewMemBuffer(headersAt + headerCount * sizeof(Elf64_Shdr), name);
  if (!buffer) return nullptr;
  MutableArrayRef<char> out = buffer->getBuffer();
  memcpy(out.data(), original.data(), original.size());
  memcpy(out.data() + symtabAt, out.data() + sections[symtab].sh_offset, count * sizeof(Elf64_Sym));
  memcpy(out.data() + symtabAt + count * sizeof(Elf64_Sym), added.data(), added.size() * sizeof(Elf64_Sym));
  memcpy(out.data() + stringsAt, strings.data(), strings.size());
  if (shndx) {
    memcpy(out.data() + shndxAt, out.data() + sections[shndx].sh_offset,
           std::min<uint64_t>(sections[shndx].sh_size, uint64_t(count) * 4));
    memcpy(out.data() + shndxAt + uint64_t(count) * 4, addedSections.data(), addedSections.size() * 4);
  }
  memcpy(out.data() + headersAt, out.data() + offsetIn(elf, sections.data()), sections.size() * sizeof(Elf64_Shdr));
  auto editHeader = [&](uint32_t section, uint64_t offset, uint64_t size) {
    uint64_t at = headersAt + section * sizeof(Elf64_Shdr);
    auto header = read<Elf64_Shdr>(out, at);
    header.sh_offset = offset;
    header.sh_size = size;
    write(out, at, header);
  };
  editHeader(symtab, symtabAt, symtabSize);
  editHeader(strtab, stringsAt, strings.size());
  if (shndx) editHeader(shndx, shndxAt, shndxSize);
  for (auto &[section, table] : tables) {
    uint64_t old = oldSize(table), added = table.entries.size() * sizeof(Elf64_Rela);
    if (old) memcpy(out.data() + table.offset, out.data() + sections[table.header].sh_offset, old);
    memcpy(out.data() + table.offset + old, table.entries.data(), added);
    if (table.header >= sections.size()) {
      Elf64_Shdr header = {};
      header.sh_type = SHT_RELA;
      header.sh_flags = SHF_INFO_LINK;
      header.sh_link = symtab;
      header.sh_info = section;
      header.sh_addralign = 8;
      header.sh_entsize = sizeof(Elf64_Rela);
      write(out, headersAt + table.header * sizeof(Elf64_Shdr), header);
    }
    editHeader(table.header, table.offset, old + added);
  }
  for (const ObjectEdits::Jump &j : edits.jumps) out[sections[j.section].sh_offset + j.offset] = char(0xe9);
  auto header = read<Elf64_Ehdr>(out, 0);
  header.e_shoff = headersAt;
  if (headerCount != sections.size()) { // counts of 65,280 and more stand in the null section's header
    if (header.e_shnum == 0 || headerCount >= SHN_LORESERVE) {
      header.e_shnum = 0;
      auto null = read<Elf64_Shdr>(out, headersAt);
      null.sh_size = headerCount;
      write(out, headersAt, null);
    } else {
      header.e_shnum = uint16_t(headerCount);
    }
  }
  write(out, 0, header);

  for (const ObjectEdits::Retarget &r : edits.relocations) {
    if (r.symbol.empty()) continue;
    const ObjectFile::Relocation &old = elf.relocations(r.section)[r.relocation];
    uint64_t at = offsetIn(elf, &old);
    if (auto it = tables.find(r.section); it != tables.end()) // the table is elsewhere now
      at = it->second.offset + (at - sections[it->second.header].sh_offset);
    auto rela = read<Elf64_Rela>(out, at);
    // A reference through a section holds the place in the addend; what a PC-relative field adds stays.
    if (elf.symbols()[elf.symbolOf(old)].getType() == STT_SECTION) {
      uint32_t type = old.getType(false);
      rela.r_addend = type == R_X86_64_PC32 || type == R_X86_64_PLT32 ? -4 : 0;
    }
    rela.setSymbolAndType(references[r.symbol], old.getType(false));
    write(out, at, rela);
  }
  return buffer;
}

Error failed(StringRef path, const Twine &why) {
  return createStringError("cannot edit " + path + " in memory: " + why);
}

} // namespace

Expected<std::vector<EditedInput>> applyEdits(const SymbolResolution &resolution,
                                              const std::map<uint32_t, ObjectEdits> &edits,
                                              std::map<size_t, std::unique_ptr<WritableMemoryBuffer>> mapped,
                                              std::vector<std::string> &notSplit) {
  std::map<size_t, std::vector<std::pair<const LinkedObject *, const ObjectEdits *>>> byFile;
  for (const auto &[object, change] : edits) {
    const LinkedObject &linked = resolution.linked()[object];
    byFile[linked.file].push_back({&linked, &change});
  }
  for (const auto &[file, copy] : mapped) byFile[file];
  std::vector<EditedInput> result;
  for (const auto &[file, objects] : byFile) {
    const InputFile &input = resolution.files()[file];
    StringRef original = input.buffer->getBuffer();
    bool isThin = input.archive && input.archive->isThin();
    std::unique_ptr<WritableMemoryBuffer> copy = std::move(mapped[file]);
    if (!isThin && !copy) {
      // A mapping where there is a file, so that only what is touched is copied.
      if (auto opened = WritableMemoryBuffer::getFile(input.path);
          opened && (*opened)->getBufferSize() == original.size())
        copy = std::move(*opened);
      if (!copy) {
        copy = WritableMemoryBuffer::getNewUninitMemBuffer(original.size(), input.path);
        if (!copy) return failed(input.path, "out of memory");
        memcpy(copy->getBufferStart(), original.data(), original.size());
      }
    }
    std::map<uint64_t, std::unique_ptr<WritableMemoryBuffer>> grown; // by member
    for (auto [linked, change] : objects) {
      MutableArrayRef<char> bytes;
      std::unique_ptr<WritableMemoryBuffer> own; // of a member of a thin archive: a file of its own
      if (isThin) {
        own = WritableMemoryBuffer::getNewUninitMemBuffer(linked->buffer.getBufferSize(), linked->name);
        if (!own) return failed(input.path, "out of memory");
        memcpy(own->getBufferStart(), linked->buffer.getBufferStart(), linked->buffer.getBufferSize());
        bytes = own->getBuffer();
      } else {
        bytes = copy->getBuffer().slice(size_t(linked->buffer.getBufferStart() - original.data()),
                                        linked->buffer.getBufferSize());
      }
      editInPlace(*linked->elf, *change, bytes);
      if (change->needsNewSymbols()) {
        own = withNewSymbols(*linked->elf, *change, bytes, linked->name);
        if (!own) return failed(input.path, "out of memory");
      }
      if (any_of(change->functions, [](const SectionFunctions &s) { return s.split; })) {
        StringRef now =
            own ? StringRef(own->getBufferStart(), own->getBufferSize()) : StringRef(bytes.data(), bytes.size());
        auto changed = ObjectFile::parse({now, linked->name});
        if (!changed) return failed(input.path, toString(changed.takeError()));
        auto split = splitObject(*linked->elf, *changed, change->functions, change->liveSections, linked->name);
        if (!split) return failed(input.path, toString(split.takeError()));
        for (const std::string &why : split->notSplit) notSplit.push_back(linked->name + ":" + why);
        if (split->object) own = std::move(split->object);
      }
      if (own) grown[linked->member] = std::move(own);
    }
    if (grown.empty()) {
      result.push_back({file, std::move(copy)});
      continue;
    }
    if (!input.archive) {
      result.push_back({file, std::move(grown.begin()->second)});
      continue;
    }
    // Members in their order, so that lld extracts what it would have extracted.
    std::vector<NewArchiveMember> members;
    Error error = Error::success();
    for (const object::Archive::Child &child : input.archive->children(error)) {
      auto name = child.getName();
      auto contents = child.getMemoryBufferRef();
      if (!name || !contents) {
        consumeError(std::move(error));
        consumeError(name.takeError());
        consumeError(contents.takeError());
        return failed(input.path, "a member cannot be read");
      }
      StringRef bytes = contents->getBuffer();
      if (!isThin) bytes = StringRef(copy->getBufferStart() + (bytes.data() - original.data()), bytes.size());
      if (auto it = grown.find(child.getChildOffset()); it != grown.end())
        bytes = StringRef(it->second->getBufferStart(), it->second->getBufferSize());
      members.emplace_back(MemoryBufferRef(bytes, *name));
      members.back().MemberName = isThin ? sys::path::filename(*name) : *name;
    }
    if (error) return failed(input.path, toString(std::move(error)));
    bool hasIndex = input.archive->hasSymbolTable();
    auto archive = writeArchiveToBuffer(
        members, hasIndex ? SymtabWritingMode::NormalSymtab : SymtabWritingMode::NoSymtab, object::Archive::K_GNU,
        /*Deterministic=*/true, /*Thin=*/false);
    if (!archive) return failed(input.path, toString(archive.takeError()));
    result.push_back({file, std::move(*archive)});
  }
  return result;
}

} // namespace coppice
