// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the payload of a packed executable, under a hash that is right: what the loader and `coppice unpack`
// check before they believe it. And the branch filter is a bijection.
#include "packer/executable.h"
#include "packer/pack.h"
#include "runtime-stub/loader/packed_format.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <cstring>

using namespace coppice;
using namespace llvm;

static void checkTables(const std::string &payload) {
  std::vector<uint64_t> aligned(payload.size() / 8 + 1);
  std::memcpy(aligned.data(), payload.data(), payload.size());
  PackedTables tables;
  if (readPackedTables(reinterpret_cast<const uint8_t *>(aligned.data()), payload.size(), tables)) return;
  const PackedHeader &h = *tables.header;
  uint64_t at = tables.dataOffset;
  for (uint32_t i = 0; i < h.frames; ++i) {
    at += tables.frameSizes[i];
    if (at > (i < h.loadedFrames ? h.mappedSize : h.totalSize)) abort();
  }
  for (uint32_t i = 0; i < h.loadedRegions; ++i) {
    const PackedRegion &r = tables.regions[i];
    if (r.vaddr < h.imageLow || r.vaddr + r.memorySize > h.imageHigh || r.size > r.memorySize) abort();
    if (r.firstFrame + framesOf(r.size) > h.loadedFrames) abort();
  }
}

static void checkFilter(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto *begin = reinterpret_cast<uint8_t *>(bytes.data());
  filterBranches<true>(begin, size, 4096, uint32_t(size) + 5000);
  filterBranches<false>(begin, size, 4096, uint32_t(size) + 5000);
  if (std::memcmp(begin, data, size)) abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  checkFilter(data, size);
  StringRef input(reinterpret_cast<const char *>(data), size);
  consumeError(readExecutable(input).takeError());
  consumeError(unpack(input).takeError());

  std::string payload(packedMagic, sizeof packedMagic);
  payload.resize(16);
  payload += input;
  if (payload.size() >= sizeof(PackedHeader)) {
    uint64_t mapped;
    std::memcpy(&mapped, payload.data() + offsetof(PackedHeader, mappedSize), 8);
    if (mapped <= payload.size() && mapped >= sizeof(PackedHeader)) {
      uint64_t hash = xxHash64(StringRef(payload).substr(16, mapped - 16));
      std::memcpy(payload.data() + 8, &hash, 8);
    }
  }
  checkTables(payload);
  object::ELF64LE::Ehdr elf;
  std::memset(&elf, 0, sizeof elf);
  std::memcpy(elf.e_ident, ELF::ElfMagic, 4);
  elf.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  elf.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  elf.e_phoff = sizeof elf;
  elf.e_phnum = 1;
  elf.e_phentsize = sizeof(ProgramHeader);
  ProgramHeader load;
  std::memset(&load, 0, sizeof load);
  load.p_type = ELF::PT_LOAD;
  load.p_offset = 128;
  std::string file(reinterpret_cast<const char *>(&elf), sizeof elf);
  file.append(reinterpret_cast<const char *>(&load), sizeof load);
  file.resize(128);
  Expected<std::string> original = unpack(file + payload);
  if (!original && toString(original.takeError()).empty()) abort();
  return 0;
}
