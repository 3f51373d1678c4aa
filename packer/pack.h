// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packed executables: an executable, compressed, behind a loader that decodes it to its place in memory
// (runtime-stub/loader). What is packed comes back byte for byte by unpack().
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace coppice {

struct PackOptions {
  static constexpr int defaultLevel = 9, lowestLevel = 1, highestLevel = 22;
  int level = defaultLevel; ///< of zstd
  bool smallLoader = false;
};

/// "19" or "small"; false if it is neither.
bool parsePackOptions(llvm::StringRef text, PackOptions &options);

struct PackedFile {
  std::string bytes;
  // For --stats.
  uint64_t loaderSize = 0, tableSize = 0;
  struct Part {
    std::string name; ///< "code", "constants", "data", "not loaded"
    uint64_t size = 0, packed = 0;
  };
  std::vector<Part> parts;
};

/// `program` is a whole ELF file. The error says why it cannot be packed.
llvm::Expected<PackedFile> pack(llvm::StringRef program, const PackOptions &options);

/// Is this something that pack() wrote?
bool isPacked(llvm::StringRef file);

/// The original. The error says what is wrong with the file, which may be hostile.
llvm::Expected<std::string> unpack(llvm::StringRef packed);

/// Why a file must not be packed for what the file system says about it: set-user-ID, set-group-ID, capabilities.
llvm::Error checkPrivileges(llvm::StringRef path);

/// Writes `bytes` as `path`, executable, with the permissions of the file `like` if that is there, in one step.
llvm::Error writeExecutable(llvm::StringRef path, llvm::StringRef bytes, llvm::StringRef like);

} // namespace coppice
