// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/link_reasons.h"
#include "linker/elf_object.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace coppice {

std::vector<PlanUse> planUses(const CompiledGraphs &graphs) {
  std::vector<PlanUse> result;
  for (const CompiledGraph &graph : graphs.graphs) {
    PlanUse &use = result.emplace_back();
    use.name = graph.name;
    use.file = graph.file;
    use.symbol = planSymbol(graph.name);
    MapVector<StringRef, PlanUse::Op> ops;
    for (const PlanOp &op : graph.plan.ops) {
      if (!op.choice) continue;
      StringRef name = op.op->getName().getStringRef();
      PlanUse::Op &entry = ops[name];
      if (!entry.count++) {
        entry.op = name.str();
        entry.place = placeOf(op.op->getLoc());
      }
      for (const KernelDescriptor *k : op.choice->kernels)
        if (!is_contained(entry.kernels, k->symbol)) entry.kernels.push_back(k->symbol);
    }
    for (auto &[name, op] : ops) use.ops.push_back(std::move(op));
  }
  return result;
}

std::unique_ptr<MemoryBuffer> whyObject(const WhyRecord &record) {
  std::string contents = writeWhyRecord(record);
  ElfObject object;
  auto section = object.addSection(whySectionName, 0, 1, contents.size());
  object.addPiece(section, 0, {contents.data(), contents.size()});
  object.addSection(".note.GNU-stack", 0, 1, 0);
  return object.write("coppice.why");
}

} // namespace coppice
