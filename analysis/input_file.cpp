// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/input_file.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace coppice {

Expected<InputFile> openInputFile(StringRef path) {
  InputFile result;
  result.path = path.str();
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return errorCodeToError(buffer.getError());
  result.buffer = std::move(*buffer);
  switch (identify_magic(result.buffer->getBuffer())) {
  case file_magic::elf:
  case file_magic::elf_relocatable: result.kind = InputKind::Object; break;
  case file_magic::bitcode: result.kind = InputKind::Bitcode; break;
  case file_magic::elf_shared_object: result.kind = InputKind::Shared; break;
  case file_magic::archive: {
    auto archive = object::Archive::create(result.ref());
    if (!archive) return archive.takeError();
    result.archive = std::move(*archive);
    result.kind = InputKind::Archive;
    break;
  }
  default: break;
  }
  return result;
}

Expected<ObjectRef> memberObject(const std::vector<InputFile> &inputs, size_t file,
                                 const object::Archive::Child &member) {
  auto name = member.getName();
  if (!name) return name.takeError();
  auto buffer = member.getMemoryBufferRef();
  if (!buffer) return buffer.takeError();
  ObjectRef result;
  result.file = file;
  result.member = member.getChildOffset();
  result.buffer = *buffer;
  result.name = inputs[file].path + "(" + sys::path::filename(*name).str() + ")";
  return result;
}

} // namespace coppice
