// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/input_file.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace coppice {

// LLVM takes offsets and names in an archive's index as they are. GNU's form, of which thin archives are, too: a
// big-endian count, as many offsets of members' headers, as many names; each number has 4 bytes, in the form for large
// files 8.
static Error checkIndex(const object::Archive &archive) {
  using object::Archive;
  if (!archive.hasSymbolTable()) return Error::success();
  if (archive.kind() != Archive::K_GNU && archive.kind() != Archive::K_GNU64)
    return createStringError(
        "the archive's index is in the form of another system, not in GNU's; make the archive again");
  StringRef index = archive.getSymbolTable();
  size_t size = archive.kind() == Archive::K_GNU ? 4 : 8;
  auto number = [&](size_t i) {
    const char *p = index.data() + i * size;
    return size == 4 ? support::endian::read32be(p) : support::endian::read64be(p);
  };
  if (index.size() < size) return createStringError("the archive's index has " + Twine(index.size()) + " bytes");
  uint64_t count = number(0);
  if (count > index.size() / size - 1)
    return createStringError("the archive's index has " + Twine(index.size()) + " bytes, not enough for " +
                             Twine(count) + " symbols");
  if (uint64_t(index.drop_front((count + 1) * size).count('\0')) < count)
    return createStringError("the archive's index ends within the names of its " + Twine(count) + " symbols");
  constexpr uint64_t headerSize = 60;
  uint64_t end = archive.getMemoryBufferRef().getBufferSize();
  for (uint64_t i = 1; i <= count; ++i)
    if (end < headerSize || number(i) > end - headerSize)
      return createStringError("the archive's index says that a member begins at " + Twine(number(i)) +
                               ", the archive has " + Twine(end) + " bytes");
  return Error::success();
}

Expected<InputFile> openInputFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return errorCodeToError(buffer.getError());
  return classifyInput(path, std::move(*buffer));
}

Expected<InputFile> classifyInput(StringRef path, std::unique_ptr<MemoryBuffer> contents) {
  InputFile result;
  result.path = path.str();
  result.buffer = std::move(contents);
  switch (identify_magic(result.buffer->getBuffer())) {
  case file_magic::elf:
  case file_magic::elf_relocatable:
    result.kind = InputKind::Object;
    break;
  case file_magic::bitcode:
    result.kind = InputKind::Bitcode;
    break;
  case file_magic::elf_shared_object:
    result.kind = InputKind::Shared;
    break;
  case file_magic::archive: {
    auto archive = object::Archive::create(result.ref());
    if (!archive) return archive.takeError();
    if (Error error = checkIndex(**archive)) return error;
    result.archive = std::move(*archive);
    result.kind = InputKind::Archive;
    break;
  }
  default:
    break;
  }
  return result;
}

Expected<ObjectRef> memberObject(const std::vector<InputFile> &inputs, size_t file,
                                 const object::Archive::Child &member) {
  auto name = member.getName();
  if (!name) return name.takeError();
  auto buffer = member.getMemoryBufferRef();
  if (!buffer) return buffer.takeError();
  // LLVM takes the size in a member's header as it is.
  StringRef archive = inputs[file].buffer->getBuffer();
  if (!member.getParent()->isThin() && buffer->getBufferEnd() > archive.end())
    return createStringError("the archive is cut off: this member ends at offset " +
                             Twine(buffer->getBufferEnd() - archive.begin()) + ", the archive has " +
                             Twine(archive.size()) + " bytes");
  ObjectRef result;
  result.file = file;
  result.member = member.getChildOffset();
  result.buffer = *buffer;
  result.name = inputs[file].path + "(" + sys::path::filename(*name).str() + ")";
  return result;
}

} // namespace coppice
