// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/offload_bundle.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace llvm::support::endian;

namespace coppice {
namespace {

constexpr StringLiteral bundleMagic = "__CLANG_OFFLOAD_BUNDLE__";

bool isWithin(uint64_t offset, uint64_t size, uint64_t room) { return offset <= room && size <= room - offset; }

} // namespace

StringRef BundleEntry::processor() const {
  StringRef rest = id;
  if (rest.starts_with("host")) return {};
  // kind-architecture-vendor-os-environment-processor; the environment may be empty.
  for (unsigned i = 0; i < 5; ++i) {
    size_t dash = rest.find('-');
    if (dash == StringRef::npos) return {};
    rest = rest.drop_front(dash + 1);
  }
  return rest;
}

bool isBundle(ArrayRef<uint8_t> bytes) { return toStringRef(bytes).starts_with(bundleMagic); }

Expected<OffloadBundle> parseBundle(ArrayRef<uint8_t> bytes) {
  if (!isBundle(bytes)) return createStringError("this is no offload bundle");
  OffloadBundle bundle;
  uint64_t at = bundleMagic.size();
  if (!isWithin(at, 8, bytes.size())) return createStringError("the bundle is cut off");
  uint64_t count = read64le(&bytes[at]);
  bundle.size = at += 8;
  for (uint64_t i = 0; i < count; ++i) {
    if (!isWithin(at, 24, bytes.size()))
      return createStringError("the bundle is cut off in entry " + std::to_string(i));
    BundleEntry entry;
    entry.offset = read64le(&bytes[at]);
    uint64_t size = read64le(&bytes[at + 8]), length = read64le(&bytes[at + 16]);
    at += 24;
    if (!isWithin(at, length, bytes.size()) || !isWithin(entry.offset, size, bytes.size()))
      return createStringError("entry " + std::to_string(i) + " of the bundle is larger than the bundle");
    entry.id = toStringRef(bytes.slice(at, length)).str();
    entry.image = bytes.slice(entry.offset, size);
    at += length;
    bundle.size = std::max({bundle.size, at, entry.offset + size});
    bundle.entries.push_back(std::move(entry));
  }
  return bundle;
}

bool isCompressedBundle(ArrayRef<uint8_t> bytes) { return toStringRef(bytes).starts_with("CCOB"); }

Expected<CompressedBundle> unpackBundle(ArrayRef<uint8_t> bytes) {
  using object::CompressedOffloadBundle;
  auto header = CompressedOffloadBundle::CompressedBundleHeader::tryParse(toStringRef(bytes));
  if (!header) return header.takeError();
  if (header->UncompressedFileSize > maxUnpackedSize)
    return createStringError("the compressed bundle says that it becomes " +
                             std::to_string(header->UncompressedFileSize) + " bytes, which is not believed");
  CompressedBundle result;
  result.size = header->FileSize.value_or(bytes.size());
  result.version = uint16_t(header->Version);
  uint64_t headerSize = header->Version >= 3 ? 32 : header->Version == 2 ? 24 : 20;
  if (result.size > bytes.size() || result.size < headerSize)
    return createStringError("the compressed bundle says that it has " + std::to_string(result.size) +
                             " bytes, there are " + std::to_string(bytes.size()));
  result.compression = header->CompressionFormat == compression::Format::Zstd ? DeviceImage::Compression::Zstd
                                                                              : DeviceImage::Compression::Zlib;
  auto input = MemoryBuffer::getMemBuffer(toStringRef(bytes.take_front(result.size)), "bundle", false);
  auto unpacked = CompressedOffloadBundle::decompress(*input);
  if (!unpacked) return unpacked.takeError();
  result.unpacked = std::move(*unpacked);
  return result;
}

bool isOffloadBinary(ArrayRef<uint8_t> bytes) { return toStringRef(bytes).starts_with("\x10\xFF\x10\xAD"); }

Expected<OffloadBinaryImage> parseOffloadBinary(ArrayRef<uint8_t> bytes) {
  if (!isOffloadBinary(bytes) || bytes.size() < 32) return createStringError("this is no offload binary");
  if (uint32_t version = read32le(&bytes[4]); version != 1)
    return createStringError("offload binary of unknown version " + std::to_string(version));
  OffloadBinaryImage result;
  result.size = read64le(&bytes[8]);
  if (result.size < 32 || result.size > bytes.size()) return createStringError("the offload binary is cut off");
  bytes = bytes.take_front(result.size);
  uint64_t entry = read64le(&bytes[16]);
  if (!isWithin(entry, 40, bytes.size())) return createStringError("the offload binary has no entry");
  result.imageKind = read16le(&bytes[entry]);
  result.offloadKind = read16le(&bytes[entry + 2]);
  uint64_t strings = read64le(&bytes[entry + 8]), count = read64le(&bytes[entry + 16]);
  uint64_t image = read64le(&bytes[entry + 24]), imageSize = read64le(&bytes[entry + 32]);
  if (count > bytes.size() / 16 || !isWithin(strings, count * 16, bytes.size()) ||
      !isWithin(image, imageSize, bytes.size()))
    return createStringError("the offload binary is damaged: a part is larger than the whole");
  result.image = bytes.slice(image, imageSize);
  result.offset = image;
  auto stringAt = [&](uint64_t offset) {
    if (offset >= bytes.size()) return StringRef();
    return toStringRef(bytes.drop_front(offset)).split('\0').first;
  };
  for (uint64_t i = 0; i < count; ++i) {
    StringRef key = stringAt(read64le(&bytes[strings + 16 * i]));
    StringRef value = stringAt(read64le(&bytes[strings + 16 * i + 8]));
    if (key == "triple") result.triple = value.str();
    if (key == "arch") result.architecture = value.str();
  }
  return result;
}

} // namespace coppice
