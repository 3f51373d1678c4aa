// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// References to the functions that `uses` names are relocations, since these are global. Each is attributed to the
// function symbol around it, which must be alive; references of the framework's own code do not count.
#include "analysis/reach/code_uses.h"
#include "analysis/reach/call_sites.h"
#include "analysis/reach/decode_x86_64.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Demangle/Demangle.h"
#include <map>

using namespace llvm;

namespace coppice {
namespace {

using UseId = std::pair<uint32_t, uint32_t>; // binding, index in its uses

class Search {
public:
  Search(const SectionGraph &graph, const std::vector<char> &live, ArrayRef<Binding> bindings,
         const Registrations &registrations, ArrayRef<char> wanted)
      : graph(graph), resolution(graph.symbols()), live(live), bindings(bindings), registrations(registrations) {
    result.keys.resize(bindings.size());
    keys.resize(bindings.size());
    for (const Registration &r : registrations.list) keys[r.binding].insert(identifierForm(r.key));
    for (uint32_t b = 0; b < bindings.size(); ++b)
      for (uint32_t u = 0; wanted[b] && u < bindings[b].uses.size(); ++u)
        for (uint32_t id = 0; id < resolution.symbols().size(); ++id)
          if (std::string demangled; bindings[b].uses[u].symbol.matchMangled(resolution.symbols()[id].name, demangled))
            callees[id].push_back({b, u});
  }

  CodeUses run() {
    if (callees.empty()) return std::move(result);
    const auto &objects = resolution.linked();
    for (uint32_t o = 0; o < objects.size(); ++o) {
      if (none_of(objects[o].globals, [&](uint32_t id) { return callees.count(id); })) continue;
      if (objects[o].elf) {
        scan(o);
        continue;
      }
      for (uint32_t id : objects[o].globals) // bitcode: what it mentions, it may call
        if (auto it = callees.find(id); it != callees.end())
          for (UseId use : it->second) count(use, objects[o].name, resolution.symbols()[id].name, nullptr, o);
    }
    return std::move(result);
  }

private:
  // An {op} in a pattern for own code is a key that is registered.
  bool isOwnCode(uint32_t binding, StringRef function) const {
    return any_of(bindings[binding].ownCode, [&](const SymbolPattern &pattern) {
      auto key = pattern.match(function);
      return key && (!pattern.hasKey() || keys[binding].contains(*key));
    });
  }

  /// Of a section that was split only the functions are alive or not.
  bool isLive(SectionGraph::Node section, uint64_t offset) const {
    ArrayRef<FunctionRange> ranges = graph.rangesOf(section);
    auto after = partition_point(ranges, [&](const FunctionRange &range) { return range.begin <= offset; });
    if (after == ranges.begin() || offset >= std::prev(after)->end) return live[section];
    return live[graph.firstRangeOf(section) + SectionGraph::Node(std::prev(after) - ranges.begin())];
  }

  void scan(uint32_t o) {
    const LinkedObject &object = resolution.linked()[o];
    const ObjectFile &elf = *object.elf;
    std::optional<FunctionSymbols> functions;
    std::map<std::pair<uint32_t, uint32_t>, TrackedCalls> tracked; // by section, function
    std::unique_ptr<Decoder> decoder;
    std::unique_ptr<CallTracker> tracker;
    for (uint32_t section = 1; section < elf.sections().size(); ++section) {
      uint64_t flags = elf.sections()[section].sh_flags;
      if (!(flags & ELF::SHF_ALLOC) || !live[graph.nodeOf(o, section)] || graph.isEhFrame(graph.nodeOf(o, section)))
        continue;
      auto relocations = elf.relocations(section);
      for (uint32_t i = 0; i < relocations.size(); ++i) {
        uint32_t symbol = elf.symbolOf(relocations[i]);
        if (symbol < elf.firstGlobal() || symbol == 0) continue;
        uint32_t id = object.globals[symbol - elf.firstGlobal()];
        auto callee = callees.find(id);
        if (callee == callees.end() || !isLive(graph.nodeOf(o, section), relocations[i].r_offset)) continue;
        uint32_t function = 0;
        if (flags & ELF::SHF_EXECINSTR) {
          if (!functions) functions.emplace(elf);
          for (uint32_t f : (*functions)[section])
            if (const ObjectFile::Symbol &s = elf.symbols()[f];
                s.st_value <= relocations[i].r_offset && relocations[i].r_offset - s.st_value < s.st_size)
              function = f;
        }
        std::string name = function ? demangle(elf.symbolName(function)) : elf.sectionName(section).str();
        const CallSite *site = nullptr;
        for (UseId use : callee->second) {
          if (function && isOwnCode(use.first, name)) continue;
          if (bindings[use.first].uses[use.second].brings.empty() && function && !site) {
            if (!decoder && elf.hasValidRelocations()) {
              decoder = std::make_unique<Decoder>();
              tracker = std::make_unique<CallTracker>(elf, *decoder);
            }
            auto [it, isNew] = tracked.try_emplace({section, function});
            if (isNew && tracker) {
              const ObjectFile::Symbol &s = elf.symbols()[function];
              it->second =
                  tracker->track(section, s.st_value, s.st_value + s.st_size, entriesOf(elf, section, *functions));
            }
            if (it->second.uncertain.empty())
              for (const CallSite &call : it->second.calls)
                if (call.callee.source == AddressSource{section, true, i}) site = &call;
          }
          count(use, object.name + ": " + name, elf.symbolName(symbol), site, o);
        }
      }
    }
  }

  // Wherever code or data of the object points into the section, control may come from elsewhere.
  static std::vector<uint64_t> entriesOf(const ObjectFile &elf, uint32_t section, const FunctionSymbols &functions) {
    std::vector<uint64_t> entries;
    for (uint32_t f : functions[section]) entries.push_back(elf.symbols()[f].st_value);
    for (uint32_t from = 1; from < elf.sections().size(); ++from)
      for (const ObjectFile::Relocation &r : elf.relocations(from))
        if (uint32_t symbol = elf.symbolOf(r); symbol && elf.sectionOf(symbol) == section)
          for (unsigned fieldToEnd : {0, 4, 5, 6, 8})
            entries.push_back(uint64_t(targetOffset(r, elf.symbols()[symbol].st_value, fieldToEnd)));
    llvm::sort(entries);
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    return entries;
  }

  void count(UseId id, const std::string &place, StringRef callee, const CallSite *site, uint32_t object) {
    const CodeUse &use = bindings[id.first].uses[id.second];
    std::vector<std::string> found = use.brings;
    if (found.empty() && site && use.argument >= 1 && use.argument <= site->arguments.size())
      if (const auto &argument = site->arguments[use.argument - 1]) {
        std::optional<std::string> key =
            use.indexOf ? keyAtIndex(id.first, use, *argument) : stringAt(*argument, object);
        if (key) found.push_back(*key);
      }
    if (found.empty()) result.unknown.push_back({id.first, place, demangle(callee)});
    for (const std::string &key : found) {
      if (key.empty()) continue;
      if (any_of(result.keys[id.first], [&](const UsedKey &k) { return k.key == key; })) continue;
      UsedKey used;
      used.key = key;
      used.graph = place;
      used.place = {.file = place};
      used.attributesKnown = false;
      used.isByHand = true;
      result.keys[id.first].push_back(std::move(used));
    }
  }

  std::optional<std::string> stringAt(const Value &value, uint32_t object) const {
    const ObjectFile &elf = *resolution.linked()[object].elf;
    if (value.kind != Value::Address || !value.section || value.offset < 0) return std::nullopt;
    ArrayRef<uint8_t> bytes = elf.contents(value.section);
    if (uint64_t(value.offset) >= bytes.size() || (elf.sections()[value.section].sh_flags & ELF::SHF_WRITE))
      return std::nullopt;
    StringRef text(reinterpret_cast<const char *>(bytes.data()) + value.offset, bytes.size() - value.offset);
    size_t end = text.find('\0');
    return end == StringRef::npos ? std::nullopt : std::optional(text.take_front(end).str());
  }

  // An entry need not be registered (a null pointer), so an index counts from the beginning of the table. All that is
  // registered must be where `stride` says that it can be.
  std::optional<std::string> keyAtIndex(uint32_t binding, const CodeUse &use, const Value &value) {
    if (value.kind != Value::Integer) return std::nullopt;
    std::optional<std::pair<const LinkedObject *, uint32_t>> table; // and its symbol
    std::map<uint64_t, const Registration *> entries;               // by offset in it
    for (const Registration &r : registrations.list) {
      const auto *edge = std::get_if<TableEdge>(&bindings[binding].edges[r.edge].shape);
      if (r.binding != binding || !edge || edge->from.str() != use.indexOf->str()) continue;
      const LinkedObject &object = resolution.linked()[r.object];
      uint64_t offset = object.elf->relocations(r.section)[r.relocation].r_offset;
      if (!table || table->first != &object) {
        std::optional<uint32_t> symbol = tableAt(*object.elf, r.section, offset, *use.indexOf);
        if (!symbol || table) return std::nullopt; // there are two
        table = {&object, *symbol};
      }
      const ObjectFile::Symbol &s = object.elf->symbols()[table->second];
      if (offset < s.st_value || offset - s.st_value >= s.st_size) return std::nullopt;
      entries[offset - s.st_value] = &r;
    }
    if (entries.empty()) return std::nullopt;
    uint64_t pointer = entries.begin()->first % use.stride;
    if (table->first->elf->symbols()[table->second].st_size % use.stride) return std::nullopt;
    for (auto [offset, r] : entries)
      if (offset % use.stride != pointer) return std::nullopt;
    auto entry = entries.find(uint32_t(value.offset) * use.stride + pointer); // an int
    return entry == entries.end() ? std::string() : entry->second->key;       // none: the framework says so
  }

  static std::optional<uint32_t> tableAt(const ObjectFile &elf, uint32_t section, uint64_t offset,
                                         const SymbolPattern &pattern) {
    std::string demangled;
    for (uint32_t i = 1; i < elf.symbols().size(); ++i)
      if (const ObjectFile::Symbol &s = elf.symbols()[i]; elf.sectionOf(i) == section && offset >= s.st_value &&
                                                          offset - s.st_value < s.st_size &&
                                                          pattern.matchMangled(elf.symbolName(i), demangled))
        return i;
    return std::nullopt;
  }

  const SectionGraph &graph;
  const SymbolResolution &resolution;
  const std::vector<char> &live;
  ArrayRef<Binding> bindings;
  const Registrations &registrations;
  std::vector<StringSet<>> keys;                  // registered, of each binding, as functions are named after them
  std::map<uint32_t, std::vector<UseId>> callees; // by index in symbols()
  CodeUses result;
};

} // namespace

CodeUses findCodeUses(const SectionGraph &graph, const std::vector<char> &live, ArrayRef<Binding> bindings,
                      const Registrations &registrations, ArrayRef<char> wanted) {
  return Search(graph, live, bindings, registrations, wanted).run();
}

} // namespace coppice
