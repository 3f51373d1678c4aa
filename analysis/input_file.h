// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inputs of a link, opened. Files are mapped; members of archives are slices of them.
#pragma once
#include "llvm/Object/Archive.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace coppice {

enum class InputKind { Object, Bitcode, Archive, Shared, Other };

struct InputFile {
  std::string path; ///< as the user or the library search spells it
  InputKind kind = InputKind::Other;
  bool wholeArchive = false, lazy = false;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::unique_ptr<llvm::object::Archive> archive; ///< kind Archive
  llvm::MemoryBufferRef ref() const { return buffer->getMemBufferRef(); }
};

/// Opens and classifies; the error has no path in it.
llvm::Expected<InputFile> openInputFile(llvm::StringRef path);

/// The same for contents that are in memory.
llvm::Expected<InputFile> classifyInput(llvm::StringRef path, std::unique_ptr<llvm::MemoryBuffer> contents);

/// An object of the link: a file, or a member of an archive.
struct ObjectRef {
  size_t file = 0;     ///< index into the inputs
  uint64_t member = 0; ///< offset of the member's header in its archive; 0: the file itself
  llvm::MemoryBufferRef buffer;
  std::string name; ///< "demo.o", "libk.a(conv.o)"
};

/// The member of an archive as an object of the link.
llvm::Expected<ObjectRef> memberObject(const std::vector<InputFile> &inputs, size_t file,
                                       const llvm::object::Archive::Child &member);

} // namespace coppice
