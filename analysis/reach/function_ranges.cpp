// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/function_ranges.h"
#include "analysis/reach/decode_x86_64.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include <numeric>

using namespace llvm;

namespace coppice {

const FunctionRange *SectionRanges::at(uint64_t offset) const {
  auto after = partition_point(ranges, [&](const FunctionRange &r) { return r.begin <= offset; });
  if (after == ranges.begin() || offset >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

FunctionSymbols::FunctionSymbols(const ObjectFile &object) : first(object.sections().size() + 1) {
  auto sectionOf = [&](uint32_t symbol) -> uint32_t { // 0: not of interest
    const ObjectFile::Symbol &s = object.symbols()[symbol];
    bool isFunction = s.getType() == ELF::STT_FUNC || s.getType() == ELF::STT_GNU_IFUNC;
    if (!isFunction && (s.getType() != ELF::STT_OBJECT || s.st_size == 0)) return 0;
    uint32_t section = object.sectionOf(symbol);
    return object.sections()[section].sh_flags & ELF::SHF_EXECINSTR ? section : 0;
  };
  for (uint32_t i = 1; i < object.symbols().size(); ++i)
    if (uint32_t section = sectionOf(i)) ++first[section + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  symbols.resize(first.back());
  std::vector<uint32_t> next(first);
  for (uint32_t i = 1; i < object.symbols().size(); ++i)
    if (uint32_t section = sectionOf(i)) symbols[next[section]++] = i;
  for (size_t i = 0; i + 1 < first.size(); ++i)
    std::stable_sort(symbols.begin() + first[i], symbols.begin() + first[i + 1], [&](uint32_t a, uint32_t b) {
      return object.symbols()[a].st_value < object.symbols()[b].st_value;
    });
}

std::vector<uint32_t> relocationsByOffset(const ObjectFile &object, uint32_t section) {
  ArrayRef<ObjectFile::Relocation> relocations = object.relocations(section);
  std::vector<uint32_t> order(relocations.size());
  std::iota(order.begin(), order.end(), 0);
  auto before = [&](uint32_t a, uint32_t b) { return relocations[a].r_offset < relocations[b].r_offset; };
  if (!is_sorted(order, before)) std::stable_sort(order.begin(), order.end(), before); // they nearly always are
  return order;
}

namespace {
class Splitter {
public:
  Splitter(const ObjectFile &object, uint32_t section, Decoder &decoder, ArrayRef<uint32_t> symbols)
      : object(object), section(section), decoder(decoder), symbols(symbols), code(object.contents(section)) {
    result.fieldToEnd.assign(object.relocations(section).size(), 4);
  }

  SectionRanges run() {
    if (!makeRanges() || !decodeAll() || !resolve()) {
      result.ranges.clear();
      result.instructionStarts.clear();
    }
    return std::move(result);
  }

private:
  bool keepWhole(const Twine &why, uint64_t offset) {
    result.keptWhole = (why + " at +0x" + utohexstr(offset, /*LowerCase=*/true)).str();
    return false;
  }

  /// False: the section is one node.
  bool makeRanges() {
    if (code.size() > UINT32_MAX) return keepWhole("more than 4 GiB of code", 0);
    for (uint32_t index : symbols) {
      const ObjectFile::Symbol &s = object.symbols()[index];
      if (s.getType() == ELF::STT_OBJECT) return keepWhole("data", s.st_value);
      if (s.st_size == 0) return keepWhole("a function without a size", s.st_value);
      if (s.st_value > code.size() || s.st_size > code.size() - s.st_value)
        return keepWhole("a function that leaves the section", s.st_value);
      uint64_t end = s.st_value + s.st_size;
      if (!result.ranges.empty() && s.st_value < result.ranges.back().end)
        result.ranges.back().end = std::max(result.ranges.back().end, end);
      else
        result.ranges.push_back({s.st_value, end, {}, {}, false});
    }
    return result.ranges.size() > 1;
  }

  bool decodeAll() {
    std::vector<uint32_t> order = relocationsByOffset(object, section);
    OrderedRelocations relocations{object.relocations(section), order};
    ArrayRef<uint32_t> inside = symbols; // all are of a range; those of functions that overlap are in its middle
    result.instructionStarts.resize(unsigned(code.size()));
    uint64_t at = 0;
    for (FunctionRange &range : result.ranges) {
      if (!isPadding(at, range.begin, relocations)) return keepWhole("code outside of functions", at);
      auto decoded = decoder.decode(code, range.begin, range.end, relocations, result.fieldToEnd);
      if (!decoded) {
        result.keptWhole = toString(decoded.takeError());
        return false;
      }
      for (uint64_t start : decoded->instructions) result.instructionStarts.set(unsigned(start));
      for (; !inside.empty() && object.symbols()[inside.front()].st_value < range.end; inside = inside.drop_front())
        decoded->references.push_back({object.symbols()[inside.front()].st_value, /*isJump=*/true});
      for (const CodeReference &r : decoded->references) {
        if (r.target < range.begin || r.target >= range.end) {
          range.references.push_back(r.target);
          if (r.target != range.end || (&range != &result.ranges.back() && r.target == (&range + 1)->begin))
            range.fields.push_back({r.field, r.target, r.fieldSize, r.fieldToEnd, r.isJump});
        } else if (r.isJump &&
                   !std::binary_search(decoded->instructions.begin(), decoded->instructions.end(), r.target)) {
          return keepWhole("a jump into an instruction", r.target);
        }
      }
      range.fallsThrough = decoded->fallsThrough && &range != &result.ranges.back();
      if (range.fallsThrough) range.references.push_back((&range + 1)->begin);
      at = range.end;
    }
    return isPadding(at, code.size(), relocations) || keepWhole("code outside of functions", at);
  }

  bool isPadding(uint64_t begin, uint64_t end, const OrderedRelocations &relocations) {
    if (begin == end) return true;
    auto next = relocations.from(begin);
    if (next != relocations.order.end() && relocations.table[*next].r_offset < end) return false;
    return decoder.isPadding(code.slice(begin, end - begin));
  }

  bool resolve() {
    for (FunctionRange &range : result.ranges) {
      llvm::sort(range.references);
      range.references.erase(llvm::unique(range.references), range.references.end());
      for (uint64_t target : range.references)
        // clang -O0 jumps to an empty unreachable block at the end.
        if (!result.at(target) && target != range.end) return keepWhole("a reference to no function", target);
      llvm::erase_if(range.references, [&](uint64_t target) { return !result.at(target); });
    }
    return true;
  }

  const ObjectFile &object;
  uint32_t section;
  Decoder &decoder;
  ArrayRef<uint32_t> symbols;
  ArrayRef<uint8_t> code;
  SectionRanges result;
};
} // namespace

SectionRanges splitIntoFunctions(const ObjectFile &object, uint32_t section, Decoder &decoder,
                                 ArrayRef<uint32_t> symbols) {
  return Splitter(object, section, decoder, symbols).run();
}

} // namespace coppice
