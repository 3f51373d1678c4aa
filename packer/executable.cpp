// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "packer/executable.h"
#include "runtime-stub/loader/packed_format.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace coppice {
namespace {

using Elf = object::ELFFile<object::ELF64LE>;
constexpr uint64_t largestAlignment = 2 << 20;

Error no(const Twine &why) { return createStringError(why); }

struct DynamicFlags {
  bool textRelocations = false, isPie = false;
};

Expected<DynamicFlags> readDynamic(StringRef file, const ProgramHeader &dynamic) {
  if (dynamic.p_offset > file.size() || dynamic.p_filesz > file.size() - dynamic.p_offset)
    return no("its dynamic section is not in the file");
  DynamicFlags flags;
  StringRef contents = file.substr(dynamic.p_offset, dynamic.p_filesz);
  for (; contents.size() >= 16; contents = contents.drop_front(16)) {
    uint64_t tag = support::endian::read64le(contents.data()), value = support::endian::read64le(contents.data() + 8);
    if (tag == ELF::DT_NULL) break;
    if (tag == ELF::DT_TEXTREL || (tag == ELF::DT_FLAGS && value & ELF::DF_TEXTREL)) flags.textRelocations = true;
    if (tag == ELF::DT_FLAGS_1 && value & ELF::DF_1_PIE) flags.isPie = true;
  }
  return flags;
}

} // namespace

const ProgramHeader *Executable::find(unsigned type) const {
  for (const ProgramHeader &p : programHeaders)
    if (p.p_type == type) return &p;
  return nullptr;
}

Expected<Executable> readExecutable(StringRef file) {
  if (!file.starts_with(StringRef(ELF::ElfMagic, 4)) || file.size() < sizeof(Elf::Elf_Ehdr) ||
      file[ELF::EI_CLASS] != ELF::ELFCLASS64 || file[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return no("it is not an ELF file for x86-64");
  auto elf = Elf::create(file);
  if (!elf) return elf.takeError();
  Executable result;
  result.header = elf->getHeader();
  const auto &header = result.header;
  if (header.e_machine != ELF::EM_X86_64) return no("it is not for x86-64");
  if (header.e_type != ELF::ET_EXEC && header.e_type != ELF::ET_DYN) return no("it is not an executable");
  if (header.e_phentsize != sizeof(ProgramHeader)) return no("its program headers have an unknown size");
  auto headers = elf->program_headers();
  if (!headers) return headers.takeError();
  result.programHeaders.assign(headers->begin(), headers->end());
  if (result.programHeaders.size() > maxProgramHeaders)
    return no("it has more than " + Twine(maxProgramHeaders) + " program headers");

  // The packed file's own headers take the place of the program's.
  if (header.e_phoff != sizeof(Elf::Elf_Ehdr)) return no("its program headers do not follow the ELF header");
  if (sizeof(Elf::Elf_Ehdr) + result.programHeaders.size() * sizeof(ProgramHeader) > packedPage)
    return no("its program headers do not fit into one page");

  const ProgramHeader *interpreter = result.find(ELF::PT_INTERP);
  if (const ProgramHeader *dynamic = result.find(ELF::PT_DYNAMIC)) {
    auto flags = readDynamic(file, *dynamic);
    if (!flags) return flags.takeError();
    if (flags->textRelocations)
      return no("it has text relocations: the dynamic linker would have to write to its code; compile with -fPIE");
    if (header.e_type == ELF::ET_DYN && !interpreter && !flags->isPie) return no("it is a shared library");
  } else if (header.e_type == ELF::ET_DYN && !interpreter) {
    return no("it is a shared library");
  }
  if (interpreter && header.e_type == ELF::ET_DYN && !result.find(ELF::PT_PHDR))
    return no("it names a dynamic linker and has no PT_PHDR");

  constexpr uint64_t most = uint64_t(1) << 46;
  uint64_t nextPage = 0;
  for (const ProgramHeader &p : result.programHeaders) {
    if (p.p_type != ELF::PT_LOAD || !p.p_memsz) continue;
    if (p.p_vaddr > most || p.p_memsz > most || p.p_filesz > p.p_memsz || p.p_offset > file.size() ||
        p.p_filesz > file.size() - p.p_offset || (p.p_vaddr - p.p_offset) % packedPage)
      return no("a segment lies outside of the file or of memory");
    if (p.p_align > largestAlignment)
      return no("a segment is aligned to " + Twine(p.p_align) + " bytes; no more than 2 MiB can be kept");
    if (p.p_flags & ELF::PF_W && p.p_flags & ELF::PF_X)
      return no("a segment is writable and executable; link without -N and -z rwx-segments");
    uint64_t low = alignDown(uint64_t(p.p_vaddr), packedPage);
    if (!result.segments.empty() && low < nextPage) return no("segments share a page or are not in ascending order");
    if (result.segments.empty()) result.imageLow = low;
    nextPage = result.imageHigh = alignTo(p.p_vaddr + p.p_memsz, packedPage);
    result.segments.push_back(p);
  }
  if (result.segments.empty()) return no("it has no segments");
  if (result.segments.size() > maxPackedRegions / 2) return no("it has too many segments");
  const ProgramHeader &first = result.segments.front();
  if (first.p_offset || first.p_vaddr % packedPage || first.p_filesz < sizeof(Elf::Elf_Ehdr))
    return no("its first segment does not hold the ELF header");

  auto inSegment = [&](uint64_t address, uint64_t size, unsigned flags) {
    for (const ProgramHeader &s : result.segments)
      if (address >= s.p_vaddr && size <= s.p_filesz && address - s.p_vaddr <= s.p_filesz - size &&
          (s.p_flags & flags) == flags)
        return true;
    return false;
  };
  if (!inSegment(header.e_entry, 1, ELF::PF_X)) return no("its entry point is not in its code");
  if (interpreter) {
    uint64_t offset = interpreter->p_offset, size = interpreter->p_filesz;
    if (!size || offset > file.size() || size > file.size() - offset || file[offset + size - 1] != 0 ||
        !inSegment(interpreter->p_vaddr, size, 0))
      return no("the name of its dynamic linker is not in a segment");
  }
  return result;
}

} // namespace coppice
