// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What clang packs device images into: bundles (clang-offload-bundler, sections .hip_fatbin), compressed bundles
// ("CCOB") and offload binaries (clang-offload-packager, sections .llvm.offloading). LLVM's own readers of the first
// and the last trust the offsets that they find, so these are read here.
#pragma once
#include "analysis/device/device_image.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace coppice {

struct BundleEntry {
  std::string id; ///< "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+"
  llvm::ArrayRef<uint8_t> image;
  uint64_t offset = 0;
  /// "gfx90a:xnack+"; empty for the host's.
  llvm::StringRef processor() const;
};

struct OffloadBundle {
  std::vector<BundleEntry> entries; ///< into the bytes that were read
  uint64_t size = 0;                ///< to the end of the last image
};

bool isBundle(llvm::ArrayRef<uint8_t> bytes);
llvm::Expected<OffloadBundle> parseBundle(llvm::ArrayRef<uint8_t> bytes);

bool isCompressedBundle(llvm::ArrayRef<uint8_t> bytes);
struct CompressedBundle {
  uint64_t size = 0; ///< with its header; what follows is padding or the next
  uint16_t version = 0;
  DeviceImage::Compression compression = DeviceImage::Compression::None;
  std::unique_ptr<llvm::MemoryBuffer> unpacked;
};
llvm::Expected<CompressedBundle> unpackBundle(llvm::ArrayRef<uint8_t> bytes);

bool isOffloadBinary(llvm::ArrayRef<uint8_t> bytes);
struct OffloadBinaryImage {
  uint16_t imageKind = 0, offloadKind = 0; ///< llvm::object::ImageKind, OffloadKind
  std::string triple, architecture;
  llvm::ArrayRef<uint8_t> image;
  uint64_t offset = 0, size = 0; ///< of the whole offload binary
};
/// Of version 1, the only one that LLVM 22 writes; an error for others, with `size` still set where it is known.
llvm::Expected<OffloadBinaryImage> parseOffloadBinary(llvm::ArrayRef<uint8_t> bytes);

} // namespace coppice
