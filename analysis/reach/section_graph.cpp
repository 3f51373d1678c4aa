// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/section_graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace coppice {

SectionGraph::SectionGraph(const SymbolResolution &resolution, const LinkSettings &settings)
    : resolution(resolution), settings(settings) {
  firstNode.reserve(resolution.linked().size());
  for (const LinkedObject &object : resolution.linked()) {
    objects.push_back(&object);
    firstNode.push_back(nodes);
    nodes += object.elf ? object.elf->sections().size() : 0;
  }
  state.resize(nodes);
  owner.resize(nodes);
  nextInGroup.resize(nodes);
  for (uint32_t i = 0; i < objects.size(); ++i)
    if (objects[i]->elf) addSections(i);
  commons = nodes;
  definition.resize(resolution.symbols().size());
  for (uint32_t id = 0; id < resolution.symbols().size(); ++id) {
    const GlobalSymbol &symbol = resolution.symbols()[id];
    if (symbol.kind == GlobalSymbol::Common) {
      commonNode[id] = nodes++;
      commonSymbols.push_back(id);
    } else if (symbol.kind == GlobalSymbol::Defined && objects[symbol.object]->elf) {
      uint32_t section = objects[symbol.object]->elf->sectionOf(symbol.index);
      if (section && (state[firstNode[symbol.object] + section] & Present))
        definition[id] = firstNode[symbol.object] + section;
    }
  }
  firstRange = nodes;
  // lld replaces references; that the wrapped function itself is kept as well errs on the safe side.
  auto idOf = [&](const std::string &name) -> std::optional<uint32_t> {
    const GlobalSymbol *symbol = resolution.find(name);
    if (!symbol) return std::nullopt;
    for (uint32_t id = 0; id < resolution.symbols().size(); ++id)
      if (&resolution.symbols()[id] == symbol) return id;
    return std::nullopt;
  };
  for (const std::string &name : settings.wrapped) {
    auto plain = idOf(name), wrapper = idOf("__wrap_" + name), real = idOf("__real_" + name);
    if (plain && wrapper) alsoMeans[*plain].push_back(*wrapper);
    if (plain && real) alsoMeans[*real].push_back(*plain);
  }
}

static bool isDebugName(StringRef name) { return name.starts_with(".debug") || name.starts_with(".zdebug"); }

// What lld's ObjFile::initializeSections makes an input section of.
void SectionGraph::addSections(uint32_t object) {
  const LinkedObject &linked = resolution.linked()[object];
  const ObjectFile &elf = *linked.elf;
  size_t count = elf.sections().size();
  std::vector<char> dropped(count);
  auto members = [&](uint32_t group) {
    std::vector<uint32_t> result;
    ArrayRef<uint8_t> bytes = elf.contents(group);
    for (size_t at = 4; at + 4 <= bytes.size(); at += 4)
      if (uint32_t member = support::endian::read32le(bytes.data() + at); member < count) result.push_back(member);
    return result;
  };
  for (uint32_t section : linked.losing) {
    dropped[section] = true;
    if (elf.sections()[section].sh_type == ELF::SHT_GROUP)
      for (uint32_t member : members(section)) dropped[member] = true;
  }
  Node first = firstNode[object];
  for (uint32_t i = 0; i < count; ++i) {
    const ObjectFile::Section &s = elf.sections()[i];
    owner[first + i] = object;
    switch (s.sh_type) {
    case ELF::SHT_NULL:
    case ELF::SHT_GROUP:
    case ELF::SHT_SYMTAB:
    case ELF::SHT_STRTAB:
    case ELF::SHT_SYMTAB_SHNDX:
    case ELF::SHT_RELA:
    case ELF::SHT_REL:
    case ELF::SHT_CREL:
    case ELF::SHT_LLVM_ADDRSIG:
    case ELF::SHT_LLVM_DEPENDENT_LIBRARIES:
      continue;
    default:
      break;
    }
    if (dropped[i] || (s.sh_flags & ELF::SHF_EXCLUDE)) continue;
    // Nearly all sections are .text.NAME and the like, of which nothing else is to be known.
    StringRef start = elf.sectionNameStart(i);
    bool isPlain = start.starts_with(".t") || start.starts_with(".r") || start.starts_with(".b");
    StringRef name = isPlain ? StringRef() : elf.sectionName(i);
    if (name == ".note.GNU-stack" || name == ".note.gnu.property" || name == ".note.GNU-split-stack" ||
        name == ".note.GNU-no-split-stack")
      continue;
    if (settings.stripDebug && !(s.sh_flags & ELF::SHF_ALLOC) && isDebugName(name)) continue;
    state[first + i] |= Present;
    if (name == ".eh_frame" || s.sh_type == ELF::SHT_X86_64_UNWIND) state[first + i] |= EhFrame;
    if ((s.sh_flags & ELF::SHF_LINK_ORDER) && s.sh_link && s.sh_link < count)
      dependents[first + s.sh_link].push_back(first + i);
    if ((!settings.startStopGc || name.starts_with("__libc_")) && !name.empty() && !isDigit(name[0]) &&
        all_of(name, [](char c) { return isAlnum(c) || c == '_'; })) {
      startStop[("__start_" + name).str()].push_back(first + i);
      startStop[("__stop_" + name).str()].push_back(first + i);
    }
  }
  for (uint32_t group : linked.groups) {
    if (dropped[group]) continue;
    std::vector<uint32_t> list = members(group);
    // Relocations belong to the group too, and are no input sections.
    erase_if(list, [&](uint32_t i) {
      uint32_t type = elf.sections()[i].sh_type;
      return type == ELF::SHT_RELA || type == ELF::SHT_REL || type == ELF::SHT_CREL;
    });
    for (size_t i = 0; i < list.size(); ++i) {
      state[first + list[i]] |= InGroup;
      if (list.size() > 1) nextInGroup[first + list[i]] = first + list[(i + 1) % list.size()];
    }
  }
}

void SectionGraph::cut(uint32_t object, uint32_t section, uint32_t relocation) {
  Node node = nodeOf(object, section);
  std::vector<uint32_t> &list = cuts[node];
  auto at = lower_bound(list, relocation);
  if (at == list.end() || *at != relocation) list.insert(at, relocation);
  state[node] |= Cut;
}

void SectionGraph::split(uint32_t object, uint32_t section, SectionRanges ranges) {
  if (ranges.ranges.empty()) return;
  Node node = nodeOf(object, section);
  SplitSection &added = splits[node];
  if (!added.functions.ranges.empty()) return;
  added.functions = std::move(ranges);
  if (auto &t = tables[object]; !t) t = std::make_unique<RelativeTables>(*objects[object]->elf);
  added.first = nodes;
  for (uint32_t i = 0; i < added.functions.ranges.size(); ++i) rangeOwner.push_back({node, i});
  nodes += added.functions.ranges.size();
  auto relocations = resolution.linked()[object].elf->relocations(section);
  added.byOffset.resize(relocations.size());
  for (uint32_t i = 0; i < relocations.size(); ++i) added.byOffset[i] = i;
  stable_sort(added.byOffset,
              [&](uint32_t a, uint32_t b) { return relocations[a].r_offset < relocations[b].r_offset; });
  state[node] |= Split;
}

void SectionGraph::cutLocal(uint32_t object, uint32_t section, uint64_t instruction, uint64_t target) {
  auto it = splits.find(nodeOf(object, section));
  if (it == splits.end()) return;
  for (FunctionRange &function : it->second.functions.ranges)
    if (function.begin <= instruction && instruction < function.end)
      erase_if(function.references, [&](uint64_t reference) { return reference == target; });
}

bool SectionGraph::isCut(Node node, uint32_t relocation) const {
  if (!(state[node] & Cut)) return false;
  const std::vector<uint32_t> &list = cuts.find(node)->second;
  return std::binary_search(list.begin(), list.end(), relocation);
}

uint32_t SectionGraph::objectOf(Node node) const {
  if (isRange(node)) return owner[rangeOwner[node - firstRange].first];
  if (isCommon(node)) return resolution.symbols()[commonSymbol(node)].object;
  return owner[node];
}

uint32_t SectionGraph::sectionOf(Node node) const {
  Node section = isRange(node) ? rangeOwner[node - firstRange].first : node;
  return section - firstNode[owner[section]];
}

const FunctionRange &SectionGraph::range(Node node) const {
  auto [section, index] = rangeOwner[node - firstRange];
  return splits.find(section)->second.functions.ranges[index];
}

ArrayRef<FunctionRange> SectionGraph::rangesOf(Node section) const {
  auto it = splits.find(section);
  return it == splits.end() ? ArrayRef<FunctionRange>() : ArrayRef(it->second.functions.ranges);
}

const SectionRanges *SectionGraph::functionsOf(Node section) const {
  auto it = splits.find(section);
  return it == splits.end() ? nullptr : &it->second.functions;
}

SectionGraph::Node SectionGraph::firstRangeOf(Node section) const { return splits.find(section)->second.first; }

uint64_t SectionGraph::sizeOf(Node node) const {
  if (isRange(node)) return range(node).end - range(node).begin;
  const LinkedObject &object = resolution.linked()[objectOf(node)];
  if (isCommon(node)) {
    const GlobalSymbol &symbol = resolution.symbols()[commonSymbol(node)];
    return object.elf ? uint64_t(object.elf->symbols()[symbol.index].st_size) : 0;
  }
  return object.elf->sections()[sectionOf(node)].sh_size;
}

bool SectionGraph::isReserved(Node node) const {
  const ObjectFile &elf = *objects[owner[node]]->elf;
  uint32_t section = sectionOf(node);
  if (elf.sections()[section].sh_type == ELF::SHT_NOTE) return !(state[node] & InGroup);
  if (elf.holdsConstructors(section)) return !withoutConstructors.contains(owner[node]);
  StringRef start = elf.sectionNameStart(section);
  if (start != ".i" && start != ".f" && start != ".j") return false;
  StringRef name = elf.sectionName(section);
  return name == ".init" || name == ".fini" || name == ".jcr";
}

static bool matchesAny(StringRef name, ArrayRef<std::string> patterns) {
  return any_of(patterns, [&](const std::string &pattern) {
    if (pattern.find_first_of("*?[") == std::string::npos) return name == pattern;
    auto glob = GlobPattern::create(pattern);
    if (glob) return glob->match(name);
    consumeError(glob.takeError());
    return true; // unclear: the symbol counts
  });
}

bool SectionGraph::isExported(const GlobalSymbol &symbol, uint32_t id, bool hideExports) const {
  if (symbol.kind != GlobalSymbol::Defined && symbol.kind != GlobalSymbol::Common) return false;
  if (symbol.visibility == ELF::STV_HIDDEN || symbol.visibility == ELF::STV_INTERNAL || hidden.contains(id))
    return false;
  bool isNamed = symbol.exported ||
                 (hideExports && !settings.versionGlobal.empty() && matchesAny(symbol.name, settings.versionGlobal));
  bool isExported = isNamed || (!hideExports && (settings.shared || settings.exportDynamic)) ||
                    (!settings.exported.empty() && matchesAny(symbol.name, settings.exported));
  if (!isExported) return false;
  if (!settings.excludedLibraries.empty()) {
    const LinkedObject &object = resolution.linked()[symbol.object];
    const InputFile &file = resolution.files()[object.file];
    if (file.kind == InputKind::Archive && any_of(settings.excludedLibraries, [&](const std::string &library) {
          return library == "ALL" || library == sys::path::filename(file.path);
        }))
      return false;
  }
  return settings.versionLocal.empty() || matchesAny(symbol.name, settings.versionGlobal) ||
         !matchesAny(symbol.name, settings.versionLocal);
}

void SectionGraph::forEachNodeOfSymbol(const GlobalSymbol &symbol, function_ref<void(Node)> visit) const {
  if (symbol.kind == GlobalSymbol::Common) {
    visit(commonNode
              .find(uint32_t(resolution.linked()[symbol.object]
                                 .globals[symbol.index - (resolution.linked()[symbol.object].elf
                                                              ? resolution.linked()[symbol.object].elf->firstGlobal()
                                                              : 0)]))
              ->second);
    return;
  }
  const LinkedObject &object = resolution.linked()[symbol.object];
  if (symbol.kind != GlobalSymbol::Defined || !object.elf) return;
  if (uint32_t section = object.elf->sectionOf(symbol.index))
    reach(nodeOf(symbol.object, section), object.elf->symbols()[symbol.index].st_value, noRelocation,
          [&](Edge edge) { visit(edge.to); });
}

void SectionGraph::forEachRoot(function_ref<void(Root)> visit) const {
  const auto &symbols = resolution.symbols();
  auto root = [&](const GlobalSymbol &symbol, uint32_t id, RootKind kind) {
    forEachNodeOfSymbol(symbol, [&](Node node) { visit({node, kind, id}); });
  };
  auto named = [&](StringRef name, RootKind kind) {
    const GlobalSymbol *symbol = name.empty() ? nullptr : resolution.find(name);
    if (!symbol || symbol->kind < GlobalSymbol::Common) return;
    const LinkedObject &object = resolution.linked()[symbol->object];
    root(*symbol, object.globals[symbol->index - (object.elf ? object.elf->firstGlobal() : 0)], kind);
  };
  named(settings.entry, RootKind::Entry);
  named(settings.init, RootKind::Entry);
  named(settings.fini, RootKind::Entry);
  for (const std::string &name : settings.undefined) named(name, RootKind::Flag);
  for (uint32_t id : kept) root(symbols[id], id, RootKind::Flag);
  for (uint32_t id = 0; id < symbols.size(); ++id)
    if (isExported(symbols[id], id)) root(symbols[id], id, RootKind::Exported);

  for (uint32_t o = 0; o < objects.size(); ++o) {
    if (!objects[o]->elf) {
      // Code that does not exist yet: what the module mentions, its code may refer to.
      for (uint32_t id : objects[o]->globals)
        if (symbols[id].kind == GlobalSymbol::Common ||
            (symbols[id].kind == GlobalSymbol::Defined && objects[symbols[id].object]->elf))
          root(symbols[id], id, RootKind::Lto);
      continue;
    }
    const ObjectFile &elf = *objects[o]->elf;
    for (uint32_t i = 1; i < elf.sections().size(); ++i) {
      Node node = firstNode[o] + i;
      if (!(state[node] & Present)) continue;
      auto whole = [&](RootKind kind) {
        reachWhole(node, noRelocation, [&](Edge edge) { visit({edge.to, kind, 0}); });
      };
      const ObjectFile::Section &s = elf.sections()[i];
      if (state[node] & EhFrame) {
        visit({node, RootKind::Unwind, 0});
        scanEhFrame(node, [&](Edge edge) { visit({edge.to, RootKind::Unwind, 0}); });
        continue;
      }
      if (s.sh_flags & ELF::SHF_GNU_RETAIN) {
        whole(RootKind::Retained);
        continue;
      }
      if (s.sh_flags & ELF::SHF_LINK_ORDER) continue;
      if (!(s.sh_flags & ELF::SHF_ALLOC) && !nextInGroup[node]) visit({node, RootKind::NotLoaded, 0});
      if (isReserved(node)) whole(RootKind::InitArray);
      if (!settings.keptSections.empty() && matchesAny(elf.sectionName(i), settings.keptSections))
        whole(RootKind::Script);
    }
  }
}

void SectionGraph::forEachEdge(Node node, function_ref<void(Edge)> visit) const {
  if (isCommon(node)) return;
  if (isRange(node)) {
    auto [section, index] = rangeOwner[node - firstRange];
    const SplitSection &split = splits.find(section)->second;
    const FunctionRange &function = split.functions.ranges[index];
    auto relocations = objects[owner[section]]->elf->relocations(sectionOf(section));
    auto at = lower_bound(split.byOffset, function.begin,
                          [&](uint32_t r, uint64_t offset) { return relocations[r].r_offset < offset; });
    for (; at != split.byOffset.end() && relocations[*at].r_offset < function.end; ++at)
      if (!isCut(section, *at)) follow(section, *at, false, visit);
    for (uint64_t target : function.references) reach(section, target, noRelocation, visit);
    return;
  }
  const ObjectFile &elf = *objects[owner[node]]->elf;
  if (auto it = dependents.find(node); it != dependents.end())
    for (Node dependent : it->second)
      if (state[dependent] & Present) reachWhole(dependent, noRelocation, visit);
  if (Node next = nextInGroup[node]; next && (state[next] & Present)) visit({next, noRelocation});
  if (state[node] & EhFrame) return;
  const ObjectFile::Section &section = elf.sections()[sectionOf(node)];
  if (!(section.sh_flags & ELF::SHF_ALLOC) && !nextInGroup[node]) return; // debug information refers to everything
  auto relocations = elf.relocations(sectionOf(node));
  if (!(state[node] & Split)) {
    for (uint32_t i = 0; i < relocations.size(); ++i)
      if (!isCut(node, i)) follow(node, i, false, visit);
    return;
  }
  // Relocations in bytes that belong to no function.
  const SplitSection &split = splits.find(node)->second;
  size_t next = 0;
  for (uint32_t r : split.byOffset) {
    uint64_t offset = relocations[r].r_offset;
    while (next < split.functions.ranges.size() && split.functions.ranges[next].end <= offset) ++next;
    bool inside = next < split.functions.ranges.size() && split.functions.ranges[next].begin <= offset;
    if (!inside && !isCut(node, r)) follow(node, r, false, visit);
  }
}

void SectionGraph::forEachCut(Node section, function_ref<void(Node, Edge)> visit) const {
  auto list = cuts.find(section);
  if (list == cuts.end()) return;
  auto relocations = resolution.linked()[owner[section]].elf->relocations(sectionOf(section));
  for (uint32_t r : list->second) {
    Node from = section;
    // The last node is the most precise one.
    reach(section, relocations[r].r_offset, r, [&](Edge edge) { from = edge.to; });
    follow(section, r, false, [&](Edge edge) { visit(from, edge); });
  }
}

// The section, and the function in it.
void SectionGraph::reach(Node section, uint64_t offset, uint32_t relocation, function_ref<void(Edge)> visit) const {
  if (!(state[section] & Present)) return;
  visit({section, relocation});
  if (!(state[section] & Split)) return;
  const SplitSection &split = splits.find(section)->second;
  if (const FunctionRange *function = split.functions.at(offset))
    visit({Node(split.first + (function - split.functions.ranges.data())), relocation});
}

void SectionGraph::reachWhole(Node section, uint32_t relocation, function_ref<void(Edge)> visit) const {
  if (!(state[section] & Present)) return;
  visit({section, relocation});
  if (!(state[section] & Split)) return;
  const SplitSection &split = splits.find(section)->second;
  for (Node i = 0; i < split.functions.ranges.size(); ++i) visit({split.first + i, relocation});
}

void SectionGraph::follow(Node from, uint32_t relocation, bool fromFde, function_ref<void(Edge)> visit) const {
  uint32_t object = owner[from];
  const LinkedObject &linked = *objects[object];
  const ObjectFile::Relocation &r = linked.elf->relocations(from - firstNode[object])[relocation];
  uint32_t symbol = linked.elf->symbolOf(r);
  if (symbol == 0) return;
  if (symbol < linked.elf->firstGlobal()) return followTo(from, object, symbol, r, fromFde, relocation, visit);
  uint32_t id = linked.globals[symbol - linked.elf->firstGlobal()];
  followGlobal(from, id, r, fromFde, relocation, visit);
  if (alsoMeans.empty()) return;
  if (auto it = alsoMeans.find(id); it != alsoMeans.end())
    for (uint32_t other : it->second) followGlobal(from, other, r, fromFde, relocation, visit);
}

void SectionGraph::followGlobal(Node from, uint32_t id, const ObjectFile::Relocation &r, bool fromFde,
                                uint32_t relocation, function_ref<void(Edge)> visit) const {
  const GlobalSymbol &symbol = resolution.symbols()[id];
  if (symbol.kind == GlobalSymbol::Defined) {
    Node node = definition[id];
    if (node && !fromFde && !(state[node] & Split)) return visit({node, relocation});
    if (node) followTo(from, symbol.object, symbol.index, r, fromFde, relocation, visit);
  } else if (symbol.kind == GlobalSymbol::Common) {
    visit({commonNode.find(id)->second, relocation});
  } else if (!startStop.empty()) {
    if (auto it = startStop.find(symbol.name); it != startStop.end())
      for (Node node : it->second) reachWhole(node, relocation, visit);
  }
}

void SectionGraph::followTo(Node from, uint32_t object, uint32_t index, const ObjectFile::Relocation &r, bool fromFde,
                            uint32_t relocation, function_ref<void(Edge)> visit) const {
  const ObjectFile &elf = *objects[object]->elf;
  uint32_t section = elf.sectionOf(index);
  if (!section) return;
  Node node = firstNode[object] + section;
  if (!(state[node] & Present)) return;
  if (fromFde && ((elf.sections()[section].sh_flags & (ELF::SHF_EXECINSTR | ELF::SHF_LINK_ORDER)) || nextInGroup[node]))
    return;
  if (!(state[node] & Split)) return visit({node, relocation});
  const ObjectFile::Symbol &symbol = elf.symbols()[index];
  uint64_t size = elf.sections()[section].sh_size;
  visit({node, relocation});
  auto at = [&](int64_t offset) {
    if (offset < 0 || uint64_t(offset) > size) return reachWhole(node, relocation, visit);
    reach(node, uint64_t(offset), relocation, visit);
  };
  // Data that is relative to its own place: where it points depends on its table. A section's symbol is known to its
  // own object only.
  bool isCode = objects[owner[from]]->elf->sections()[from - firstNode[owner[from]]].sh_flags & ELF::SHF_EXECINSTR;
  if (!isCode && !isEhFrame(from) && symbol.getType() == ELF::STT_SECTION && owner[from] == object) {
    auto targets = tables.find(object)->second->targets(from - firstNode[object], relocation);
    for (int64_t target : targets) at(target);
    if (!targets.empty()) return;
  }
  // Behind the field of a PC-relative reference may stand an immediate of up to four bytes; all that is possible
  // counts.
  for (unsigned fieldToEnd : {4, 5, 6, 8}) {
    int64_t offset = targetOffset(r, symbol.st_value, fieldToEnd);
    at(offset);
    if (targetOffset(r, symbol.st_value, 8) == offset) break; // not PC-relative
  }
  // A reference to a named symbol is to that symbol, whatever the addend.
  if (symbol.getType() != ELF::STT_SECTION) reach(node, symbol.st_value, relocation, visit);
}

// System V x86-64 psABI, 4.2.4: records of a length word, a word that is 0 for a CIE, and contents. CIEs keep the
// personality routine (their first relocation), FDEs the LSDA; an FDE's function is kept by others.
void SectionGraph::scanEhFrame(Node node, function_ref<void(Edge)> visit) const {
  const ObjectFile &elf = *objects[owner[node]]->elf;
  uint32_t section = sectionOf(node);
  ArrayRef<uint8_t> bytes = elf.contents(section);
  auto relocations = elf.relocations(section);
  uint32_t r = 0;
  for (uint64_t at = 0; at + 8 <= bytes.size();) {
    uint64_t length = support::endian::read32le(bytes.data() + at);
    if (length == 0) { // a terminator may stand between records of `ld -r` output
      at += 4;
      continue;
    }
    bool isCie = support::endian::read32le(bytes.data() + at + 4) == 0;
    uint64_t end = at + 4 + length;
    if (length == UINT32_MAX || end > bytes.size()) end = bytes.size(); // lld refuses such
    while (r < relocations.size() && relocations[r].r_offset < at) ++r;
    for (bool first = true; r < relocations.size() && relocations[r].r_offset < end; ++r, first = false)
      if (!isCie || first) follow(node, r, !isCie, visit);
    at = end;
  }
}

std::vector<char> markLive(const SectionGraph &graph) {
  std::vector<char> live(graph.size());
  std::vector<SectionGraph::Node> next;
  auto mark = [&](SectionGraph::Node node) {
    if (live[node]) return;
    live[node] = true;
    next.push_back(node);
  };
  graph.forEachRoot([&](SectionGraph::Root root) { mark(root.node); });
  while (!next.empty()) {
    SectionGraph::Node node = next.back();
    next.pop_back();
    graph.forEachEdge(node, [&](SectionGraph::Edge edge) { mark(edge.to); });
  }
  return live;
}

} // namespace coppice
