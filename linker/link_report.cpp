// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/link_report.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

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

static std::string withCommas(uint64_t n) {
  std::string s = std::to_string(n);
  for (int i = int(s.size()) - 3; i > 0; i -= 3) s.insert(size_t(i), ",");
  return s;
}

void printSizeSummary(raw_ostream &os, const CompiledGraphs &graphs, const KernelIndex &index, StringRef output) {
  uint64_t size = 0;
  (void)sys::fs::file_size(output, size);
  os << "kept " << graphs.usedKernels.size() << " of " << index.size() << " kernels for " << graphs.graphs.size()
     << (graphs.graphs.size() == 1 ? " graph" : " graphs") << "; " << output << ": " << withCommas(size) << " bytes\n";
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
