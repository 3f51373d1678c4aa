// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/split_object.h"
#include "linker/split_plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::ELF;

namespace coppice {
namespace {

/// Relocations are changed where they are; behind the object's bytes come a symbol table, the relocations of the pieces
/// and section headers.
class Writer {
public:
  Writer(const ObjectFile &original, const ObjectFile &edited, const SplitPlan &plan)
      : original(original), edited(edited), plan(plan), oldSections(uint32_t(edited.sections().size())),
        added(uint32_t(plan.pieces.size())), relocations(plan.pieces.size()), bytes(edited.bytes()) {}

  std::unique_ptr<WritableMemoryBuffer> write(StringRef name) {
    headers.resize(oldSections);
    memcpy(headers.data(), edited.sections().data(), oldSections * sizeof(Elf64_Shdr));
    changeRelocations();
    addPieceRelocations();
    addSections();
    writeSymbols();
    for (Elf64_Shdr &header : headers) {
      if (header.sh_type == SHT_GROUP && header.sh_info >= edited.firstGlobal()) header.sh_info += added;
      if (header.sh_type == SHT_LLVM_ADDRSIG) header.sh_link = 0; // lld: its indices do not hold, all addresses count
    }
    return layOut(name);
  }

private:
  uint32_t pieceSection(uint32_t piece) const { return oldSections + piece; }
  uint32_t pieceSymbol(uint32_t piece) const { return edited.firstGlobal() + piece; }
  uint32_t newSymbol(uint32_t symbol) const { return symbol < edited.firstGlobal() ? symbol : symbol + added; }

  void changeRelocations() {
    for (uint32_t h = 1; h < oldSections; ++h) {
      if (headers[h].sh_type != SHT_RELA) continue;
      uint32_t from = headers[h].sh_info;
      auto table = edited.relocations(from);
      if (table.empty()) continue;
      bool isSplit = plan.isSplit(from);
      std::vector<Elf64_Rela> changed(table.size());
      memcpy(changed.data(), table.data(), table.size() * sizeof(Elf64_Rela));
      for (Elf64_Rela &r : changed) r.setSymbolAndType(newSymbol(r.getSymbol()), r.getType());
      for (const SplitPlan::Change &c : plan.changes[from]) change(from, c, table[c.relocation], changed[c.relocation]);
      if (!isSplit) {
        put(headers[h].sh_offset, changed.data(), changed.size() * sizeof(Elf64_Rela));
        continue;
      }
      for (Elf64_Rela r : changed) {
        auto piece = plan.pieceAt(from, r.r_offset);
        if (!piece) continue; // of a dead function
        r.r_offset -= plan.pieces[*piece].begin;
        relocations[*piece].push_back(r);
      }
      headers[h].sh_size = 0;
      relocationsOf = h;
    }
  }

  void change(uint32_t from, const SplitPlan::Change &c, const ObjectFile::Relocation &now, Elf64_Rela &r) {
    const ObjectFile::Relocation &old = original.relocations(from)[c.relocation];
    // Another edit came first.
    if (old.r_info != now.r_info || old.r_addend != now.r_addend) return;
    r.r_addend += int64_t(original.symbols()[old.getSymbol(false)].st_value - plan.pieces[c.piece].begin);
    r.setSymbolAndType(pieceSymbol(c.piece), r.getType());
  }

  void addPieceRelocations() {
    for (const SplitPlan::Addition &a : plan.additions) {
      Elf64_Rela r = {};
      r.r_offset = a.offset - plan.pieces[a.piece].begin;
      r.setSymbolAndType(pieceSymbol(a.target), a.isJump ? R_X86_64_PLT32 : R_X86_64_PC32);
      r.r_addend = a.addend;
      relocations[a.piece].push_back(r);
    }
    for (auto &list : relocations)
      llvm::stable_sort(list, [](const Elf64_Rela &a, const Elf64_Rela &b) { return a.r_offset < b.r_offset; });
  }

  // No function is less aligned than it was.
  void addSections() {
    uint32_t symtab = symbolTable();
    for (const SplitPlan::Piece &piece : plan.pieces) {
      Elf64_Shdr header = headers[piece.section];
      header.sh_offset += piece.begin;
      header.sh_size = piece.end - piece.begin;
      if (piece.begin) header.sh_addralign = MinAlign(std::max<uint64_t>(header.sh_addralign, 1), piece.begin);
      headers.push_back(header);
    }
    for (uint32_t i = 0; i < added; ++i) {
      if (relocations[i].empty()) continue;
      Elf64_Shdr header = {};
      header.sh_name = headers[relocationsOf].sh_name;
      header.sh_type = SHT_RELA;
      header.sh_flags = SHF_INFO_LINK;
      header.sh_link = symtab;
      header.sh_info = pieceSection(i);
      header.sh_addralign = 8;
      header.sh_entsize = sizeof(Elf64_Rela);
      append(header, relocations[i].data(), relocations[i].size() * sizeof(Elf64_Rela), 8);
      headers.push_back(header);
    }
  }

  uint32_t symbolTable() const {
    for (uint32_t i = 1; i < oldSections; ++i)
      if (headers[i].sh_type == SHT_SYMTAB) return i;
    return 0;
  }

  void writeSymbols() {
    auto old = edited.symbols();
    std::vector<Elf64_Sym> symbols;
    std::vector<uint32_t> indices;
    symbols.reserve(old.size() + added);
    indices.reserve(old.size() + added);
    bool needsIndices = false;
    auto place = [&](Elf64_Sym &s, uint32_t section) {
      bool isLarge = section >= SHN_LORESERVE;
      s.st_shndx = uint16_t(isLarge ? unsigned(SHN_XINDEX) : section);
      indices.back() = isLarge ? section : 0;
      needsIndices |= isLarge;
    };
    auto addPieces = [&] {
      for (uint32_t i = 0; i < added; ++i) {
        symbols.push_back({});
        indices.push_back(0);
        symbols.back().setBindingAndType(STB_LOCAL, STT_SECTION);
        place(symbols.back(), pieceSection(i));
      }
    };
    for (uint32_t i = 0; i < old.size(); ++i) {
      if (i == edited.firstGlobal()) addPieces();
      symbols.emplace_back();
      memcpy(&symbols.back(), &old[i], sizeof(Elf64_Sym));
      indices.push_back(0);
      uint32_t section = edited.sectionOf(i);
      if (!section) continue;
      if (old[i].getType() != STT_SECTION && plan.isSplit(section))
        if (auto piece = plan.pieceAt(section, old[i].st_value)) {
          symbols.back().st_value -= plan.pieces[*piece].begin;
          section = pieceSection(*piece);
        }
      place(symbols.back(), section);
    }
    if (edited.firstGlobal() >= old.size()) addPieces();
    uint32_t symtab = symbolTable();
    append(headers[symtab], symbols.data(), symbols.size() * sizeof(Elf64_Sym), 8);
    headers[symtab].sh_info = edited.firstGlobal() + added;
    auto shndx = find_if(headers, [](const Elf64_Shdr &h) { return h.sh_type == SHT_SYMTAB_SHNDX; });
    if (shndx == headers.end()) {
      if (!needsIndices) return;
      headers.push_back({});
      shndx = std::prev(headers.end());
      shndx->sh_type = SHT_SYMTAB_SHNDX;
      shndx->sh_link = symtab;
      shndx->sh_addralign = shndx->sh_entsize = 4;
    }
    append(*shndx, indices.data(), indices.size() * 4, 4);
  }

  void append(Elf64_Shdr &header, const void *data, size_t size, uint64_t alignment) {
    end = alignTo(end, alignment);
    header.sh_offset = end;
    header.sh_size = size;
    put(end, data, size);
    end += size;
  }

  void put(uint64_t offset, const void *data, size_t size) {
    written.push_back({offset, std::string(static_cast<const char *>(data), size)});
  }

  std::unique_ptr<WritableMemoryBuffer> layOut(StringRef name) {
    uint64_t headersAt = alignTo(end, 8);
    auto buffer = WritableMemoryBuffer::getNewMemBuffer(headersAt + headers.size() * sizeof(Elf64_Shdr), name);
    if (!buffer) return nullptr;
    char *out = buffer->getBufferStart();
    memcpy(out, bytes.data(), bytes.size());
    for (const auto &[offset, data] : written) std::copy(data.begin(), data.end(), out + offset);
    Elf64_Ehdr header;
    memcpy(&header, out, sizeof header);
    header.e_shoff = headersAt;
    if (header.e_shnum == 0 || headers.size() >= SHN_LORESERVE) { // the null section's header holds the number
      header.e_shnum = 0;
      headers[0].sh_size = headers.size();
    } else {
      header.e_shnum = uint16_t(headers.size());
    }
    memcpy(out, &header, sizeof header);
    memcpy(out + headersAt, headers.data(), headers.size() * sizeof(Elf64_Shdr));
    return buffer;
  }

  const ObjectFile &original, &edited;
  const SplitPlan &plan;
  uint32_t oldSections, added, relocationsOf = 0;
  std::vector<Elf64_Shdr> headers;
  std::vector<std::vector<Elf64_Rela>> relocations; // of each piece
  StringRef bytes;
  std::vector<std::pair<uint64_t, std::string>> written;
  uint64_t end = bytes.size();
};

} // namespace

Expected<SplitObject> splitObject(const ObjectFile &original, const ObjectFile &edited,
                                  ArrayRef<SectionFunctions> sections, ArrayRef<char> isLive, StringRef name) {
  SplitPlan plan = planSplit(original, sections, isLive);
  SplitObject result;
  result.notSplit = std::move(plan.notSplit);
  if (plan.pieces.empty()) return result;
  result.object = Writer(original, edited, plan).write(name);
  if (!result.object) return createStringError("out of memory");
  return result;
}

} // namespace coppice
