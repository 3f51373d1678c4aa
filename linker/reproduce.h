// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The archive that lld's --reproduce writes, made to reproduce our link: its response file names graphs by --graph and
// has our flags, not the objects that only existed in memory. `ld.coppice @response.txt` inside it links again.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace coppice {

struct ResponseFileEdits {
  /// An input as it stood in lld's arguments, and the line that replaces it; an empty line removes it.
  std::vector<std::pair<std::string, std::string>> replace;
  std::vector<std::string> append;
};

/// Where lld puts a file inside the archive: its absolute path, without the leading slash.
std::string pathInReproduceArchive(llvm::StringRef path);

llvm::Error editReproduceArchive(llvm::StringRef path, const ResponseFileEdits &edits);

} // namespace coppice
