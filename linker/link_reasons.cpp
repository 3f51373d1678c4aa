// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/link_reasons.h"
#include "linker/elf_object.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"

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

void makeRecordStrippable(StringRef program) {
  using Elf = object::ELFFile<object::ELF64LE>;
  auto file = sys::fs::openNativeFileForReadWrite(program, sys::fs::CD_OpenExisting, sys::fs::OF_None);
  if (!file) return consumeError(file.takeError());
  scope_exit close([&] { (void)sys::fs::closeFile(*file); });
  sys::fs::file_status status;
  if (sys::fs::status(*file, status) || status.type() != sys::fs::file_type::regular_file) return;
  std::error_code error;
  sys::fs::mapped_file_region bytes(*file, sys::fs::mapped_file_region::readwrite, status.getSize(), 0, error);
  if (error) return;
  auto elf = Elf::create(StringRef(bytes.const_data(), bytes.size()));
  if (!elf) return consumeError(elf.takeError()); // --oformat=binary
  auto sections = elf->sections();
  if (!sections) return consumeError(sections.takeError());
  for (const auto &section : *sections) {
    auto name = elf->getSectionName(section);
    if (!name) return consumeError(name.takeError());
    if (*name != whySectionName) continue;
    size_t at = size_t(reinterpret_cast<const char *>(&section) - bytes.const_data());
    support::endian::write32le(bytes.data() + at + offsetof(ELF::Elf64_Shdr, sh_type), ELF::SHT_SHLIB);
  }
}

} // namespace coppice
