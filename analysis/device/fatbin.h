// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's fatbin containers: a header of 16 bytes and entries that follow each other, each an image for one target
// (docs/device-code.md has the layout). All fields are little-endian.
#pragma once
#include "analysis/device/device_image.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace coppice {

struct FatbinEntry {
  enum Kind : uint16_t { Ptx = 1, Cubin = 2, LtoIr = 8 };
  enum Flag : uint64_t {
    Lz4 = 0x2000,
    Zstd = 0x8000,
    Scrambled = 0x10000,
    ArchitectureSpecific = 0x100000, ///< sm_90a
    FamilySpecific = 0x200000        ///< sm_100f
  };
  uint64_t offset = 0; ///< from the start of the section
  uint16_t kind = 0;   ///< a Kind, or another number
  uint32_t headerSize = 0;
  uint64_t payloadSize = 0; ///< with padding
  uint32_t compressedSize = 0;
  uint32_t architecture = 0; ///< 90
  uint64_t flags = 0;
  uint64_t unpackedSize = 0;
  uint64_t size() const { return headerSize + payloadSize; }
  char variant() const { return flags & ArchitectureSpecific ? 'a' : flags & FamilySpecific ? 'f' : 0; }
  bool isKnownKind() const { return kind == Ptx || kind == Cubin || kind == LtoIr; }
};

struct FatbinContainer {
  uint64_t offset = 0, headerSize = 0, size = 0; ///< `size` with the header
  std::vector<FatbinEntry> entries;
};

/// Does a container seem to start here?
bool isFatbin(llvm::ArrayRef<uint8_t> bytes);

/// The container at `offset`; its entries lie in it and fill it exactly.
llvm::Expected<FatbinContainer> parseFatbin(llvm::ArrayRef<uint8_t> section, uint64_t offset);

/// Containers of a section of any kind: where a magic number stands at a multiple of 8. `damaged`: places that look
/// like a container and are none.
struct Fatbins {
  std::vector<FatbinContainer> containers;
  std::vector<std::pair<uint64_t, std::string>> damaged;
};
Fatbins findFatbins(llvm::ArrayRef<uint8_t> section);

/// The image of an entry of `section`, decompressed. Fails for scrambled ones and for sizes over maxUnpackedSize.
llvm::Expected<llvm::SmallVector<uint8_t, 0>> unpack(llvm::ArrayRef<uint8_t> section, const FatbinEntry &entry);

/// What an entry holds; what cannot be read is said in `note`.
DeviceImage readImage(llvm::ArrayRef<uint8_t> section, const FatbinEntry &entry);

} // namespace coppice
