// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/shake.h"
#include "analysis/reach/decode_x86_64.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Parallel.h"
#include <set>

using namespace llvm;

namespace coppice {

bool matchesGlob(StringRef pattern, const Registration &r) {
  auto glob = GlobPattern::create(pattern);
  if (glob) return glob->match(r.key) || glob->match(r.kernel);
  consumeError(glob.takeError());
  return pattern == r.key || pattern == r.kernel;
}

namespace {

// Kernels that are kept by hand are keys as those of a graph are, so that what they bring is kept too.
void addKeptByHand(const ShakeOptions &options, const Registrations &registrations, std::vector<BindingUse> &uses) {
  for (const std::string &pattern : options.keepKernels)
    for (const Registration &r : registrations.list) {
      if (!matchesGlob(pattern, r)) continue;
      std::vector<UsedKey> &keys = uses[r.binding].keys;
      if (any_of(keys, [&](const UsedKey &k) { return k.key == r.key && !k.attributesKnown; })) continue;
      UsedKey key;
      key.key = r.key;
      key.graph = "--keep-kernel=" + pattern;
      key.attributesKnown = false;
      key.isByHand = true;
      keys.push_back(std::move(key));
    }
}

// Sections with several functions; those that are split are decoded, in parallel, one decoder a thread.
void splitSections(Shaken &result, const std::vector<char> &live) {
  SectionGraph &graph = *result.graph;
  const auto &objects = graph.symbols().linked();
  struct Found {
    uint32_t section;
    SectionRanges ranges;
  };
  std::vector<std::vector<Found>> found(objects.size());
  parallelFor(0, objects.size(), [&](size_t o) {
    if (!objects[o].elf) return;
    const ObjectFile &elf = *objects[o].elf;
    std::optional<FunctionSymbols> symbols;
    thread_local std::unique_ptr<Decoder> decoder;
    for (uint32_t i = 1; i < elf.sections().size(); ++i) {
      SectionGraph::Node node = graph.nodeOf(uint32_t(o), i);
      if (!live[node] || !(elf.sections()[i].sh_flags & ELF::SHF_EXECINSTR) || elf.opaqueRelocations(i)) continue;
      if (!symbols) {
        if (!elf.hasValidRelocations()) return; // lld says what is wrong
        symbols.emplace(elf);
      }
      if ((*symbols)[i].size() < 2) continue;
      if (!decoder) decoder = std::make_unique<Decoder>();
      found[o].push_back({i, splitIntoFunctions(elf, i, *decoder, (*symbols)[i])});
    }
  });
  for (uint32_t o = 0; o < found.size(); ++o)
    for (Found &f : found[o]) {
      constexpr uint64_t worthSaying = 1024; // bytes
      if (!f.ranges.keptWhole.empty() && objects[o].elf->sections()[f.section].sh_size >= worthSaying)
        result.keptWhole.push_back(objects[o].name + ":(" + objects[o].elf->sectionName(f.section).str() +
                                   "): " + f.ranges.keptWhole);
      graph.split(o, f.section, std::move(f.ranges));
    }
}

// Exports are roots that no graph has asked for. Each pins what no other root reaches; what two of them pin counts for
// the first.
void findPinnedByExports(Shaken &result) {
  const SectionGraph &graph = *result.graph;
  std::vector<std::pair<SectionGraph::Node, uint32_t>> exports;
  std::vector<char> seen(graph.size());
  std::vector<SectionGraph::Node> next;
  auto visit = [&](SectionGraph::Node node) {
    if (seen[node]) return uint64_t(0);
    seen[node] = true;
    next.push_back(node);
    // A section that is split counts by its functions.
    bool isLoaded = !graph.isSection(node) ||
                    (graph.symbols().linked()[graph.objectOf(node)].elf->sections()[graph.sectionOf(node)].sh_flags &
                     ELF::SHF_ALLOC);
    return isLoaded && !(graph.isSection(node) && graph.isSplit(node)) ? graph.sizeOf(node) : 0;
  };
  auto drain = [&] {
    uint64_t bytes = 0;
    while (!next.empty()) {
      SectionGraph::Node node = next.back();
      next.pop_back();
      graph.forEachEdge(node, [&](SectionGraph::Edge edge) { bytes += visit(edge.to); });
    }
    return bytes;
  };
  std::vector<SectionGraph::Node> others;
  graph.forEachRoot([&](SectionGraph::Root root) {
    if (root.kind == SectionGraph::RootKind::Exported)
      exports.push_back({root.node, root.symbol});
    else
      others.push_back(root.node);
  });
  if (exports.empty()) return;
  for (SectionGraph::Node node : others) visit(node);
  drain();
  for (auto [node, symbol] : exports) {
    uint64_t bytes = visit(node);
    bytes += drain();
    if (!bytes) continue;
    if (!result.pinnedByExports.empty() && result.pinnedByExports.back().first == symbol)
      result.pinnedByExports.back().second += bytes;
    else
      result.pinnedByExports.push_back({symbol, bytes});
  }
  stable_sort(result.pinnedByExports, [](auto &a, auto &b) { return a.second > b.second; });
}

// A target without a relocation goes only if no registration that counts has it.
void cutLocalReferences(Shaken &result) {
  const std::vector<Registration> &list = result.registrations.list;
  std::set<std::tuple<uint32_t, uint32_t, uint64_t>> needed;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].local && result.counts(i)) needed.insert({list[i].object, list[i].section, list[i].local->function});
  for (size_t i = 0; i < list.size(); ++i) {
    const Registration &r = list[i];
    if (!r.local || result.counts(i) || needed.count({r.object, r.section, r.local->function})) continue;
    result.graph->cutLocal(r.object, r.section, r.local->instruction, r.local->function);
    result.cutsAnything = true;
  }
}

// Of all code that may run, before anything is dropped and before functions are told apart.
void addUsesOfCode(Shaken &result, ArrayRef<Binding> bindings) {
  std::vector<char> wanted(bindings.size());
  for (size_t b = 0; b < bindings.size(); ++b)
    wanted[b] = result.uses[b].isConditional && result.registrations.present[b] && !bindings[b].uses.empty();
  if (none_of(wanted, [](char c) { return c; })) return;
  CodeUses uses = findCodeUses(*result.graph, markLive(*result.graph), bindings, result.registrations, wanted);
  for (size_t b = 0; b < bindings.size(); ++b) append_range(result.uses[b].keys, uses.keys[b]);
  result.unknownUses = std::move(uses.unknown);
}

// Code that may ask for any kernel: is it still alive when others have gone? A library's C interface is often one
// section, of which a program calls little.
bool keepAllForUnknownUses(Shaken &result, ArrayRef<Binding> bindings) {
  std::vector<char> wanted(bindings.size());
  for (const CodeUses::Unknown &unknown : result.unknownUses) wanted[unknown.binding] = true;
  result.unknownUses = findCodeUses(*result.graph, result.live, bindings, result.registrations, wanted).unknown;
  bool any = false;
  for (const CodeUses::Unknown &unknown : result.unknownUses) {
    BindingUse &use = result.uses[unknown.binding];
    bool hasList = any_of(use.keys, [](const UsedKey &key) { return key.isByHand && key.place.line; });
    if (hasList || !use.isConditional) continue;
    use.isConditional = false;
    any = true;
  }
  return any;
}

// A record says what one run called, on one machine: another variant of the same op may make other ops. It is complete
// only where there is nothing to choose from, else the rules of the binding say what more is needed.
void trustRecords(Shaken &result, ArrayRef<Binding> bindings, const ShakeOptions &options) {
  for (size_t b = 0; b < bindings.size(); ++b) {
    bool hasChoice = options.variants != VariantChoice::All;
    for (const Registration &r : result.registrations.list) {
      if (r.binding != b || hasChoice) continue;
      const std::string &name = bindings[b].edges[r.edge].variant;
      hasChoice =
          any_of(bindings[b].variants, [&](const BindingVariant &v) { return v.name == name && v.cpuLevel > 1; });
    }
    if (!hasChoice) continue;
    for (UsedKey &key : result.uses[b].keys) key.isExact = false;
  }
}

Shaken shakeWith(const SymbolResolution &resolution, const LinkSettings &settings, ArrayRef<Binding> bindings,
                 Registrations registrations, std::vector<BindingUse> uses, const ShakeOptions &options) {
  Shaken result;
  result.graph = std::make_unique<SectionGraph>(resolution, settings);
  result.registrations = std::move(registrations);
  result.uses = std::move(uses);
  addUsesOfCode(result, bindings);
  // A kernel that is registered without a relocation is called without being noted (linker/recorded_kernels.cpp).
  std::vector<char> isRecorded;
  for (const BindingUse &use : result.uses)
    isRecorded.push_back(any_of(use.keys, [](const UsedKey &key) { return key.isExact; }));
  trustRecords(result, bindings, options);
  for (size_t b = 0; b < bindings.size(); ++b) result.closures.emplace_back(bindings[b], result.uses[b].keys);

  const std::vector<Registration> &list = result.registrations.list;
  std::vector<StringMap<std::vector<std::string>>> variants(bindings.size()); // that are there, by key
  for (const Registration &r : list)
    if (const std::string &variant = bindings[r.binding].edges[r.edge].variant; !variant.empty()) {
      auto &present = variants[r.binding][r.key];
      if (!is_contained(present, variant)) present.push_back(variant);
    }
  auto isUsed = [&](const Registration &r) {
    const KeyClosure &closure = result.closures[r.binding];
    return (r.keyIsIdentifier ? closure.findIdentifier(r.key) : closure.find(r.key)) != nullptr;
  };
  for (const Registration &r : list) {
    const BindingEdge &edge = bindings[r.binding].edges[r.edge];
    Verdict verdict = Verdict::Used;
    if (!result.uses[r.binding].isConditional || edge.dropped.kind == Dropped::Keep)
      verdict = Verdict::Unconditional;
    else if (!isUsed(r) && !(r.local && isRecorded[r.binding]))
      verdict = Verdict::KeyUnused;
    else if (!edge.variant.empty() && !is_contained(keptVariants(bindings[r.binding], options.variants,
                                                                 options.cpuLevel, variants[r.binding][r.key]),
                                                    edge.variant))
      verdict = Verdict::VariantUnused;
    result.verdicts.push_back(verdict);
  }

  // One relocation may serve two registrations; it counts if one of them does.
  DenseSet<std::pair<SectionGraph::Node, uint32_t>> needed;
  auto place = [&](const Registration &r) {
    return std::pair(result.graph->nodeOf(r.object, r.section), r.relocation);
  };
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].relocation != Registration::none && result.counts(i)) needed.insert(place(list[i]));
  for (size_t i = 0; i < list.size(); ++i) {
    const Registration &r = list[i];
    if (r.symbol != Registration::none) {
      if (result.uses[r.binding].isConditional && isUsed(r)) result.graph->keep(r.symbol);
      if (!result.counts(i) && r.object != Registration::none) result.graph->hide(r.symbol), result.cutsAnything = true;
    }
    if (r.relocation == Registration::none || result.counts(i) || needed.contains(place(r))) continue;
    result.graph->cut(r.object, r.section, r.relocation);
    result.cutsAnything = true;
  }
  for (const auto &object : result.registrations.objects) {
    bool isDead =
        result.uses[object.binding].isConditional && none_of(object.keys, [&](const std::string &key) {
          return result.closures[object.binding].findIdentifier(key) || result.closures[object.binding].find(key);
        });
    result.constructorsDead.push_back(isDead);
    if (isDead) result.graph->dropConstructors(object.object), result.cutsAnything = true;
  }

  result.live = markLive(*result.graph);
  // Scripts may keep what only they know, and a function that they keep must stay whole.
  bool mayBeLocal = any_of(list, [](const Registration &r) { return r.local.has_value(); });
  if ((result.cutsAnything || mayBeLocal) && options.splitFunctions && !settings.isScript) {
    size_t before = result.graph->size();
    splitSections(result, result.live);
    cutLocalReferences(result);
    if (result.graph->size() != before) result.live = markLive(*result.graph);
  }
  if (result.cutsAnything && !settings.hideExports) findPinnedByExports(result);
  if (settings.hideExports)
    for (uint32_t id = 0; id < resolution.symbols().size(); ++id)
      if (const GlobalSymbol &s = resolution.symbols()[id];
          result.graph->isExported(s, id, false) && !result.graph->isExported(s, id))
        result.hiddenExports.push_back(id);
  // Where functions cannot be told apart, what is referred to without a relocation stays.
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].local && !result.counts(i) &&
        !result.graph->isSplit(result.graph->nodeOf(list[i].object, list[i].section)))
      result.verdicts[i] = Verdict::Unconditional;
  return result;
}

} // namespace

Shaken shake(const SymbolResolution &resolution, const LinkSettings &settings, ArrayRef<Binding> bindings,
             Registrations registrations, std::vector<BindingUse> uses, const ShakeOptions &options) {
  addKeptByHand(options, registrations, uses);
  Shaken result = shakeWith(resolution, settings, bindings, std::move(registrations), std::move(uses), options);
  if (result.unknownUses.empty() || !keepAllForUnknownUses(result, bindings)) return result;
  std::vector<CodeUses::Unknown> unknown = std::move(result.unknownUses);
  result = shakeWith(resolution, settings, bindings, std::move(result.registrations), std::move(result.uses), options);
  result.unknownUses = std::move(unknown);
  return result;
}

} // namespace coppice
