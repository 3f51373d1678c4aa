// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/link_report.h"
#include "linker/text_table.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

using namespace llvm;

namespace coppice {

static StringRef shortName(const KernelDescriptor &k) {
  return StringRef(k.symbol).drop_front(strlen("coppice.kernel."));
}

void printKernels(raw_ostream &os, const CompiledGraphs &graphs) {
  for (const CompiledGraph &graph : graphs.graphs) {
    os << "graph " << graph.name << " (" << graph.file << ")\n";
    struct Row {
      const KernelChoice *choice;
      unsigned uses = 0;
    };
    MapVector<std::pair<StringRef, const KernelDescriptor *>, Row> rows;
    size_t width = 0;
    for (const PlanOp &op : graph.plan.ops) {
      if (!op.choice) continue;
      StringRef name = op.op->getName().getStringRef();
      Row &row = rows[{name, op.choice->kernels.front()}];
      row.choice = op.choice;
      ++row.uses;
      width = std::max(width, name.size());
    }
    for (auto &[key, row] : rows) {
      os << "  " << left_justify(key.first, unsigned(width)) << formatv(" {0,4}x  ", row.uses);
      interleave(row.choice->kernels, os, [&](const KernelDescriptor *k) { os << shortName(*k); }, " ");
      os << "  " << row.choice->kernels.front()->object.name << "\n";
    }
  }
}

void printSizeSummary(raw_ostream &os, const CompiledGraphs &graphs, const KernelIndex &index, StringRef output) {
  uint64_t size = 0;
  (void)sys::fs::file_size(output, size);
  if (index.size() || !graphs.graphs.empty())
    os << "kept " << graphs.usedKernels.size() << " of " << index.size() << " kernels for " << graphs.graphs.size()
       << (graphs.graphs.size() == 1 ? " graph; " : " graphs; ");
  os << output << ": " << withCommas(size) << " bytes\n";
  for (const CompiledGraph &graph : graphs.graphs) {
    os << "  graph " << graph.name << ": " << graph.plan.ops.size() << " ops, plan "
       << withCommas(graph.object.planBytes) << " bytes, weights " << withCommas(graph.object.weightsBytes)
       << " bytes, MLIR " << withCommas(graph.object.graphBytes) << " bytes (.coppice.graph, not loaded)\n";
    os << "    peak memory of intermediates: ";
    if (graph.plan.allStatic)
      os << withCommas(graph.plan.arenaBytes) << " bytes\n";
    else
      os << "known at run time (the graph has dynamic shapes); " << withCommas(graph.plan.arenaBytes)
         << " bytes of static shapes\n";
  }
}

// Bytes in memory of what is linked, and of what of it lives.
static std::pair<uint64_t, uint64_t> loadedBytes(const Shaken &shaken) {
  const SectionGraph &graph = *shaken.graph;
  uint64_t all = 0, live = 0;
  for (SectionGraph::Node node = 1; graph.isSection(node); ++node) {
    if (!graph.isPresent(node)) continue;
    const ObjectFile &elf = *graph.symbols().linked()[graph.objectOf(node)].elf;
    if (!(elf.sections()[graph.sectionOf(node)].sh_flags & ELF::SHF_ALLOC)) continue;
    uint64_t size = graph.sizeOf(node);
    all += size;
    if (!shaken.live[node]) continue;
    live += size;
    ArrayRef<FunctionRange> ranges = graph.rangesOf(node);
    for (size_t i = 0; i < ranges.size(); ++i)
      if (!shaken.live[graph.firstRangeOf(node) + i]) live -= ranges[i].end - ranges[i].begin;
  }
  return {all, live};
}

void printRegistrations(raw_ostream &os, ArrayRef<Binding> bindings, const Registrations &registrations,
                        const Shaken *shaken) {
  for (size_t b = 0; b < bindings.size(); ++b) {
    std::set<std::string> all, kept;
    for (size_t i = 0; i < registrations.list.size(); ++i) {
      const Registration &r = registrations.list[i];
      if (r.binding != b) continue;
      all.insert(r.key);
      if (!shaken || shaken->counts(i)) kept.insert(r.key);
    }
    for (size_t i = 0; i < registrations.objects.size(); ++i) {
      const auto &object = registrations.objects[i];
      if (object.binding != b) continue;
      all.insert(object.keys.begin(), object.keys.end());
      if (!shaken || !shaken->constructorsDead[i]) kept.insert(object.keys.begin(), object.keys.end());
    }
    if (all.empty()) continue;
    os << bindings[b].name << ": kept " << kept.size() << " of " << all.size() << " registered kernels";
    bool isUnknown = shaken && any_of(shaken->unknownUses, [&](const CodeUses::Unknown &u) { return u.binding == b; });
    if ((!shaken || !shaken->uses[b].isConditional) && !isUnknown) {
      std::string formats;
      for (const std::string &format : bindings[b].graphs) formats += (formats.empty() ? "" : " or ") + format;
      os << ": no graph of form " << formats << " says what is used (--graph=FILE, --gc-kernels=" << bindings[b].name
         << ")";
    }
    os << "\n";
  }
  if (shaken && shaken->cutsAnything) {
    auto [all, live] = loadedBytes(*shaken);
    os << "kept " << withCommas(live) << " of " << withCommas(all) << " bytes of code and data that are linked\n";
  }
  if (shaken)
    for (const std::string &place : shaken->keptWhole) os << "  functions not told apart: " << place << "\n";
}

void warnKept(const Shaken &shaken, ArrayRef<Binding> bindings, Diagnostics &diagnostics) {
  for (size_t b = 0; b < bindings.size(); ++b) {
    auto first = find_if(shaken.unknownUses, [&](const CodeUses::Unknown &u) { return u.binding == b; });
    if (first == shaken.unknownUses.end() || shaken.uses[b].isConditional) continue;
    Diagnostic d;
    d.severity = Severity::Warning;
    d.code = "COP407";
    d.message = "nothing of " + bindings[b].name + " is dropped: " + first->place + " calls " + first->callee +
                ", and no constant says for which kernel";
    d.help = "say what the program needs: --keep-from=FILE (docs/bindings.md)";
    diagnostics.report(std::move(d));
  }
  for (size_t b = 0; b < bindings.size(); ++b) {
    if (!shaken.uses[b].isConditional) continue;
    std::vector<const UnclearRegistration *> list;
    for (const UnclearRegistration &unclear : shaken.registrations.unclear)
      if (unclear.binding == b) list.push_back(&unclear);
    if (list.empty()) continue;
    Diagnostic d;
    d.severity = Severity::Warning;
    d.code = "COP403";
    d.message = std::to_string(list.size()) + (list.size() == 1 ? " registration" : " registrations") + " of " +
                bindings[b].name + (list.size() == 1 ? " is" : " are") + " not understood; what " +
                (list.size() == 1 ? "it registers" : "they register") + " is kept";
    for (size_t i = 0; i < std::min<size_t>(list.size(), 3); ++i)
      d.notes.push_back({list[i]->place + ": " + list[i]->why, {}});
    if (list.size() > 3) d.notes.push_back({"+" + std::to_string(list.size() - 3) + " more", {}});
    diagnostics.report(std::move(d));
  }
  if (!shaken.pinnedByExports.empty()) {
    uint64_t sum = 0;
    for (auto [symbol, bytes] : shaken.pinnedByExports) sum += bytes;
    Diagnostic d;
    d.severity = Severity::Warning;
    d.code = "COP406";
    d.message = std::to_string(shaken.pinnedByExports.size()) +
                (shaken.pinnedByExports.size() == 1 ? " exported symbol keeps " : " exported symbols keep ") +
                withCommas(sum) + " bytes that nothing else needs";
    const auto &symbols = shaken.graph->symbols().symbols();
    for (size_t i = 0; i < std::min<size_t>(shaken.pinnedByExports.size(), 5); ++i) {
      auto [symbol, bytes] = shaken.pinnedByExports[i];
      d.notes.push_back({demangle(symbols[symbol].name) + " keeps " + withCommas(bytes) + " bytes", {}});
    }
    if (shaken.pinnedByExports.size() > 5)
      d.notes.push_back({"+" + std::to_string(shaken.pinnedByExports.size() - 5) + " more", {}});
    d.help = "link with --hide-exports, or with a version script that names what is to be exported";
    diagnostics.report(std::move(d));
  }
}

void warnSharedSections(const CompiledGraphs &graphs, KernelIndex &index, Diagnostics &diagnostics) {
  StringSet<> used;
  for (const std::string &symbol : graphs.usedKernels) used.insert(symbol);
  StringSet<> seen;
  for (const KernelDescriptor *k : graphs.descriptors) {
    if (!seen.insert(k->object.name).second) continue;
    // Section of the object -> the functions of kernels in it, and whether a used kernel has them. Kernels that share
    // one function share nothing that could go.
    std::map<uint64_t, std::map<uint64_t, bool>> sections;
    for (const std::string &symbol : index.symbolsOf(k->object)) {
      StringRef op = StringRef(symbol).drop_front(strlen("coppice.kernel.")).split('$').first;
      for (const KernelDescriptor *other : index.kernelsFor(op, diagnostics))
        if (other->symbol == symbol && other->object.name == k->object.name && !other->functionSection.empty())
          sections[other->functionSectionIndex][other->functionOffset] |= used.contains(symbol);
    }
    for (auto &[section, functions] : sections) {
      size_t unused = size_t(llvm::count_if(functions, [](auto &f) { return !f.second; }));
      if (unused && unused < functions.size())
        diagnostics.warning("COP106",
                            k->object.name + ": " + std::to_string(functions.size()) +
                                " kernels share a section of code, " + std::to_string(unused) +
                                " of them unused: their code stays",
                            {}, "compile it with -ffunction-sections (coppice --cflags has it)");
    }
  }
}

} // namespace coppice
