// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/object_symbols.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/LTO/LTO.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace llvm::object;

namespace coppice {
namespace {

using Elf = ELF64LE;

Expected<ELFFile<Elf>> openElf(MemoryBufferRef object) {
  StringRef data = object.getBuffer();
  if (data.size() < sizeof(Elf::Ehdr)) return createStringError("truncated: an ELF header has 64 bytes");
  if (data[ELF::EI_CLASS] != ELF::ELFCLASS64) return createStringError("not a 64-bit object");
  if (data[ELF::EI_DATA] != ELF::ELFDATA2LSB) return createStringError("not a little-endian object");
  Expected<ELFFile<Elf>> file = ELFFile<Elf>::create(data);
  if (!file) return file.takeError();
  if (file->getHeader().e_machine != ELF::EM_X86_64)
    return createStringError("for another machine (e_machine %u, x86-64 is %u)", unsigned(file->getHeader().e_machine),
                             unsigned(ELF::EM_X86_64));
  return file;
}

const Elf::Shdr *findSection(Elf::ShdrRange sections, unsigned type) {
  for (const Elf::Shdr &s : sections)
    if (s.sh_type == type) return &s;
  return nullptr;
}

struct ElfSymbols {
  Elf::ShdrRange sections;
  const Elf::Shdr *table = nullptr;
  Elf::SymRange symbols;
  StringRef names;
};

// `type` SHT_DYNSYM: of a finished program or library those that others see; in an object there is but one table.
Expected<ElfSymbols> elfSymbols(const ELFFile<Elf> &file, unsigned type = ELF::SHT_DYNSYM) {
  ElfSymbols result;
  auto sections = file.sections();
  if (!sections) return sections.takeError();
  result.sections = *sections;
  // A table of zeros or of random bytes would be an object without symbols.
  if (auto sectionNames = file.getSectionStringTable(*sections); !sectionNames) return sectionNames.takeError();
  result.table = findSection(*sections, file.getHeader().e_type == ELF::ET_DYN ? type : unsigned(ELF::SHT_SYMTAB));
  if (!result.table) return result;
  auto symbols = file.symbols(result.table);
  if (!symbols) return symbols.takeError();
  result.symbols = *symbols;
  auto names = file.getStringTableForSymtab(*result.table, *sections);
  if (!names) return names.takeError();
  result.names = *names;
  return result;
}

// The bytes of a constant as they will stand in memory; pointers are left zero.
void flatten(const Constant *c, const DataLayout &layout, MutableArrayRef<char> out) {
  if (c->isNullValue() || isa<UndefValue>(c)) return;
  if (auto *data = dyn_cast<ConstantDataSequential>(c)) {
    StringRef raw = data->getRawDataValues(); // host order, which is little-endian here as there
    std::copy_n(raw.begin(), std::min(raw.size(), out.size()), out.begin());
  } else if (auto *value = dyn_cast<ConstantInt>(c)) {
    APInt v = value->getValue();
    for (size_t i = 0, n = std::min<size_t>((v.getBitWidth() + 7) / 8, out.size()); i < n; ++i)
      out[i] = char(v.extractBitsAsZExtValue(std::min<unsigned>(8, v.getBitWidth() - i * 8), i * 8));
  } else if (auto *aggregate = dyn_cast<ConstantAggregate>(c)) {
    auto *type = dyn_cast<StructType>(c->getType());
    for (unsigned i = 0; i < aggregate->getNumOperands(); ++i) {
      const Constant *element = aggregate->getOperand(i);
      uint64_t size = layout.getTypeAllocSize(element->getType());
      uint64_t offset = type ? layout.getStructLayout(type)->getElementOffset(i).getFixedValue() : i * size;
      if (offset + size <= out.size()) flatten(element, layout, out.slice(offset, size));
    }
  }
}

Expected<std::vector<DataSymbol>> readBitcodeData(MemoryBufferRef object, function_ref<bool(StringRef)> wanted) {
  // Functions are left alone: a variable has its initial value without them.
  LLVMContext context;
  auto module = getLazyBitcodeModule(object, context, /*ShouldLazyLoadMetadata=*/true);
  if (!module) return module.takeError();
  std::vector<DataSymbol> result;
  for (const GlobalVariable &variable : (*module)->globals()) {
    StringRef name = GlobalValue::dropLLVMManglingEscape(variable.getName());
    if (!wanted(name)) continue;
    DataSymbol symbol;
    symbol.name = name.str();
    symbol.defined = variable.hasInitializer();
    if (symbol.defined) {
      const DataLayout &layout = (*module)->getDataLayout();
      symbol.bytes.resize(layout.getTypeAllocSize(variable.getValueType()));
      flatten(variable.getInitializer(), layout, symbol.bytes);
    }
    result.push_back(std::move(symbol));
  }
  return result;
}

// gcc leaves one common symbol; the names of the others stand in sections of its own (.gnu.lto_.symtab).
bool isSlimLto(StringRef symbolNames) { return symbolNames.size() < 4096 && symbolNames.contains("__gnu_lto_slim"); }

bool isBitcode(MemoryBufferRef object) { return identify_magic(object.getBuffer()) == file_magic::bitcode; }

} // namespace

Expected<std::vector<ObjectSymbol>> readObjectSymbols(MemoryBufferRef object, StringSaver &saver) {
  std::vector<ObjectSymbol> result;
  if (isBitcode(object)) {
    auto file = lto::InputFile::create(object);
    if (!file) return file.takeError();
    for (const auto &s : (*file)->symbols())
      if (s.isGlobal() || s.isUndefined())
        result.push_back({saver.save(s.getName()), s.isUndefined(), s.isWeak(), s.isCommon()});
    return result;
  }
  auto file = openElf(object);
  if (!file) return file.takeError();
  auto elf = elfSymbols(*file);
  if (!elf) return elf.takeError();
  if (!elf->table) return result;
  size_t first = std::min<size_t>(elf->table->sh_info, elf->symbols.size());
  result.reserve(elf->symbols.size() - first);
  // What a shared library defines under an old version only (foo@V, not foo@@V) is not to be linked with by its name.
  ArrayRef<Elf::Versym> versions;
  if (const Elf::Shdr *table = findSection(elf->sections, ELF::SHT_GNU_versym)) {
    auto list = file->getSectionContentsAsArray<Elf::Versym>(*table);
    if (!list) return list.takeError();
    versions = *list;
  }
  for (const Elf::Sym &s : ArrayRef(elf->symbols).drop_front(first)) {
    auto name = s.getName(elf->names);
    if (!name) return name.takeError();
    size_t index = size_t(&s - elf->symbols.begin());
    if (!s.isUndefined() && index < versions.size() &&
        ((versions[index].vs_index & ELF::VERSYM_HIDDEN) ||
         (versions[index].vs_index & ELF::VERSYM_VERSION) == ELF::VER_NDX_LOCAL))
      continue;
    if (!name->empty()) result.push_back({*name, s.isUndefined(), s.getBinding() == ELF::STB_WEAK, s.isCommon()});
  }
  return result;
}

Expected<std::vector<DataSymbol>> readDataSymbols(MemoryBufferRef object, function_ref<bool(StringRef)> wanted) {
  if (isBitcode(object)) return readBitcodeData(object, wanted);
  auto file = openElf(object);
  if (!file) return file.takeError();
  auto elf = elfSymbols(*file, ELF::SHT_SYMTAB);
  if (!elf) return elf.takeError();
  std::vector<DataSymbol> result;
  for (const Elf::Sym &s : elf->symbols) {
    auto name = s.getName(elf->names);
    if (!name) return name.takeError();
    if (name->empty() || s.getType() == ELF::STT_SECTION || !wanted(*name)) continue;
    DataSymbol symbol;
    symbol.name = name->str();
    symbol.defined = s.isDefined();
    result.push_back(symbol);
    if (!symbol.defined || s.isReserved()) continue;
    DataSymbol &added = result.back();
    auto section = file->getSection(s.st_shndx);
    if (!section) return section.takeError();
    auto contents = file->getSectionContents(**section);
    if (!contents) return contents.takeError();
    // In a finished program a value is an address, in an object an offset into the section.
    uint64_t base = file->getHeader().e_type == ELF::ET_REL ? 0 : (*section)->sh_addr;
    if (s.st_value < base || s.st_value - base > contents->size() || s.st_size > contents->size() - (s.st_value - base))
      return createStringError("symbol " + *name + " lies outside its section");
    uint64_t start = s.st_value - base;
    added.bytes.assign(reinterpret_cast<const char *>(contents->data()) + start, s.st_size);

    for (const Elf::Shdr &r : elf->sections) {
      if (r.sh_type != ELF::SHT_RELA || r.sh_info != s.st_shndx) continue;
      auto relocations = file->relas(r);
      if (!relocations) return relocations.takeError();
      for (const Elf::Rela &rela : *relocations) {
        if (rela.r_offset < start || rela.r_offset >= start + s.st_size) continue;
        auto target = file->getRelocationSymbol(rela, elf->table);
        if (!target) return target.takeError();
        if (!*target || !(*target)->isDefined() || (*target)->isReserved()) break;
        auto targetSection = file->getSection((*target)->st_shndx);
        if (!targetSection) return targetSection.takeError();
        auto sectionName = file->getSectionName(**targetSection);
        if (!sectionName) return sectionName.takeError();
        added.pointerOffset = rela.r_offset - start;
        added.pointsAtSection = sectionName->str();
        added.pointsAtIndex = (*target)->st_shndx;
        added.pointsAtOffset = (*target)->st_value + rela.r_addend;
        break;
      }
    }
  }
  return result;
}

bool mentionsSymbol(MemoryBufferRef file, StringRef text) {
  StringRef data = file.getBuffer();
  switch (identify_magic(data)) {
  case file_magic::bitcode:
    return data.contains(text); // names lie in its string table, byte-aligned
  case file_magic::archive: {
    auto archive = Archive::create(file);
    if (!archive) {
      consumeError(archive.takeError());
      return false; // lld says what is wrong with it
    }
    if ((*archive)->isEmpty()) return false;
    return ((*archive)->hasSymbolTable() ? (*archive)->getSymbolTable() : data).contains(text);
  }
  case file_magic::elf_relocatable: {
    auto elf = openElf(file);
    if (elf) {
      auto symbols = elfSymbols(*elf);
      if (symbols) return (isSlimLto(symbols->names) ? data : symbols->names).contains(text);
      consumeError(symbols.takeError());
    } else {
      consumeError(elf.takeError());
    }
    return false;
  }
  default:
    return false;
  }
}

bool isSlimLto(MemoryBufferRef object) {
  if (identify_magic(object.getBuffer()) != file_magic::elf_relocatable) return false;
  auto elf = openElf(object);
  if (elf) {
    auto symbols = elfSymbols(*elf);
    if (symbols) return isSlimLto(symbols->names);
    consumeError(symbols.takeError());
  } else {
    consumeError(elf.takeError());
  }
  return false;
}

} // namespace coppice
