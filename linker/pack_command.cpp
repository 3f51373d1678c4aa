// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/pack_command.h"
#include "linker/text_table.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {
namespace {

std::string percent(uint64_t part, uint64_t whole) {
  std::string text;
  if (whole) raw_string_ostream(text) << format("%.1f%%", 100.0 * double(part) / double(whole));
  return text;
}

void printStatistics(raw_ostream &out, const PackedFile &packed, uint64_t inputSize) {
  TextTable table(
      {{"", TextTable::Left}, {"bytes", TextTable::Right}, {"packed", TextTable::Right}, {"", TextTable::Right}});
  uint64_t rest = packed.bytes.size();
  for (const PackedFile::Part &part : packed.parts) {
    rest -= part.packed;
    if (part.size)
      table.addRow({part.name, withCommas(part.size), withCommas(part.packed), percent(part.packed, part.size)});
  }
  table.addRow({"loader", "", withCommas(packed.loaderSize), ""});
  table.addRow({"tables and headers", "", withCommas(rest - packed.loaderSize), ""});
  table.addRow(
      {"all", withCommas(inputSize), withCommas(packed.bytes.size()), percent(packed.bytes.size(), inputSize)});
  table.print(out, 0);
}

} // namespace

int packCommand(const PackCommandOptions &options, raw_ostream &out, raw_ostream &err) {
  auto fail = [&](const std::string &why) {
    err << "coppice: cannot pack '" << options.input << "': " << why << "\n";
    return 1;
  };
  auto file = MemoryBuffer::getFile(options.input, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) return fail(file.getError().message());
  if (Error error = checkPrivileges(options.input)) return fail(toString(std::move(error)));
  auto packed = pack((*file)->getBuffer(), options.pack);
  if (!packed) return fail(toString(packed.takeError()));
  if (Error error = writeExecutable(options.output, packed->bytes, options.input)) {
    err << "coppice: cannot write '" << options.output << "': " << toString(std::move(error)) << "\n";
    return 1;
  }
  if (options.stats) printStatistics(out, *packed, (*file)->getBufferSize());
  return 0;
}

} // namespace coppice
