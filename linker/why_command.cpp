// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/why_command.h"
#include "linker/why_print.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {
namespace {

// The section's contents, in the file's mapping; nullopt if there is none.
Expected<std::optional<StringRef>> findRecord(StringRef file) {
  using Elf = object::ELFFile<object::ELF64LE>;
  if (!file.starts_with(StringRef(ELF::ElfMagic, 4)) || file.size() <= ELF::EI_DATA ||
      file[ELF::EI_CLASS] != ELF::ELFCLASS64 || file[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return createStringError("it is not an ELF file for x86-64");
  auto elf = Elf::create(file);
  if (!elf) return elf.takeError();
  auto sections = elf->sections();
  if (!sections) return sections.takeError();
  for (const auto &section : *sections) {
    auto name = elf->getSectionName(section);
    if (!name) return name.takeError();
    if (*name != whySectionName || section.sh_type == ELF::SHT_NOBITS) continue;
    auto contents = elf->getSectionContents(section);
    if (!contents) return contents.takeError();
    return toStringRef(*contents);
  }
  return std::nullopt;
}

std::optional<WhyRecord> openRecord(const std::string &path, std::unique_ptr<MemoryBuffer> &file,
                                    Diagnostics &diagnostics) {
  auto opened = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!opened) {
    diagnostics.error("COP302", "cannot open '" + path + "': " + opened.getError().message());
    return std::nullopt;
  }
  file = std::move(*opened);
  auto section = findRecord(file->getBuffer());
  if (!section) {
    diagnostics.error("COP302", toString(section.takeError()), {.file = path});
    return std::nullopt;
  }
  if (!*section) {
    diagnostics.error("COP405", "this program has no record of why its parts are there", {.file = path},
                      "link it again with Coppice, without --strip-why and -s, or add --why=NAME to the link");
    return std::nullopt;
  }
  auto record = readWhyRecord(**section);
  if (record) return std::move(*record);
  diagnostics.error("COP302",
                    std::string("section '") + whySectionName + "' is damaged: " + toString(record.takeError()),
                    {.file = path}, "link the program again");
  return std::nullopt;
}

} // namespace

int whyCommand(const WhyOptions &options, raw_ostream &out, raw_ostream &err) {
  Diagnostics diagnostics;
  std::unique_ptr<MemoryBuffer> file;
  std::optional<WhyRecord> record = openRecord(options.program, file, diagnostics);
  if (!record) {
    printText(err, diagnostics.all(), "coppice", err.has_colors());
    return 1;
  }
  WhyMatches matches = findInRecord(*record, options.name);
  if (options.json)
    printWhyAsJson(out, *record, options.program, options.name, matches);
  else
    printWhyAsText(matches.items.empty() ? err : out, *record, options.name, matches);
  return matches.items.empty();
}

} // namespace coppice
