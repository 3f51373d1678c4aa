// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/fatbin.h"
#include "analysis/device/cubin.h"
#include "analysis/device/ptx.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include <lz4.h>

using namespace llvm;
using namespace llvm::support::endian;

namespace coppice {
namespace {

constexpr uint8_t magic[] = {0x50, 0xed, 0x55, 0xba};
constexpr uint64_t containerHeader = 16, entryHeader = 64;

std::string hex(uint64_t value) { return "0x" + utohexstr(value, /*LowerCase=*/true); }

} // namespace

bool isFatbin(ArrayRef<uint8_t> bytes) {
  return bytes.size() >= containerHeader && bytes.take_front(4) == ArrayRef(magic) && read16le(&bytes[6]) >= 16;
}

Expected<FatbinContainer> parseFatbin(ArrayRef<uint8_t> section, uint64_t offset) {
  if (offset > section.size() || !isFatbin(section.drop_front(offset)))
    return createStringError("no fatbin starts at " + hex(offset));
  const uint8_t *header = &section[offset];
  uint64_t room = section.size() - offset;
  FatbinContainer container;
  container.offset = offset;
  container.headerSize = read16le(header + 6);
  if (unsigned version = read16le(header + 4); version != 1)
    return createStringError("fatbin of unknown version " + std::to_string(version));
  uint64_t payload = read64le(header + 8);
  if (container.headerSize > room || payload > room - container.headerSize)
    return createStringError("the fatbin says that it has " + std::to_string(payload) + " bytes, there are " +
                             std::to_string(room - std::min(room, container.headerSize)));
  container.size = container.headerSize + payload;

  uint64_t at = offset + container.headerSize, end = offset + container.size;
  while (at < end) {
    uint64_t left = end - at;
    if (left < entryHeader) return createStringError("an entry is cut off at " + hex(at));
    const uint8_t *p = &section[at];
    FatbinEntry entry;
    entry.offset = at;
    entry.kind = read16le(p);
    entry.headerSize = read32le(p + 4);
    entry.payloadSize = read64le(p + 8);
    entry.compressedSize = read32le(p + 16);
    entry.architecture = read32le(p + 28);
    entry.flags = read64le(p + 40);
    entry.unpackedSize = read64le(p + 56);
    if (entry.headerSize < entryHeader || entry.headerSize > left || entry.payloadSize > left - entry.headerSize)
      return createStringError("the entry at " + hex(at) + " is larger than its fatbin");
    if (entry.compressedSize > entry.payloadSize)
      return createStringError("the entry at " + hex(at) + " says that more is compressed than it holds");
    container.entries.push_back(entry);
    at += entry.size();
  }
  return container;
}

Fatbins findFatbins(ArrayRef<uint8_t> section) {
  Fatbins result;
  for (uint64_t at = 0; at + containerHeader <= section.size();) {
    if (!isFatbin(section.drop_front(at))) {
      at += 8;
      continue;
    }
    auto container = parseFatbin(section, at);
    if (!container) {
      result.damaged.push_back({at, toString(container.takeError())});
      at += 8;
      continue;
    }
    at = alignTo(at + container->size, 8);
    result.containers.push_back(std::move(*container));
  }
  return result;
}

Expected<SmallVector<uint8_t, 0>> unpack(ArrayRef<uint8_t> section, const FatbinEntry &entry) {
  if (entry.offset > section.size() || entry.size() > section.size() - entry.offset)
    return createStringError("the entry is cut off");
  ArrayRef<uint8_t> payload = section.slice(entry.offset + entry.headerSize, entry.payloadSize);
  if (entry.flags & FatbinEntry::Scrambled) return createStringError("its contents are scrambled");
  if (!(entry.flags & (FatbinEntry::Lz4 | FatbinEntry::Zstd)))
    return SmallVector<uint8_t, 0>(payload.begin(), payload.end());
  if (entry.unpackedSize > maxUnpackedSize)
    return createStringError("it says that it becomes " + std::to_string(entry.unpackedSize) +
                             " bytes, which is not believed");
  payload = payload.take_front(entry.compressedSize);
  if (payload.size() > maxUnpackedSize) return createStringError("it is too large");
  SmallVector<uint8_t, 0> result;
  if (entry.flags & FatbinEntry::Zstd) {
    if (!compression::zstd::isAvailable()) return createStringError("this LLVM has no zstd");
    if (Error error = compression::zstd::decompress(payload, result, entry.unpackedSize)) return error;
  } else {
    result.resize_for_overwrite(entry.unpackedSize);
    int size = LZ4_decompress_safe(reinterpret_cast<const char *>(payload.data()),
                                   reinterpret_cast<char *>(result.data()), int(payload.size()), int(result.size()));
    if (size < 0) return createStringError("its LZ4 block is damaged");
    result.truncate(size_t(size));
  }
  if (result.size() != entry.unpackedSize)
    return createStringError("it becomes " + std::to_string(result.size()) + " bytes and not " +
                             std::to_string(entry.unpackedSize));
  return result;
}

DeviceImage readImage(ArrayRef<uint8_t> section, const FatbinEntry &entry) {
  DeviceImage image;
  image.offset = entry.offset;
  image.size = entry.size();
  image.unpackedSize = entry.unpackedSize ? entry.unpackedSize : entry.payloadSize;
  if (entry.flags & FatbinEntry::Zstd)
    image.compression = DeviceImage::Compression::Zstd;
  else if (entry.flags & FatbinEntry::Lz4)
    image.compression = DeviceImage::Compression::Lz4;
  image.target = entry.kind == FatbinEntry::Ptx ? ptxTarget(entry.architecture, entry.variant())
                                                : cudaTarget(entry.architecture, entry.variant());
  auto note = [&](Error error) { image.note = toString(std::move(error)); };
  switch (entry.kind) {
  case FatbinEntry::Cubin: {
    image.form = DeviceImage::Form::Cubin;
    auto bytes = unpack(section, entry);
    if (!bytes) return note(bytes.takeError()), image;
    auto functions = readCubinFunctions(*bytes);
    if (!functions) return note(functions.takeError()), image;
    image.functions = std::move(*functions);
    break;
  }
  case FatbinEntry::Ptx: {
    image.form = DeviceImage::Form::Ptx;
    auto bytes = unpack(section, entry);
    if (!bytes) return note(bytes.takeError()), image;
    image.functions = readPtx(toStringRef(*bytes)).functions;
    break;
  }
  case FatbinEntry::LtoIr:
    image.form = DeviceImage::Form::LtoIr;
    break;
  default:
    image.note = "entry of unknown kind " + std::to_string(entry.kind);
  }
  return image;
}

} // namespace coppice
