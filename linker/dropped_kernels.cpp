// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/dropped_kernels.h"
#include "linker/elf_object.h"

using namespace llvm;

namespace coppice {

std::string droppedKernelSymbol(StringRef kernel) { return ("coppice.dropped." + kernel).str(); }

std::unique_ptr<MemoryBuffer> droppedKernelsObject(const std::vector<std::string> &kernels,
                                                   const std::string &program) {
  // x86-64:    0: lea rdi, [rip + 12]   the kernel's name, behind the code
  //            7: lea rsi, [rip + program]
  //           14: jmp coppice_dropped_kernel
  //           19: the name
  static constexpr char code[] = "\x48\x8d\x3d\x0c\x00\x00\x00\x48\x8d\x35\x00\x00\x00\x00\xe9\x00\x00\x00\x00";
  constexpr size_t codeSize = sizeof code - 1;
  static_assert(codeSize == 19);
  ElfObject object;
  auto names = object.addSection(".rodata.coppice.program", ELF::SHF_ALLOC, 1, program.size() + 1);
  object.addPiece(names, 0, {program.data(), program.size()});
  auto programName = object.addLocal("coppice.program", names);
  auto report = object.addGlobal("coppice_dropped_kernel", ElfObject::undefined);
  for (const std::string &kernel : kernels) {
    auto text = object.addSection(".text.coppice.dropped", ELF::SHF_ALLOC | ELF::SHF_EXECINSTR, 16,
                                  codeSize + kernel.size() + 1);
    object.addPiece(text, 0, {code, codeSize});
    object.addPiece(text, codeSize, {kernel.data(), kernel.size()});
    object.addPcRelative(text, 10, programName);
    object.addPcRelative(text, 15, report);
    object.addGlobal(droppedKernelSymbol(kernel), text, 0, codeSize);
  }
  return object.write("dropped kernels");
}

} // namespace coppice
