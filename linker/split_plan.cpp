// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/split_plan.h"
#include "analysis/reach/relative_tables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace llvm;
using namespace llvm::ELF;

namespace coppice {

std::optional<uint32_t> SplitPlan::pieceAt(uint32_t section, uint64_t offset) const {
  auto after = partition_point(
      pieces, [&](const Piece &p) { return std::pair(p.section, p.begin) <= std::pair(section, offset); });
  if (after == pieces.begin() || std::prev(after)->section != section || offset >= std::prev(after)->end)
    return std::nullopt;
  return uint32_t(std::prev(after) - pieces.begin());
}

bool SplitPlan::isSplit(uint32_t section) const {
  auto at = partition_point(pieces, [&](const Piece &p) { return p.section < section; });
  return at != pieces.end() && at->section == section;
}

namespace {

class Planner {
public:
  Planner(const ObjectFile &object, ArrayRef<SectionFunctions> sections, ArrayRef<char> isLive)
      : object(object), sections(sections), isLive(isLive), functionsOf(object.sections().size()),
        refused(object.sections().size()) {
    plan.changes.resize(object.sections().size());
  }

  SplitPlan run() {
    for (const SectionFunctions &s : sections)
      if (s.functions && s.keep.size() == s.functions->ranges.size()) functionsOf[s.section] = &s;
    if (!object.hasValidRelocations() || !findBoundSections()) return std::move(plan);
    for (const SectionFunctions &s : sections)
      if (s.split && functionsOf[s.section] && canSplit(s)) makePieces(s);
    llvm::sort(plan.pieces, [](const SplitPlan::Piece &a, const SplitPlan::Piece &b) {
      return std::pair(a.section, a.begin) < std::pair(b.section, b.begin);
    });
    for (const SectionFunctions &s : sections)
      if (plan.isSplit(s.section)) addRelocations(s);
    checkSymbols();
    for (uint32_t from = 1; from < object.sections().size(); ++from) changeRelocations(from);
    dropRefused();
    return std::move(plan);
  }

private:
  enum class Place { Outside, Dead, Piece };
  struct Found {
    Place place = Place::Outside;
    uint32_t piece = 0;
  };
  /// Where something refers to data.
  struct Base {
    uint64_t offset;
    uint32_t section;           // that refers to it; 0: other objects may
    const FunctionRange *range; // in it
  };

  void refuse(uint32_t section, const Twine &why, uint32_t from, uint64_t offset) {
    if (refused[section]) return;
    refused[section] = true;
    plan.notSplit.push_back(("(" + object.sectionName(section) + "): " + why + " at " + object.sectionName(from) +
                             "+0x" + utohexstr(offset, /*LowerCase=*/true))
                                .str());
  }

  // Sections that live and die with others. False: the object has relocations in a form that we do not write.
  bool findBoundSections() {
    isBound.resize(object.sections().size());
    for (uint32_t i = 1; i < object.sections().size(); ++i) {
      const ObjectFile::Section &s = object.sections()[i];
      if (s.sh_type == SHT_CREL || object.opaqueRelocations(i)) return false;
      if (s.sh_flags & SHF_GROUP) isBound[i] = true;
      if ((s.sh_flags & SHF_LINK_ORDER) && s.sh_link < isBound.size()) isBound[s.sh_link] = true;
      if (s.sh_type != SHT_GROUP) continue;
      ArrayRef<uint8_t> bytes = object.contents(i);
      for (size_t at = 4; at + 4 <= bytes.size(); at += 4)
        if (uint32_t member = support::endian::read32le(bytes.data() + at); member < isBound.size())
          isBound[member] = true;
    }
    return true;
  }

  // Sections in groups hold one function as a rule; other kinds have a meaning that is not ours to change.
  bool canSplit(const SectionFunctions &s) {
    const ObjectFile::Section &header = object.sections()[s.section];
    StringRef name = object.sectionName(s.section);
    if (header.sh_type != SHT_PROGBITS || header.sh_flags != (SHF_ALLOC | SHF_EXECINSTR) || isBound[s.section] ||
        (name != ".text" && !name.starts_with(".text.")) || !isPowerOf2_64(std::max<uint64_t>(header.sh_addralign, 1)))
      return false;
    return true;
  }

  void makePieces(const SectionFunctions &s) {
    ArrayRef<FunctionRange> ranges = s.functions->ranges;
    auto indexOf = [&](uint64_t offset) -> std::optional<size_t> {
      const FunctionRange *range = s.functions->at(offset);
      if (!range) return std::nullopt;
      return size_t(range - ranges.data());
    };
    std::vector<char> joined(ranges.size()); // with the next one
    auto join = [&](size_t a, size_t b) {
      for (size_t i = std::min(a, b); i < std::max(a, b); ++i) joined[i] = true;
    };
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (s.keep[i] != SectionFunctions::Live) continue;
      if (ranges[i].fallsThrough && i + 1 < ranges.size()) join(i, i + 1);
      for (const LocalReference &r : ranges[i].fields) {
        if (r.fieldSize == 4) continue;
        std::optional<size_t> target = indexOf(r.target);
        if (r.fieldSize != 1 || !target) return refuse(s.section, "an unclear operand", s.section, r.field);
        join(i, *target);
      }
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
      size_t last = i;
      bool kept = s.keep[i] != SectionFunctions::Dead;
      for (; joined[last]; ++last) kept |= s.keep[last + 1] != SectionFunctions::Dead;
      if (kept) plan.pieces.push_back({s.section, ranges[i].begin, ranges[last].end});
      i = last;
    }
  }

  Found find(uint32_t section, uint64_t offset) const {
    if (auto piece = plan.pieceAt(section, offset)) return {Place::Piece, *piece};
    return {functionsOf[section]->functions->at(offset) ? Place::Dead : Place::Outside, 0};
  }

  void addRelocations(const SectionFunctions &s) {
    for (size_t i = 0; i < s.keep.size(); ++i) {
      if (s.keep[i] != SectionFunctions::Live) continue;
      const FunctionRange &range = s.functions->ranges[i];
      uint32_t own = find(s.section, range.begin).piece;
      for (const LocalReference &r : range.fields) {
        Found to = find(s.section, r.target);
        if (to.place != Place::Piece) return refuse(s.section, "a reference to what is dead", s.section, r.field);
        if (to.piece != own)
          plan.additions.push_back(
              {own, to.piece, r.field, int64_t(r.target - plan.pieces[to.piece].begin) - r.fieldToEnd, r.isJump});
      }
    }
  }

  void checkSymbols() {
    for (uint32_t i = object.firstGlobal(); i < object.symbols().size(); ++i)
      if (uint32_t section = object.sectionOf(i); section && plan.isSplit(section))
        if (find(section, object.symbols()[i].st_value).place == Place::Outside)
          refuse(section, "a symbol outside of functions", section, object.symbols()[i].st_value);
  }

  bool isEhFrame(uint32_t section) const {
    return object.sections()[section].sh_type == SHT_X86_64_UNWIND || object.sectionName(section) == ".eh_frame";
  }

  void changeRelocations(uint32_t from) {
    auto relocations = object.relocations(from);
    const ObjectFile::Section &header = object.sections()[from];
    bool isAlloc = header.sh_flags & SHF_ALLOC;
    if (relocations.empty() || (isAlloc && !isLive[from] && !isEhFrame(from))) return;
    for (uint32_t i = 0; i < relocations.size(); ++i) {
      uint32_t symbol = relocations[i].getSymbol(false);
      uint32_t section = symbol ? object.sectionOf(symbol) : 0;
      if (!section || symbol >= object.firstGlobal() || !plan.isSplit(section) || refused[section]) continue;
      if (relocations[i].getType(false) == R_X86_64_NONE) continue;
      if (object.symbols()[symbol].getType() != STT_SECTION)
        checkNamed(from, i, section);
      else if (!isAlloc)
        changeDebug(from, i, section);
      else if (isEhFrame(from))
        changeUnwind(from, i, section);
      else if (header.sh_flags & SHF_EXECINSTR)
        changeCode(from, i, section);
      else
        changeData(from, i, section);
    }
  }

  uint64_t plainTarget(uint32_t from, uint32_t relocation) const {
    const ObjectFile::Relocation &r = object.relocations(from)[relocation];
    return object.symbols()[r.getSymbol(false)].st_value + uint64_t(r.r_addend);
  }

  static bool isPc32(uint32_t type) { return type == R_X86_64_PC32 || type == R_X86_64_PLT32; }
  static bool isAbsolute(uint32_t type) { return type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S; }

  // Relocations of functions that are dead go with them.
  bool isDeadCode(uint32_t from, uint64_t offset) const {
    const SectionFunctions *functions = functionsOf[from];
    if (!functions || !isLive[from]) return !isLive[from];
    const FunctionRange *range = functions->functions->at(offset);
    return range && functions->keep[range - functions->functions->ranges.data()] != SectionFunctions::Live;
  }

  std::optional<unsigned> knownFieldToEnd(uint32_t from, uint32_t relocation) const {
    const SectionFunctions *functions = functionsOf[from];
    if (!functions || relocation >= functions->functions->fieldToEnd.size()) return std::nullopt;
    return functions->functions->fieldToEnd[relocation];
  }

  void change(uint32_t from, uint32_t relocation, uint32_t section, uint64_t target) {
    Found to = find(section, target);
    if (to.place == Place::Piece)
      plan.changes[from].push_back({relocation, to.piece});
    else
      refuse(section, to.place == Place::Dead ? "a reference to what is dead" : "a reference to no function", from,
             object.relocations(from)[relocation].r_offset);
  }

  // Through a symbol of a function: it moves, and the reference with it. It must not mean another function.
  void checkNamed(uint32_t from, uint32_t relocation, uint32_t section) {
    const ObjectFile::Relocation &r = object.relocations(from)[relocation];
    const ObjectFile::Section &header = object.sections()[from];
    if (!(header.sh_flags & SHF_ALLOC) || isEhFrame(from)) return;
    bool isCode = header.sh_flags & SHF_EXECINSTR;
    if (isCode && isDeadCode(from, r.r_offset)) return;
    uint64_t value = object.symbols()[r.getSymbol(false)].st_value;
    Found symbol = find(section, value);
    if (symbol.place != Place::Piece) return refuse(section, "a reference to what is dead", from, r.r_offset);
    uint64_t target = plainTarget(from, relocation);
    if (isPc32(r.getType(false))) {
      if (!isCode) return; // the addend holds a distance to the begin of a table as well
      target += knownFieldToEnd(from, relocation).value_or(4);
    } else if (!isAbsolute(r.getType(false))) {
      return;
    }
    const SplitPlan::Piece &piece = plan.pieces[symbol.piece];
    if (target < piece.begin || target > piece.end)
      refuse(section, "a reference that leaves its symbol", from, r.r_offset);
  }

  void changeDebug(uint32_t from, uint32_t relocation, uint32_t section) {
    if (!isAbsolute(object.relocations(from)[relocation].getType(false))) return;
    Found to = find(section, plainTarget(from, relocation));
    if (to.place == Place::Piece) plan.changes[from].push_back({relocation, to.piece});
  }

  // A field here is relative to itself. What describes a dead function goes on referring to the old section, and lld
  // leaves it out with that.
  void changeUnwind(uint32_t from, uint32_t relocation, uint32_t section) {
    const ObjectFile::Relocation &r = object.relocations(from)[relocation];
    bool is64 = r.getType(false) == R_X86_64_64 || r.getType(false) == R_X86_64_PC64;
    if (!is64 && !isPc32(r.getType(false)) && r.getType(false) != R_X86_64_32)
      return refuse(section, "a relocation of unwind information that is not known", from, r.r_offset);
    uint64_t target = plainTarget(from, relocation);
    Found to = find(section, target);
    if (to.place != Place::Piece) return;
    // The length of the code stands behind its begin.
    ArrayRef<uint8_t> bytes = object.contents(from);
    uint64_t size = is64 ? 8 : 4, at = r.r_offset + size;
    if (at + size > bytes.size() || at + size < at) return refuse(section, "unwind information", from, r.r_offset);
    uint64_t length =
        is64 ? support::endian::read64le(bytes.data() + at) : support::endian::read32le(bytes.data() + at);
    if (length > plan.pieces[to.piece].end - target)
      return refuse(section, "unwind information for several functions", from, r.r_offset);
    plan.changes[from].push_back({relocation, to.piece});
  }

  void changeCode(uint32_t from, uint32_t relocation, uint32_t section) {
    const ObjectFile::Relocation &r = object.relocations(from)[relocation];
    if (isDeadCode(from, r.r_offset)) return;
    uint32_t type = r.getType(false);
    uint64_t target = plainTarget(from, relocation);
    if (isAbsolute(type)) return change(from, relocation, section, target);
    if (!isPc32(type)) return refuse(section, "a relocation that is not known", from, r.r_offset);
    if (auto toEnd = knownFieldToEnd(from, relocation)) return change(from, relocation, section, target + *toEnd);
    // Not decoded: an immediate may follow the field, which makes no difference unless the function is very short.
    Found to = find(section, target + 4);
    for (unsigned toEnd : {5, 6, 8})
      if (Found other = find(section, target + toEnd); other.place != to.place || other.piece != to.piece)
        return refuse(section, "an operand of code that was not decoded", from, r.r_offset);
    change(from, relocation, section, target + 4);
  }

  // Distances in data are from where a table begins (analysis/reach/relative_tables.h).
  void changeData(uint32_t from, uint32_t relocation, uint32_t section) {
    const ObjectFile::Relocation &r = object.relocations(from)[relocation];
    uint32_t type = r.getType(false);
    if (isAbsolute(type)) return change(from, relocation, section, plainTarget(from, relocation));
    if (!isPc32(type)) return refuse(section, "a relocation that is not known", from, r.r_offset);
    if (auto base = baseOf(from, r.r_offset); base && isSwitch(from, *base))
      return change(from, relocation, section, plainTarget(from, relocation) - (r.r_offset - *base));
    // A function: of all that the entry may mean, one place only is the begin of one.
    if (!relativeTables) relativeTables.emplace(object);
    std::optional<uint64_t> function;
    for (int64_t target : relativeTables->targets(from, relocation)) {
      const FunctionRange *range = target < 0 ? nullptr : functionsOf[section]->functions->at(uint64_t(target));
      if (!range || range->begin != uint64_t(target)) continue;
      if (function) return refuse(section, "a distance that may be to two functions", from, r.r_offset);
      function = range->begin;
    }
    if (!function) return refuse(section, "a distance in data", from, r.r_offset);
    change(from, relocation, section, *function);
  }

  /// The place at or before an offset to which something refers.
  std::optional<uint64_t> baseOf(uint32_t data, uint64_t offset) {
    ArrayRef<Base> list = basesOf(data);
    auto after = partition_point(list, [&](const Base &b) { return b.offset <= offset; });
    if (after == list.begin()) return std::nullopt;
    return std::prev(after)->offset;
  }

  // Code refers to the table's begin; each entry up to the next place of which that is true is then an instruction, and
  // one at least of a function that uses the table.
  bool isSwitch(uint32_t data, uint64_t base) {
    auto [known, isNew] = switches.try_emplace({data, base});
    if (!isNew) return known->second;
    ArrayRef<Base> list = basesOf(data);
    auto first = partition_point(list, [&](const Base &b) { return b.offset < base; });
    auto last = partition_point(list, [&](const Base &b) { return b.offset <= base; });
    uint64_t end = last == list.end() ? ~uint64_t(0) : last->offset;
    ArrayRef<uint32_t> order = relocationsInOrder(data);
    auto relocations = object.relocations(data);
    bool isUsed = false;
    for (const uint32_t *i = partition_point(order, [&](uint32_t i) { return relocations[i].r_offset < base; });
         i != order.end() && relocations[*i].r_offset < end; ++i) {
      const ObjectFile::Relocation &r = relocations[*i];
      uint32_t symbol = r.getSymbol(false), section = symbol ? object.sectionOf(symbol) : 0;
      if (!isPc32(r.getType(false)) || !section || object.symbols()[symbol].getType() != STT_SECTION) return false;
      uint64_t target = plainTarget(data, *i) - (r.r_offset - base);
      const FunctionRange *range = nullptr;
      if (functionsOf[section]) {
        const SectionRanges &functions = *functionsOf[section]->functions;
        range = functions.at(target);
        if (range && !functions.instructionStarts[unsigned(target)]) return false;
        if (!range && !functions.ranges.empty()) return false;
      }
      if (target >= object.sections()[section].sh_size) return false;
      for (const Base &b : make_range(first, last)) isUsed |= b.section == section && b.range == range;
    }
    return known->second = isUsed;
  }

  ArrayRef<uint32_t> relocationsInOrder(uint32_t section) {
    auto [known, isNew] = orders.try_emplace(section);
    if (isNew) known->second = relocationsByOffset(object, section);
    return known->second;
  }

  // All places of a section of data that something refers to.
  ArrayRef<Base> basesOf(uint32_t data) {
    if (bases.empty()) {
      bases.resize(object.sections().size());
      for (uint32_t from = 1; from < object.sections().size(); ++from) {
        const ObjectFile::Section &header = object.sections()[from];
        if (!(header.sh_flags & SHF_ALLOC) || isEhFrame(from)) continue;
        auto relocations = object.relocations(from);
        for (uint32_t i = 0; i < relocations.size(); ++i) {
          uint32_t symbol = relocations[i].getSymbol(false);
          uint32_t section = symbol ? object.sectionOf(symbol) : 0;
          if (!section || (object.sections()[section].sh_flags & SHF_EXECINSTR)) continue;
          int64_t offset = targetOffset(relocations[i], object.symbols()[symbol].st_value,
                                        (header.sh_flags & SHF_EXECINSTR) ? knownFieldToEnd(from, i).value_or(4) : 0);
          const FunctionRange *range =
              functionsOf[from] ? functionsOf[from]->functions->at(relocations[i].r_offset) : nullptr;
          if (offset >= 0) bases[section].push_back({uint64_t(offset), from, range});
        }
      }
      for (uint32_t i = object.firstGlobal(); i < object.symbols().size(); ++i) // others may refer to these
        if (uint32_t section = object.sectionOf(i))
          bases[section].push_back({object.symbols()[i].st_value, 0, nullptr});
      for (std::vector<Base> &list : bases)
        llvm::stable_sort(list, [](const Base &a, const Base &b) { return a.offset < b.offset; });
    }
    return bases[data];
  }

  void dropRefused() {
    auto isRefused = [&](uint32_t piece) { return refused[plan.pieces[piece].section]; };
    auto symbolSection = [&](uint32_t from, const SplitPlan::Change &c) {
      return object.sectionOf(object.relocations(from)[c.relocation].getSymbol(false));
    };
    for (uint32_t from = 1; from < plan.changes.size(); ++from)
      erase_if(plan.changes[from], [&](const SplitPlan::Change &c) { return refused[symbolSection(from, c)]; });
    erase_if(plan.additions, [&](const SplitPlan::Addition &a) { return isRefused(a.piece); });
    std::vector<uint32_t> newIndex(plan.pieces.size());
    uint32_t next = 0;
    for (uint32_t i = 0; i < plan.pieces.size(); ++i) newIndex[i] = isRefused(i) ? 0 : next++;
    erase_if(plan.pieces, [&](const SplitPlan::Piece &p) { return refused[p.section]; });
    for (auto &list : plan.changes)
      for (SplitPlan::Change &c : list) c.piece = newIndex[c.piece];
    for (SplitPlan::Addition &a : plan.additions) a.piece = newIndex[a.piece], a.target = newIndex[a.target];
  }

  const ObjectFile &object;
  ArrayRef<SectionFunctions> sections;
  ArrayRef<char> isLive;
  std::vector<const SectionFunctions *> functionsOf;
  std::vector<char> refused, isBound;
  std::vector<std::vector<Base>> bases;
  std::map<std::pair<uint32_t, uint64_t>, bool> switches; // section, begin
  std::map<uint32_t, std::vector<uint32_t>> orders;
  std::optional<RelativeTables> relativeTables;
  SplitPlan plan;
};

} // namespace

SplitPlan planSplit(const ObjectFile &object, ArrayRef<SectionFunctions> sections, ArrayRef<char> isLive) {
  return Planner(object, sections, isLive).run();
}

} // namespace coppice
