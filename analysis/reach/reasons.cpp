// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/reasons.h"
#include "analysis/reach/dominators.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace llvm;

namespace coppice {
namespace {

using Node = SectionGraph::Node;
using Kind = WhyRecord::Kind;
using Via = WhyRecord::Via;
constexpr uint32_t none = WhyRecord::none;

Via viaOf(SectionGraph::RootKind kind) {
  switch (kind) {
  case SectionGraph::RootKind::Entry:
    return Via::Entry;
  case SectionGraph::RootKind::Exported:
    return Via::Exported;
  case SectionGraph::RootKind::Flag:
    return Via::Flag;
  case SectionGraph::RootKind::InitArray:
    return Via::InitArray;
  case SectionGraph::RootKind::Retained:
    return Via::Retained;
  case SectionGraph::RootKind::Unwind:
    return Via::Unwind;
  case SectionGraph::RootKind::NotLoaded:
    return Via::NotLoaded;
  case SectionGraph::RootKind::Lto:
    return Via::Lto;
  case SectionGraph::RootKind::Script:
    return Via::Script;
  }
  return Via::Reference;
}

// Absolute paths and the names of a compiler's temporary files change from build to build, and the record is part of
// the program.
bool isTemporary(StringRef path) {
  SmallString<64> folder;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  return sys::path::parent_path(path) == folder;
}
StringRef stablePath(StringRef path) { return sys::path::is_absolute(path) ? sys::path::filename(path) : path; }

class Finder {
public:
  Finder(const Shaken &shaken, ArrayRef<Binding> bindings, ArrayRef<PlanUse> plans, const ReasonsOptions &options)
      : shaken(shaken), graph(*shaken.graph), resolution(graph.symbols()), bindings(bindings), plans(plans),
        options(options) {}

  WhyRecord run() {
    vertexCount = uint32_t(graph.size());
    record.items.resize(3);
    for (uint32_t i = 0; i < 3; ++i) {
      record.items[i].kind = Kind(i);
      record.items[i].parent = record.items[i].dominator = i;
    }
    objectIds.assign(resolution.linked().size(), none);
    addPlans();
    addKeys();
    addRegistrations();
    addUnusedKernels();
    itemOf.assign(vertexCount, none);
    lastFrom.assign(vertexCount, none);
    vertexOf.assign(3, 0);

    walkLive();
    walkDropped();
    walkUnreferenced();
    addDominators();
    removeDebugSections();
    nameItems();
    finishRegistrations();
    for (const std::string &note : shaken.keptWhole) record.notes.push_back(stablePlace(note));
    for (const UnclearRegistration &unclear : shaken.registrations.unclear)
      record.notes.push_back(record.save(stablePlace(unclear.place) + ": " + unclear.why));
    record.addUpRetained();
    return std::move(record);
  }

private:
  struct Out {
    uint32_t to; // vertex
    Via via;
    uint32_t detail = none;
  };
  struct Vertex { // besides the graph's nodes
    Kind kind;
    StringRef name, qualifier, variant;
    std::vector<Out> out;
  };

  //===-- Vertices besides the graph's, and their edges -----------------------------------------------------------===//

  uint32_t addVertex(Vertex vertex) {
    extra.push_back(std::move(vertex));
    return vertexCount++;
  }
  Vertex &extraAt(uint32_t vertex) { return extra[vertex - graph.size()]; }

  uint32_t addUse(const Place &place, uint64_t count) {
    StringRef file = place.line ? stablePath(place.file) : stablePlace(place.file);
    record.uses.push_back({file, place.node, place.line, place.column, count});
    return uint32_t(record.uses.size() - 1);
  }

  // A compiled graph is its plan's section; between that and the descriptors of kernels stand the ops.
  void addPlans() {
    for (uint32_t p = 0; p < plans.size(); ++p) {
      const GlobalSymbol *symbol = resolution.find(plans[p].symbol);
      if (!symbol || symbol->kind != GlobalSymbol::Defined) continue;
      std::vector<Out> ops;
      for (const PlanUse::Op &op : plans[p].ops) {
        std::vector<Out> kernels;
        for (const std::string &name : op.kernels)
          if (const GlobalSymbol *kernel = resolution.find(name))
            graph.forEachNodeOfSymbol(*kernel, [&](Node node) {
              kernels.push_back({node, Via::Reference});
              descriptors.insert(node);
            });
        ops.push_back({addVertex({Kind::Op, op.op, {}, {}, std::move(kernels)}), Via::Use, addUse(op.place, op.count)});
      }
      graph.forEachNodeOfSymbol(*symbol, [&](Node node) { planAt[node] = {p, ops}; });
    }
  }

  void addKeys() {
    StringMap<uint32_t> lists; // graphs and lists, by name
    keys.resize(bindings.size());
    missing.resize(bindings.size());
    for (uint32_t b = 0; b < shaken.closures.size(); ++b) {
      if (!shaken.uses[b].isConditional) continue;
      const KeyClosure &closure = shaken.closures[b];
      for (const KeyClosure::Key &key : closure.keys()) {
        uint32_t vertex = keys[b][key.key] = addVertex({Kind::Key, key.key, bindings[b].name, {}, {}});
        if (!key.used && !key.rule) above.push_back({vertex, Via::Always});
      }
      for (const UsedKey &key : shaken.uses[b].keys) {
        auto [it, isNew] = lists.try_emplace(key.graph, 0);
        if (isNew) {
          bool isCode = key.isByHand && !key.place.line && !StringRef(key.graph).starts_with("--");
          Kind kind = isCode ? Kind::Code : key.isByHand ? Kind::List : Kind::Graph;
          StringRef name = isCode ? stablePlace(key.graph) : stablePath(key.graph);
          it->second = addVertex({kind, name, isCode ? StringRef() : stablePath(key.place.file), {}, {}});
          above.push_back({it->second, Via::Given});
        }
        extraAt(it->second).out.push_back({keys[b][key.key], Via::Use, addUse(key.place, key.count)});
      }
      DenseMap<const Implication *, uint32_t> rules;
      for (const KeyClosure::Step &step : closure.steps()) {
        if (step.from == step.to) continue;
        auto [it, isNew] = rules.try_emplace(step.rule, 0);
        if (isNew) it->second = addUse(step.rule->place, 1);
        extraAt(keys[b][step.from]).out.push_back({keys[b][step.to], Via::Rule, it->second});
      }
    }
  }

  std::optional<uint32_t> liveKey(uint32_t binding, StringRef key, bool isIdentifier) {
    const KeyClosure &closure = shaken.closures[binding];
    const KeyClosure::Key *found = isIdentifier ? closure.findIdentifier(key) : closure.find(key);
    if (!found) return std::nullopt;
    auto it = keys[binding].find(found->key);
    return it == keys[binding].end() ? std::nullopt : std::optional(it->second);
  }
  uint32_t missingKey(uint32_t binding, StringRef key, StringRef variant) {
    auto [it, isNew] = missing[binding].try_emplace((key + "$" + variant).str(), 0);
    if (isNew) {
      it->second = addVertex({Kind::Key, key, bindings[binding].name, variant, {}});
      belowMissing.push_back(it->second);
    }
    return it->second;
  }

  // The key of each registration is a vertex; what it registers hangs on that.
  void addRegistrations() {
    const Registrations &all = shaken.registrations;
    // Section, relocation -> registrations.
    std::map<Node, DenseMap<uint32_t, SmallVector<uint32_t, 1>>> bySection;
    keyVertex.assign(all.list.size(), none);
    for (uint32_t i = 0; i < all.list.size(); ++i) {
      const Registration &r = all.list[i];
      Verdict verdict = shaken.verdicts[i];
      if (verdict == Verdict::Unconditional) {
        if (r.relocation != Registration::none) unconditional.insert({graph.nodeOf(r.object, r.section), r.relocation});
        continue;
      }
      bool isUsed = verdict == Verdict::Used;
      auto key = isUsed ? liveKey(r.binding, r.key, r.keyIsIdentifier) : std::nullopt;
      if (isUsed && !key) continue;
      keyVertex[i] =
          isUsed ? *key
                 : missingKey(r.binding, r.key,
                              verdict == Verdict::VariantUnused ? StringRef(bindings[r.binding].edges[r.edge].variant)
                                                                : StringRef());
      if (r.relocation != Registration::none) bySection[graph.nodeOf(r.object, r.section)][r.relocation].push_back(i);
      if (r.local) {
        Node section = graph.nodeOf(r.object, r.section), from = nodeAt(section, r.local->instruction);
        Node to = nodeAt(section, r.local->function);
        registryOf.try_emplace(i, from);
        extraAt(keyVertex[i]).out.push_back({to, Via::Registration, i});
        if (isUsed) conditionalLocal.insert({from, to});
      }
      if (r.symbol != Registration::none) {
        graph.forEachNodeOfSymbol(resolution.symbols()[r.symbol], [&](Node node) {
          extraAt(keyVertex[i]).out.push_back({node, Via::Registration, i});
        });
        if (isUsed) rootsOfKeys.insert(r.symbol);
      }
    }
    for (auto &[section, relocations] : bySection) {
      auto hang = [&, &relocations = relocations](Node from, SectionGraph::Edge edge) {
        if (edge.relocation == SectionGraph::noRelocation) return;
        auto found = relocations.find(edge.relocation);
        if (found == relocations.end() || unconditional.contains({section, edge.relocation})) return;
        bool isUsed = any_of(found->second, [&](uint32_t i) { return shaken.counts(i); });
        for (uint32_t i : found->second) {
          if (shaken.counts(i) != isUsed) continue;
          registryOf.try_emplace(i, from);
          // A registry that is dropped itself is one more link of the chain.
          if (isUsed || shaken.live[from])
            extraAt(keyVertex[i]).out.push_back({edge.to, Via::Registration, i});
          else
            deadCuts[from].push_back({edge.to, Via::Reference});
        }
        if (isUsed) conditional.insert({section, edge.relocation});
      };
      auto visit = [&](Node from) {
        if (shaken.live[from]) graph.forEachEdge(from, [&](SectionGraph::Edge edge) { hang(from, edge); });
      };
      visit(section);
      for (size_t i = 0; i < graph.rangesOf(section).size(); ++i) visit(Node(graph.firstRangeOf(section) + i));
      graph.forEachCut(section, hang);
    }
    for (uint32_t i = 0; i < all.objects.size(); ++i) {
      const auto &object = all.objects[i];
      if (!shaken.uses[object.binding].isConditional) continue;
      for (const std::string &name : object.keys) {
        auto key = liveKey(object.binding, name, /*isIdentifier=*/true);
        if (!key && !shaken.constructorsDead[i]) continue;
        uint32_t vertex = key ? *key : missingKey(object.binding, name, {});
        forEachConstructor(object.object, [&](Node node) { extraAt(vertex).out.push_back({node, Via::InitArray}); });
      }
      objectsOfKeys.insert(object.object);
    }
  }

  // Kernels of Coppice's own that are linked, because their object is, and that no graph uses.
  void addUnusedKernels() {
    for (const GlobalSymbol &symbol : resolution.symbols()) {
      StringRef name = symbol.name;
      if (symbol.kind != GlobalSymbol::Defined || !name.consume_front("coppice.kernel.")) continue;
      graph.forEachNodeOfSymbol(symbol, [&](Node node) {
        if (shaken.live[node]) return;
        belowMissing.push_back(addVertex({Kind::Op, name, {}, {}, {{node, Via::Reference}}}));
      });
    }
  }

  // The section, or the function in it.
  Node nodeAt(Node section, uint64_t offset) const {
    auto functions = graph.rangesOf(section);
    auto at = upper_bound(functions, offset, [](uint64_t o, const FunctionRange &f) { return o < f.begin; });
    if (at == functions.begin() || offset >= std::prev(at)->end) return section;
    return Node(graph.firstRangeOf(section) + (std::prev(at) - functions.begin()));
  }

  void forEachConstructor(uint32_t object, function_ref<void(Node)> visit) {
    const auto &elf = resolution.linked()[object].elf;
    if (!elf) return;
    for (uint32_t s = 1; s < elf->sections().size(); ++s) {
      StringRef name = elf->sectionName(s);
      uint32_t type = elf->sections()[s].sh_type;
      if (type == ELF::SHT_INIT_ARRAY || type == ELF::SHT_FINI_ARRAY || type == ELF::SHT_PREINIT_ARRAY ||
          name.starts_with(".init_array") || name.starts_with(".ctors") || name.starts_with(".dtors"))
        visit(graph.nodeOf(object, s));
    }
  }

  //===-- The walks -----------------------------------------------------------------------------------------------===//

  void forEachOut(uint32_t vertex, function_ref<void(Out)> visit) {
    if (vertex >= graph.size()) {
      for (const Out &out : extraAt(vertex).out) visit(out);
      return;
    }
    auto plan = planAt.find(vertex);
    bool isPlan = plan != planAt.end();
    if (isPlan)
      for (const Out &op : plan->second.second) visit(op);
    Node section = graph.isCommon(vertex) ? 0 : graph.nodeOf(graph.objectOf(vertex), graph.sectionOf(vertex));
    bool mayBeConditional = !conditional.empty() && section;
    graph.forEachEdge(vertex, [&](SectionGraph::Edge edge) {
      if (mayBeConditional && conditional.contains({section, edge.relocation})) return;
      if (isPlan && descriptors.contains(edge.to)) return;
      bool isLocal = edge.relocation == SectionGraph::noRelocation;
      if (isLocal && !conditionalLocal.empty() && conditionalLocal.contains({vertex, edge.to})) return;
      visit({edge.to, isLocal && !graph.isRange(vertex) ? Via::Grouped : Via::Reference});
    });
    if (auto cut = deadCuts.find(vertex); cut != deadCuts.end())
      for (const Out &out : cut->second) visit(out);
  }

  // An edge, as the walks see them: `to` gets an item if it has none.
  void follow(uint32_t from, const Out &out) {
    uint32_t &item = itemOf[out.to];
    if (item == none) {
      item = uint32_t(record.items.size());
      vertexOf.push_back(out.to);
      WhyRecord::Item &added = record.items.emplace_back();
      added.via = out.via;
      added.detail = out.detail;
      added.parent = from;
    }
    if (lastFrom[out.to] == from) return;
    lastFrom[out.to] = from;
    edges.targets.push_back(item);
  }

  // Items get their numbers in the order in which the walks meet them, and are walked in that order. What a later walk
  // meets of an earlier one, dropped code that refers to code that lives, says nothing about that.
  void walk() {
    while (edges.size() < record.items.size()) {
      uint32_t from = edges.size();
      forEachOut(vertexOf[from], [&](const Out &out) {
        if (isPresent(out.to) && (itemOf[out.to] == none || itemOf[out.to] >= firstOfWalk)) follow(from, out);
      });
      edges.endVertex();
    }
  }
  bool isPresent(uint32_t vertex) const {
    return vertex >= graph.size() || !graph.isSection(vertex) || graph.isPresent(vertex);
  }

  void walkLive() {
    std::vector<std::pair<unsigned, Out>> roots;
    for (const Out &out : above) roots.push_back({1, out});
    graph.forEachRoot([&](SectionGraph::Root root) {
      if (root.kind == SectionGraph::RootKind::Flag && rootsOfKeys.contains(root.symbol)) return;
      if (root.kind == SectionGraph::RootKind::InitArray && objectsOfKeys.contains(graph.objectOf(root.node))) return;
      static_assert(unsigned(SectionGraph::RootKind::Entry) == 0);
      roots.push_back({2 * unsigned(root.kind), {root.node, viaOf(root.kind)}});
    });
    // Of chains of one length that from main says most.
    llvm::stable_sort(roots, less_first());
    for (const auto &[rank, out] : roots)
      if (isPresent(out.to)) follow(0, out);
    edges.endVertex();
    edges.endVertex(); // items 1 and 2 get their edges later
    edges.endVertex();
    walk();
  }

  void walkDropped() {
    firstOfWalk = uint32_t(record.items.size());
    std::vector<uint32_t> below;
    below.swap(edges.targets);
    for (uint32_t vertex : belowMissing) follow(1, {vertex, Via::Missing});
    below.swap(edges.targets);
    belowDropped = std::move(below);
    walk();
  }

  bool isRest(uint32_t vertex) const {
    return vertex && vertex < graph.size() && itemOf[vertex] == none && !shaken.live[vertex] &&
           (!graph.isSection(vertex) || (graph.isPresent(vertex) && !graph.isEhFrame(vertex)));
  }

  void walkUnreferenced() {
    std::vector<uint32_t> rest;
    for (uint32_t v = 1; v < graph.size(); ++v)
      if (isRest(v)) rest.push_back(v);
    if (!options.unreferenced) {
      record.unreferencedCount = rest.size();
      for (uint32_t v : rest) record.unreferencedBytes += sizeOf(v);
      return;
    }
    firstOfWalk = uint32_t(record.items.size());
    std::vector<char> isReferenced(graph.size());
    for (uint32_t v : rest)
      forEachOut(v, [&](const Out &out) {
        if (out.to < graph.size() && out.to != v) isReferenced[out.to] = true;
      });
    auto begin = [&](uint32_t v) {
      std::vector<uint32_t> below;
      below.swap(edges.targets);
      follow(2, {v, Via::Unreferenced});
      belowUnreferenced.insert(belowUnreferenced.end(), edges.targets.begin(), edges.targets.end());
      below.swap(edges.targets);
    };
    for (uint32_t v : rest)
      if (!isReferenced[v]) begin(v);
    walk();
    for (uint32_t v : rest) // functions that refer to each other, and nothing else to them
      if (itemOf[v] == none) begin(v), walk();
  }

  //===-- What the walks found ------------------------------------------------------------------------------------===//

  void addDominators() {
    // One more vertex stands above the three roots.
    FlatGraph all;
    uint32_t count = uint32_t(record.items.size());
    all.targets.reserve(edges.targets.size() + belowDropped.size() + belowUnreferenced.size() + 3);
    for (uint32_t i = 0; i < count; ++i) {
      if (i == 1 || i == 2)
        append_range(all.targets, i == 1 ? belowDropped : belowUnreferenced);
      else
        append_range(all.targets, edges.of(i));
      all.endVertex();
    }
    all.targets.insert(all.targets.end(), {0, 1, 2});
    all.endVertex();
    FlatGraph predecessors = all.reversed();
    std::vector<uint32_t> dominators = immediateDominators(all, predecessors, count);
    dominators.pop_back();
    for (uint32_t i = 0; i < 3; ++i) dominators[i] = i;
    TreeOrder order(dominators);
    for (uint32_t i = 3; i < count; ++i) {
      WhyRecord::Item &item = record.items[i];
      // Above every way to an item stands its dominator, so also on the shortest: it was met first.
      item.dominator = dominators[i];
      unsigned ways = 0;
      for (uint32_t p : predecessors.of(i)) ways += !order.isAbove(i, p);
      item.isOnlyWay = ways == 1;
    }
  }

  bool isDebugSection(uint32_t vertex) const {
    return vertex < graph.size() && !graph.isCommon(vertex) &&
           !(resolution.linked()[graph.objectOf(vertex)].elf->sections()[graph.sectionOf(vertex)].sh_flags &
             ELF::SHF_ALLOC);
  }

  // Sections that are not loaded have no bytes in memory; they stay only where a chain leads through one.
  void removeDebugSections() {
    std::vector<char> hasChild(record.items.size());
    for (size_t i = record.items.size(); i-- > 3;)
      if (hasChild[i] || !isDebugSection(vertexOf[i])) hasChild[record.items[i].parent] = true;
    std::vector<uint32_t> renumbered(record.items.size());
    size_t kept = 0;
    for (size_t i = 0; i < record.items.size(); ++i) {
      if (i > 2 && !hasChild[i] && isDebugSection(vertexOf[i])) {
        itemOf[vertexOf[i]] = none;
        continue;
      }
      renumbered[i] = uint32_t(kept);
      WhyRecord::Item item = record.items[i];
      item.parent = renumbered[item.parent];
      item.dominator = renumbered[item.dominator];
      record.items[kept] = item;
      vertexOf[kept] = vertexOf[i];
      if (i > 2) itemOf[vertexOf[i]] = uint32_t(kept);
      ++kept;
    }
    record.items.resize(kept);
    vertexOf.resize(kept);
  }

  uint64_t sizeOf(uint32_t vertex) const {
    if (isDebugSection(vertex)) return 0;
    uint64_t size = graph.sizeOf(vertex);
    if (graph.isSection(vertex))
      for (const FunctionRange &function : graph.rangesOf(vertex)) size -= function.end - function.begin;
    return size;
  }

  void nameItems() {
    std::vector<char> isNamed(resolution.linked().size());
    for (uint32_t i = 3; i < record.items.size(); ++i) {
      WhyRecord::Item &item = record.items[i];
      uint32_t vertex = vertexOf[i];
      if (vertex >= graph.size()) {
        const Vertex &v = extraAt(vertex);
        item.kind = v.kind;
        item.name = v.name;
        item.section = v.qualifier;
        item.variant = v.variant;
        continue;
      }
      uint32_t o = graph.objectOf(vertex);
      item.object = idOf(o);
      item.size = sizeOf(vertex);
      if (graph.isCommon(vertex)) {
        item.kind = Kind::Common;
        item.name = resolution.symbols()[graph.commonSymbol(vertex)].name;
        item.section = "COMMON";
        item.hasNoBytes = true;
        continue;
      }
      const ObjectFile &elf = *resolution.linked()[o].elf;
      uint32_t section = graph.sectionOf(vertex);
      item.kind = graph.isRange(vertex) ? Kind::Function : Kind::Section;
      item.section = elf.sectionName(section);
      item.hasNoBytes = elf.sections()[section].sh_type == ELF::SHT_NOBITS;
      item.isFilled = graph.isRange(vertex) && !shaken.live[vertex] && shaken.live[graph.nodeOf(o, section)];
      isNamed[o] = true;
    }
    bestSymbol.assign(record.items.size(), none);
    symbolCount.assign(record.items.size(), 0);
    for (uint32_t o = 0; o < isNamed.size(); ++o)
      if (isNamed[o]) nameObject(o);
    for (const auto &[node, plan] : planAt)
      if (uint32_t i = itemOf[node]; i != none) {
        record.items[i].kind = Kind::Graph;
        record.aliases.push_back({i, record.items[i].name});
        record.items[i].name = plans[plan.first].name;
        record.items[i].section = stablePath(plans[plan.first].file);
      }
    llvm::stable_sort(record.aliases, [](auto &a, auto &b) { return a.item < b.item; });
  }

  // "/tmp/a-12ab.o: main" -> "a.c: main"
  StringRef stablePlace(StringRef place) {
    if (objectNames.empty())
      for (uint32_t o = 0; o < resolution.linked().size(); ++o) objectNames.try_emplace(resolution.linked()[o].name, o);
    for (size_t at = place.find(':'); at != StringRef::npos; at = place.find(':', at + 1))
      if (auto found = objectNames.find(place.take_front(at)); found != objectNames.end())
        return record.save(record.objects[idOf(found->second)].name() + place.drop_front(at));
    return stablePath(place);
  }

  uint32_t idOf(uint32_t o) {
    if (objectIds[o] != none) return objectIds[o];
    const LinkedObject &object = resolution.linked()[o];
    const std::string &path = resolution.files()[object.file].path;
    StringRef member = object.name;
    if (object.member && member.consume_front(path) && member.consume_front("("))
      member.consume_back(")");
    else
      member = {};
    StringRef file = stablePath(path);
    if (!object.member && object.elf && isTemporary(path))
      for (uint32_t s = 1; s < object.elf->firstGlobal(); ++s)
        if (object.elf->symbols()[s].getType() == ELF::STT_FILE && !object.elf->symbolName(s).empty()) {
          file = stablePath(object.elf->symbolName(s));
          break;
        }
    record.objects.push_back({file, member});
    return objectIds[o] = uint32_t(record.objects.size() - 1);
  }

  // A symbol names a section or function if it begins there and covers most of it, or is alone. The others are further
  // names.
  void nameObject(uint32_t o) {
    const ObjectFile &elf = *resolution.linked()[o].elf;
    struct Candidate {
      uint32_t item, symbol;
    };
    std::vector<Candidate> found;
    auto rank = [&](uint32_t s) {
      const ObjectFile::Symbol &symbol = elf.symbols()[s];
      return std::tuple(symbol.getType() != ELF::STT_NOTYPE, uint64_t(symbol.st_size),
                        symbol.getBinding() != ELF::STB_LOCAL);
    };
    for (uint32_t s = 1; s < elf.symbols().size(); ++s) {
      const ObjectFile::Symbol &symbol = elf.symbols()[s];
      uint32_t section = elf.sectionOf(s);
      if (!section || symbol.getType() == ELF::STT_SECTION || symbol.getType() == ELF::STT_FILE) continue;
      uint64_t begin = 0, end = elf.sections()[section].sh_size, value = symbol.st_value;
      Node node = nodeAt(graph.nodeOf(o, section), value);
      if (graph.isRange(node)) {
        begin = graph.range(node).begin;
        end = graph.range(node).end;
      }
      uint32_t item = itemOf[node];
      if (item == none) continue;
      StringRef name = elf.symbolName(s);
      if (name.empty() || name.starts_with(".L")) continue;
      bool isAlone = symbolCount[item]++ == 0 && symbol.st_size == 0;
      if (value == begin &&
          (symbol.st_size >= (end - begin) / 2 || record.items[item].section.ends_with(name) || isAlone)) {
        uint32_t &best = bestSymbol[item];
        if (best == none || rank(s) > rank(best)) best = s;
      }
      found.push_back({item, s});
    }
    for (const Candidate &c : found) {
      if (c.symbol != bestSymbol[c.item]) continue;
      StringRef name = elf.symbolName(c.symbol);
      WhyRecord::Item &item = record.items[c.item];
      bool hasSize = elf.symbols()[c.symbol].st_size || !item.size || item.section.ends_with(name);
      if (hasSize || symbolCount[c.item] == 1) item.name = name;
    }
    for (uint32_t i = 0; i < found.size(); ++i) {
      StringRef name = elf.symbolName(found[i].symbol);
      if (name != record.items[found[i].item].name) record.aliases.push_back({found[i].item, name});
    }
  }

  void finishRegistrations() {
    const std::vector<Registration> &list = shaken.registrations.list;
    for (uint32_t i = 0; i < list.size(); ++i) {
      WhyRecord::Registration &r = record.registrations.emplace_back();
      r.verdict = WhyRecord::Registration::Verdict(shaken.verdicts[i]);
      r.binding = bindings[list[i].binding].name;
      r.key = list[i].key;
      r.kernel = list[i].kernel;
      r.variant = bindings[list[i].binding].edges[list[i].edge].variant;
      if (list[i].object != Registration::none) r.object = idOf(list[i].object);
      if (keyVertex[i] != none) r.item = itemOf[keyVertex[i]];
      if (auto it = registryOf.find(i); it != registryOf.end())
        r.registry = itemOf[it->second];
      else if (list[i].relocation != Registration::none)
        r.registry = itemOf[graph.nodeOf(list[i].object, list[i].section)];
    }
  }

  const Shaken &shaken;
  const SectionGraph &graph;
  const SymbolResolution &resolution;
  ArrayRef<Binding> bindings;
  ArrayRef<PlanUse> plans;
  const ReasonsOptions &options;
  WhyRecord record;

  uint32_t vertexCount = 0; // the graph's nodes, then `extra`
  std::vector<Vertex> extra;
  std::vector<Out> above;                         // edges of the program, besides roots
  std::vector<StringMap<uint32_t>> keys, missing; // of each binding: vertices
  std::vector<uint32_t> belowMissing;
  std::vector<uint32_t> keyVertex;                                // of each registration
  DenseMap<uint32_t, Node> registryOf;                            // registration -> what refers to the kernel
  DenseSet<std::pair<Node, uint32_t>> unconditional, conditional; // section, relocation
  DenseSet<std::pair<Node, Node>> conditionalLocal;               // references without a relocation
  DenseMap<Node, std::vector<Out>> deadCuts;
  DenseSet<uint32_t> rootsOfKeys, objectsOfKeys;
  DenseSet<Node> descriptors;
  MapVector<Node, std::pair<uint32_t, std::vector<Out>>> planAt;

  std::vector<uint32_t> itemOf, lastFrom; // of each vertex
  std::vector<uint32_t> vertexOf;         // of each item
  FlatGraph edges;                        // of items; without those of items 1 and 2
  uint32_t firstOfWalk = 0;
  std::vector<uint32_t> belowDropped, belowUnreferenced;
  std::vector<uint32_t> objectIds;
  StringMap<uint32_t> objectNames;
  std::vector<uint32_t> bestSymbol, symbolCount; // of each item
};

} // namespace

WhyRecord findReasons(const Shaken &shaken, ArrayRef<Binding> bindings, ArrayRef<PlanUse> plans,
                      const ReasonsOptions &options) {
  return Finder(shaken, bindings, plans, options).run();
}

} // namespace coppice
