// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/unpack_command.h"
#include "packer/pack.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {

int unpackCommand(const UnpackOptions &options, raw_ostream &err) {
  auto fail = [&](const std::string &why) {
    err << "coppice: cannot unpack '" << options.input << "': " << why << "\n";
    return 1;
  };
  auto file = MemoryBuffer::getFile(options.input, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) return fail(file.getError().message());
  auto original = unpack((*file)->getBuffer());
  if (!original) return fail(toString(original.takeError()));
  if (Error error = writeExecutable(options.output, *original, options.input)) {
    err << "coppice: cannot write '" << options.output << "': " << toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}

} // namespace coppice
