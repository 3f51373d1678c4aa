// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/code_object.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace llvm::object;

namespace coppice {

bool isCodeObject(ArrayRef<uint8_t> bytes) {
  return bytes.size() >= sizeof(ELF64LE::Ehdr) && toStringRef(bytes).starts_with("\177ELF\2\1") &&
         support::endian::read16le(&bytes[18]) == ELF::EM_AMDGPU;
}

Expected<CodeObject> readCodeObject(ArrayRef<uint8_t> bytes) {
  if (!isCodeObject(bytes)) return createStringError("this is no code object");
  std::unique_ptr<MemoryBuffer> aligned = MemoryBuffer::getMemBufferCopy(toStringRef(bytes));
  auto object = ELF64LEObjectFile::create(*aligned);
  if (!object) return object.takeError();
  const ELF64LEFile &elf = object->getELFFile();
  CodeObject result;
  if (unsigned cpu = elf.getHeader().e_flags & ELF::EF_AMDGPU_MACH;
      cpu >= ELF::EF_AMDGPU_MACH_AMDGCN_FIRST && cpu <= ELF::EF_AMDGPU_MACH_AMDGCN_LAST)
    if (auto name = object->tryGetCPUName()) result.target = hipTarget(*name);

  auto sections = elf.sections();
  if (!sections) return sections.takeError();
  const ELF64LE::Shdr *table = nullptr;
  for (const auto &section : *sections)
    if (section.sh_type == ELF::SHT_DYNSYM || (section.sh_type == ELF::SHT_SYMTAB && !table)) table = &section;
  if (!table) return result;
  auto symbols = elf.symbols(table);
  if (!symbols) return symbols.takeError();
  auto names = elf.getStringTableForSymtab(*table);
  if (!names) return names.takeError();
  StringSet<> descriptors;
  for (const auto &symbol : *symbols) {
    auto name = symbol.getName(*names);
    if (!name) return name.takeError();
    if (name->ends_with(".kd") && symbol.getType() == ELF::STT_OBJECT) descriptors.insert(name->drop_back(3));
    if (symbol.getType() == ELF::STT_FUNC && symbol.st_shndx != ELF::SHN_UNDEF && !name->empty()) {
      DeviceFunction f;
      f.name = name->str();
      f.bytes = std::min<uint64_t>(symbol.st_size, bytes.size());
      result.functions.push_back(std::move(f));
    }
  }
  for (DeviceFunction &f : result.functions) f.isKernel = descriptors.contains(f.name);
  llvm::sort(result.functions, [](auto &a, auto &b) { return a.name < b.name; });
  return result;
}

} // namespace coppice
