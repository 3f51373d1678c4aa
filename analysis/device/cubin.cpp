// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/cubin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace llvm::object;
using namespace llvm::support::endian;

namespace coppice {
namespace {

constexpr unsigned stoEntry = 0x10;          // st_other of a kernel
constexpr unsigned mercuryRela = 0x70000082; // SHT_RELA of the second set

StringRef functionOf(StringRef section) {
  for (StringRef prefix : {".text.", ".nv.capmerc.text."})
    if (section.consume_front(prefix)) return section;
  return {};
}

} // namespace

bool isCubin(ArrayRef<uint8_t> bytes) {
  return bytes.size() >= sizeof(ELF64LE::Ehdr) && toStringRef(bytes).starts_with("\177ELF\2\1") &&
         read16le(&bytes[18]) == ELF::EM_CUDA;
}

unsigned cubinArchitecture(ArrayRef<uint8_t> cubin) {
  if (!isCubin(cubin)) return 0;
  uint32_t flags = read32le(&cubin[48]);
  return cubin[8] >= 8 ? (flags >> 8) & 0xff : flags & 0xff; // by the ABI's version
}

Expected<std::vector<DeviceFunction>> readCubinFunctions(ArrayRef<uint8_t> cubin) {
  if (!isCubin(cubin)) return createStringError("this is not a cubin");
  // The tables are read where they lie, which wants their alignment.
  std::unique_ptr<MemoryBuffer> aligned = MemoryBuffer::getMemBufferCopy(toStringRef(cubin));
  auto elf = ELF64LEFile::create(aligned->getBuffer());
  if (!elf) return elf.takeError();
  auto sections = elf->sections();
  if (!sections) return sections.takeError();
  auto names = elf->getSectionStringTable(*sections);
  if (!names) return names.takeError();

  StringMap<uint32_t> index;
  std::vector<DeviceFunction> functions;
  std::vector<uint32_t> functionOfSection(sections->size(), UINT32_MAX);
  const ELF64LE::Shdr *symtab = nullptr;
  uint32_t callgraph = 0;
  std::vector<StringRef> sectionNames;
  for (uint32_t i = 0; i < sections->size(); ++i) {
    const auto &section = (*sections)[i];
    auto name = elf->getSectionName(section, *names);
    if (!name) return name.takeError();
    sectionNames.push_back(*name);
    if (section.sh_type == ELF::SHT_SYMTAB && !symtab) symtab = &section;
    if (*name == ".nv.callgraph") callgraph = i;
    StringRef function = functionOf(*name);
    if (function.empty()) continue;
    auto [it, isNew] = index.try_emplace(function, uint32_t(functions.size()));
    if (isNew) functions.push_back({.name = function.str()});
    functionOfSection[i] = it->second;
  }
  auto ownerOf = [&](uint32_t section) {
    return section < functionOfSection.size() ? functionOfSection[section] : UINT32_MAX;
  };
  // What depends on a function's section, like its parameters, says so in its header.
  auto isRelocationTable = [](unsigned type) {
    return type == ELF::SHT_REL || type == ELF::SHT_RELA || type == mercuryRela;
  };
  std::vector<uint32_t> ownerOfSection = functionOfSection;
  for (uint32_t i = 0; i < sections->size(); ++i) {
    const auto &section = (*sections)[i];
    if (ownerOfSection[i] == UINT32_MAX && section.sh_flags & ELF::SHF_INFO_LINK && !isRelocationTable(section.sh_type))
      ownerOfSection[i] = ownerOf(section.sh_info);
    if (ownerOfSection[i] != UINT32_MAX && section.sh_type != ELF::SHT_NOBITS)
      functions[ownerOfSection[i]].bytes += std::min<uint64_t>(section.sh_size, cubin.size());
  }
  if (!symtab) {
    if (functions.empty()) return functions;
    return createStringError("it has no symbol table");
  }

  auto symbols = elf->symbols(symtab);
  if (!symbols) return symbols.takeError();
  std::vector<uint32_t> functionOfSymbol;
  for (const auto &symbol : *symbols) {
    uint32_t function = ownerOf(symbol.st_shndx);
    functionOfSymbol.push_back(function);
    if (function != UINT32_MAX && symbol.getType() == ELF::STT_FUNC && symbol.st_other & stoEntry)
      functions[function].isKernel = true;
  }
  auto refer = [&](uint32_t from, uint32_t symbol) {
    uint32_t to = symbol < functionOfSymbol.size() ? functionOfSymbol[symbol] : UINT32_MAX;
    if (from != UINT32_MAX && to != UINT32_MAX && from != to) functions[from].references.push_back(to);
  };
  for (const auto &section : *sections) {
    if (section.sh_type != ELF::SHT_REL && section.sh_type != ELF::SHT_RELA) continue;
    if (section.sh_info >= ownerOfSection.size()) continue;
    uint32_t from = ownerOfSection[section.sh_info];
    if (section.sh_type == ELF::SHT_RELA) {
      auto relocations = elf->relas(section);
      if (!relocations) return relocations.takeError();
      for (const auto &r : *relocations) refer(from, r.getSymbol(false));
    } else {
      auto relocations = elf->rels(section);
      if (!relocations) return relocations.takeError();
      for (const auto &r : *relocations) refer(from, r.getSymbol(false));
    }
  }
  if (callgraph) {
    auto contents = elf->getSectionContents((*sections)[callgraph]);
    if (!contents) return contents.takeError();
    for (size_t at = 0; at + 8 <= contents->size(); at += 8) {
      uint32_t caller = read32le(contents->data() + at);
      if (caller < functionOfSymbol.size()) refer(functionOfSymbol[caller], read32le(contents->data() + at + 4));
    }
  }

  // By name.
  std::vector<uint32_t> order(functions.size()), place(functions.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  llvm::sort(order, [&](uint32_t a, uint32_t b) { return functions[a].name < functions[b].name; });
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<DeviceFunction> sorted;
  for (uint32_t i : order) {
    DeviceFunction &f = functions[i];
    for (uint32_t &r : f.references) r = place[r];
    llvm::sort(f.references);
    f.references.erase(std::unique(f.references.begin(), f.references.end()), f.references.end());
    sorted.push_back(std::move(f));
  }
  return sorted;
}

} // namespace coppice
