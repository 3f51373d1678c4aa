// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/shake_edits.h"
#include "linker/dropped_kernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include <set>

using namespace llvm;

namespace coppice {
namespace {

// The symbol that a binding names, mangled or not.
std::optional<std::string> definedSymbol(const SymbolResolution &resolution, const std::string &name) {
  if (resolution.isDefined(name)) return name;
  StringRef identifier = StringRef(name).take_until([](char c) { return !isAlnum(c) && c != '_' && c != ':'; });
  identifier = identifier.substr(identifier.rfind(':') == StringRef::npos ? 0 : identifier.rfind(':') + 1);
  for (const GlobalSymbol &symbol : resolution.symbols())
    if (symbol.kind >= GlobalSymbol::Lazy && symbol.name.contains(identifier) && demangle(symbol.name) == name)
      return symbol.name.str();
  return std::nullopt;
}

// A function that is dead in a section that lives refers to nothing, and whoever gets there in spite of all is stopped.
void emptyDeadFunctions(const Shaken &shaken, std::map<uint32_t, ObjectEdits> &edits) {
  const SectionGraph &graph = *shaken.graph;
  const auto &objects = graph.symbols().linked();
  for (SectionGraph::Node node = 1; graph.isSection(node); ++node) {
    ArrayRef<FunctionRange> ranges = shaken.live[node] ? graph.rangesOf(node) : ArrayRef<FunctionRange>();
    if (ranges.empty()) continue;
    SectionGraph::Node first = graph.firstRangeOf(node);
    uint32_t object = graph.objectOf(node), section = graph.sectionOf(node);
    auto relocations = objects[object].elf->relocations(section);
    std::vector<char> isDead(ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) isDead[i] = !shaken.live[first + i];
    if (none_of(isDead, [](char c) { return c; })) continue;
    ObjectEdits &change = edits[object];
    for (size_t i = 0; i < ranges.size(); ++i)
      if (isDead[i]) change.fills.push_back({section, ranges[i].begin, ranges[i].end});
    std::set<uint32_t> cut; // registrations that stand in dead functions themselves
    for (const ObjectEdits::Retarget &c : change.relocations)
      if (c.section == section) cut.insert(c.relocation);
    for (uint32_t r = 0; r < relocations.size(); ++r) {
      const FunctionRange *function = graph.functionsOf(node)->at(relocations[r].r_offset);
      if (function && isDead[function - ranges.data()]) {
        if (cut.count(r))
          erase_if(change.relocations, [&](auto &c) { return c.section == section && c.relocation == r; });
        change.relocations.push_back({section, r, ""});
      }
    }
  }
}

// Not for a few bytes: headers and an archive that is put together again have a price, if only at link time.
constexpr uint64_t worthSplitting = 64;

bool hasDebugInfo(const ObjectFile &elf) {
  for (uint32_t i = 1; i < elf.sections().size(); ++i)
    if (elf.sectionName(i).starts_with(".debug_") || elf.sectionName(i).starts_with(".zdebug_")) return true;
  return false;
}

void splitSections(const Shaken &shaken, SplitSections mode, std::map<uint32_t, ObjectEdits> &edits) {
  const SectionGraph &graph = *shaken.graph;
  const auto &objects = graph.symbols().linked();
  for (uint32_t o = 0; o < objects.size() && mode != SplitSections::Never; ++o) {
    if (!objects[o].elf) continue;
    const ObjectFile &elf = *objects[o].elf;
    auto edit = edits.find(o);
    std::vector<SectionFunctions> sections;
    bool wanted = false;
    for (uint32_t i = 1; i < elf.sections().size(); ++i) {
      SectionGraph::Node node = graph.nodeOf(o, i);
      const SectionRanges *functions = shaken.live[node] ? graph.functionsOf(node) : nullptr;
      if (!functions) continue;
      SectionGraph::Node first = graph.firstRangeOf(node);
      SectionFunctions s;
      s.section = i;
      s.functions = functions;
      uint64_t dead = 0;
      for (size_t f = 0; f < functions->ranges.size(); ++f) {
        const FunctionRange &range = functions->ranges[f];
        bool isLive = shaken.live[first + f];
        s.keep.push_back(isLive ? SectionFunctions::Live : SectionFunctions::Dead);
        if (isLive) continue;
        auto stands = [&](auto &list) {
          return any_of(
              list, [&](const auto &e) { return e.section == i && range.begin <= e.offset && e.offset < range.end; });
        };
        if (edit != edits.end() && (stands(edit->second.jumps) || stands(edit->second.definitions)))
          s.keep.back() = SectionFunctions::Stub;
        else
          dead += range.end - range.begin;
      }
      s.split = dead > worthSplitting || mode == SplitSections::All;
      wanted |= s.split;
      sections.push_back(std::move(s));
    }
    if (!wanted || (mode == SplitSections::WithoutDebugInfo && hasDebugInfo(elf))) continue;
    ObjectEdits &change = edits[o];
    change.functions = std::move(sections);
    change.liveSections.resize(elf.sections().size());
    for (uint32_t i = 1; i < elf.sections().size(); ++i) change.liveSections[i] = shaken.live[graph.nodeOf(o, i)];
  }
}

} // namespace

ShakeEdits editsFor(const Shaken &shaken, ArrayRef<Binding> bindings, SplitSections mode, Diagnostics &diagnostics) {
  ShakeEdits result;
  const SectionGraph &graph = *shaken.graph;
  const SymbolResolution &resolution = graph.symbols();
  std::set<std::string> dropped, undefined;
  std::set<std::tuple<uint32_t, uint32_t, uint64_t>> jumps;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> done; // a relocation may stand for several registrations
  for (size_t i = 0; i < shaken.registrations.list.size(); ++i)
    if (const Registration &r = shaken.registrations.list[i]; r.relocation != Registration::none && shaken.counts(i))
      done.insert({r.object, r.section, r.relocation});
  for (size_t i = 0; i < shaken.registrations.list.size(); ++i) {
    const Registration &r = shaken.registrations.list[i];
    const BindingEdge &edge = bindings[r.binding].edges[r.edge];
    if (r.symbol != Registration::none) {
      const GlobalSymbol &symbol = resolution.symbols()[r.symbol];
      if (!shaken.counts(i)) {
        if (r.object != Registration::none) result.objects[r.object].hidden.push_back(symbol.index);
      } else if (shaken.verdicts[i] == Verdict::Used || shaken.uses[r.binding].isConditional) {
        if (shaken.closures[r.binding].findIdentifier(r.key)) undefined.insert(symbol.name.str());
      }
    }
    if (r.local && !shaken.counts(i)) {
      // Something else may refer to the function and keep it.
      SectionGraph::Node section = graph.nodeOf(r.object, r.section);
      ArrayRef<FunctionRange> ranges = graph.rangesOf(section);
      auto at = find_if(ranges, [&](const FunctionRange &f) { return f.begin == r.local->function; });
      if (!shaken.live[section] || at == ranges.end() ||
          shaken.live[graph.firstRangeOf(section) + (at - ranges.begin())])
        continue;
      if (!jumps.insert({r.object, r.section, r.local->function}).second) continue;
      result.objects[r.object].jumps.push_back({r.section, r.local->function, droppedKernelSymbol(r.key)});
      dropped.insert(r.key);
    }
    if (r.relocation == Registration::none || shaken.counts(i)) continue;
    if (!shaken.live[graph.nodeOf(r.object, r.section)]) continue;
    if (!done.insert({r.object, r.section, r.relocation}).second) continue;
    std::string symbol;
    if (edge.dropped.kind == Dropped::Trap) {
      symbol = droppedKernelSymbol(r.key);
      dropped.insert(r.key);
    } else if (edge.dropped.kind == Dropped::Symbol) {
      auto found = definedSymbol(resolution, edge.dropped.symbol);
      if (!found) {
        diagnostics.error("COP402",
                          "binding '" + bindings[r.binding].name + "' puts '" + edge.dropped.symbol +
                              "' in the place of kernels that are dropped, and nothing defines that",
                          edge.place, "name a function of the framework, or write dropped: trap");
        return result;
      }
      symbol = *found;
      undefined.insert(symbol);
    }
    result.objects[r.object].relocations.push_back({r.section, r.relocation, symbol});
  }
  for (size_t i = 0; i < shaken.registrations.objects.size(); ++i) {
    if (!shaken.constructorsDead[i]) continue;
    uint32_t object = shaken.registrations.objects[i].object;
    const ObjectFile &elf = *resolution.linked()[object].elf;
    for (uint32_t s = 1; s < elf.sections().size(); ++s)
      if (elf.holdsConstructors(s)) result.objects[object].excluded.push_back(s);
  }
  for (uint32_t id : shaken.hiddenExports) {
    const GlobalSymbol &symbol = resolution.symbols()[id];
    // Bitcode has no symbol table to edit; what it defines stays exported.
    if (resolution.linked()[symbol.object].elf) result.objects[symbol.object].hidden.push_back(symbol.index);
  }
  emptyDeadFunctions(shaken, result.objects);
  splitSections(shaken, mode, result.objects);
  result.droppedKernels.assign(dropped.begin(), dropped.end());
  result.undefined.assign(undefined.begin(), undefined.end());
  return result;
}

} // namespace coppice
