// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/recorded_kernels.h"
#include "linker/elf_object.h"
#include <deque>
#include <set>

using namespace llvm;

namespace coppice {

RecordedKernels recordKernels(const SymbolResolution &resolution, ArrayRef<Binding> bindings,
                              const Registrations &registrations) {
  // x86-64:   0: lea r11, [rip + entry]
  //           7: jmp coppice_record_kernel       which goes on to the kernel with all other registers as they were
  static constexpr char code[] = "\x4c\x8d\x1d\x00\x00\x00\x00\xe9\x00\x00\x00\x00";
  constexpr size_t codeSize = sizeof code - 1, entrySize = 24; // of `struct entry` in runtime/record_kernel.cpp
  RecordedKernels result;
  ElfObject object;
  auto note = object.addGlobal("coppice_record_kernel", ElfObject::undefined);
  std::deque<std::string> names;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> done;
  for (const Registration &r : registrations.list) {
    if (r.relocation == Registration::none || !done.insert({r.object, r.section, r.relocation}).second) continue;
    const ObjectFile &elf = *resolution.linked()[r.object].elf;
    const ObjectFile::Relocation &relocation = elf.relocations(r.section)[r.relocation];
    uint32_t symbol = elf.symbolOf(relocation), section = elf.sectionOf(symbol);
    std::string number = std::to_string(done.size()), kernel;
    ObjectEdits &edits = result.objects[r.object];
    if (symbol >= elf.firstGlobal()) {
      kernel = elf.symbolName(symbol).str();
    } else {
      bool isCode = elf.sections()[r.section].sh_flags & ELF::SHF_EXECINSTR;
      int64_t offset = targetOffset(relocation, elf.symbols()[symbol].st_value, isCode ? 4 : 0);
      if (!section || offset < 0) continue;
      kernel = "coppice.recorded." + number;
      edits.definitions.push_back({kernel, section, uint64_t(offset)});
    }
    std::string function = "coppice.record." + number;
    edits.relocations.push_back({r.section, r.relocation, function});

    const std::string &text = names.emplace_back(bindings[r.binding].name + ":" + r.key);
    auto strings = object.addSection(".rodata.coppice.record", ELF::SHF_ALLOC, 1, text.size() + 1);
    object.addPiece(strings, 0, {text.data(), text.size()});
    auto data = object.addSection(".data.coppice.record", ELF::SHF_ALLOC | ELF::SHF_WRITE, 8, entrySize);
    object.addPointer(data, 0, object.addLocal("name." + number, strings));
    object.addPointer(data, 8, object.addGlobal(kernel, ElfObject::undefined));
    auto codeSection = object.addSection(".text.coppice.record", ELF::SHF_ALLOC | ELF::SHF_EXECINSTR, 16, codeSize);
    object.addPiece(codeSection, 0, {code, codeSize});
    object.addPcRelative(codeSection, 3, object.addLocal("entry." + number, data));
    object.addPcRelative(codeSection, 8, note);
    object.addGlobal(function, codeSection, 0, codeSize);
  }
  if (!names.empty()) result.object = object.write("recorded kernels");
  return result;
}

} // namespace coppice
