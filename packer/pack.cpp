// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file is cut into regions (segments, and what lies between and behind them), regions into frames of 1 MiB, each
// compressed alone. Around them goes an ELF executable with the program's own addresses: runtime-stub/loader has the
// layout.
#include "packer/pack.h"
#include "packer/executable.h"
#include "packer/loaders.h"
#include "runtime-stub/loader/packed_format.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/xxhash.h"
#include <atomic>
#include <cstring>
#include <memory>
#include <sys/xattr.h>
#include <zstd.h>

using namespace llvm;

namespace coppice {
namespace {

struct Frame {
  uint64_t region, offset, size; ///< offset in the region
  std::string packed;
};

std::vector<PackedRegion> cutIntoRegions(const Executable &program, uint64_t fileSize, bool &overlap) {
  std::vector<PackedRegion> regions;
  for (const ProgramHeader &s : program.segments) {
    uint32_t flags = 0;
    if (s.p_flags & ELF::PF_W) flags |= PackedRegion::Write;
    if (s.p_flags & ELF::PF_X) flags |= PackedRegion::Execute;
    if (s.p_flags & ELF::PF_X && s.p_filesz < uint64_t(1) << 31) flags |= PackedRegion::BranchFilter;
    regions.push_back({s.p_offset, s.p_filesz, s.p_vaddr, s.p_memsz, flags, 0});
  }
  std::vector<PackedRegion> byOffset = regions;
  stable_sort(byOffset, [](const PackedRegion &a, const PackedRegion &b) { return a.offset < b.offset; });
  uint64_t at = 0;
  overlap = false;
  for (const PackedRegion &r : byOffset) {
    if (!r.size) continue;
    if (r.offset < at) overlap = true;
    if (r.offset > at) regions.push_back({at, r.offset - at, 0, 0, 0, 0});
    at = r.offset + r.size;
  }
  if (at < fileSize) regions.push_back({at, fileSize - at, 0, 0, 0, 0});
  return regions;
}

bool compressFrames(StringRef file, ArrayRef<PackedRegion> regions, std::vector<Frame> &frames, int level) {
  std::atomic<bool> failed = false;
  parallelFor(0, frames.size(), [&](size_t i) {
    Frame &frame = frames[i];
    const PackedRegion &region = regions[frame.region];
    std::string source = file.substr(region.offset + frame.offset, frame.size).str();
    if (region.flags & PackedRegion::BranchFilter)
      filterBranches<true>(reinterpret_cast<uint8_t *>(source.data()), source.size(), uint32_t(frame.offset),
                           uint32_t(region.size));
    std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx *)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
    frame.packed.resize(ZSTD_compressBound(source.size()));
    size_t size = ZSTD_compress2(context.get(), frame.packed.data(), frame.packed.size(), source.data(), source.size());
    if (ZSTD_isError(size)) failed = true;
    frame.packed.resize(ZSTD_isError(size) ? 0 : size);
    frame.packed.shrink_to_fit();
  });
  return !failed;
}

StringRef kindOf(const PackedRegion &region) {
  if (!region.memorySize) return "not loaded";
  if (region.flags & PackedRegion::Execute) return "code";
  return region.flags & PackedRegion::Write ? "data" : "constants";
}

std::vector<PackedFile::Part> statistics(ArrayRef<PackedRegion> regions, ArrayRef<Frame> frames) {
  std::vector<PackedFile::Part> parts;
  for (StringRef name : {"code", "constants", "data", "not loaded"}) {
    PackedFile::Part part{name.str(), 0, 0};
    for (const Frame &f : frames) {
      if (kindOf(regions[f.region]) != name) continue;
      part.size += f.size;
      part.packed += f.packed.size();
    }
    parts.push_back(part);
  }
  return parts;
}

template <typename T> void append(std::string &to, const T &value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

ProgramHeader makeHeader(unsigned type, unsigned flags, uint64_t offset, uint64_t vaddr, uint64_t fileSize,
                         uint64_t memorySize, uint64_t align) {
  ProgramHeader p;
  p.p_type = type;
  p.p_flags = flags;
  p.p_offset = offset;
  p.p_vaddr = vaddr;
  p.p_paddr = vaddr;
  p.p_filesz = fileSize;
  p.p_memsz = memorySize;
  p.p_align = align;
  return p;
}

/// The first page of the packed file. It may not have more program headers than the program, in whose image it lies.
/// Beyond those that are needed it repeats what tools look for.
class FirstPage {
public:
  FirstPage(const Executable &program, StringRef file) : program(program), file(file) {}

  // The smallest table that works has five.
  static constexpr size_t needed = 5;

  std::string build(ArrayRef<ProgramHeader> loads, uint64_t entry, uint32_t &headerSize) {
    headers.assign(1, makeHeader(ELF::PT_PHDR, ELF::PF_R, sizeof(Ehdr), program.imageLow + sizeof(Ehdr), 0, 0, 8));
    headers.insert(headers.end(), loads.begin(), loads.end());
    if (const ProgramHeader *stack = program.find(ELF::PT_GNU_STACK)) headers.push_back(*stack);
    size_t most = program.programHeaders.size();
    extraAt = sizeof(Ehdr) + most * sizeof(ProgramHeader);
    // Debuggers find the list of shared libraries by PT_DYNAMIC; in the file it is empty, for what it refers to is not
    // there.
    if (const ProgramHeader *dynamic = program.find(ELF::PT_DYNAMIC); dynamic && headers.size() < most)
      addCopy(*dynamic, std::string(16, '\0'));
    for (const ProgramHeader &p : program.programHeaders)
      if (p.p_type == ELF::PT_NOTE && headers.size() < most && p.p_offset <= file.size() &&
          p.p_filesz <= file.size() - p.p_offset)
        addCopy(p, file.substr(p.p_offset, p.p_filesz).str());

    headerSize = uint32_t(sizeof(Ehdr) + headers.size() * sizeof(ProgramHeader));
    headers[0].p_filesz = headers.size() * sizeof(ProgramHeader);
    headers[0].p_memsz = headers.size() * sizeof(ProgramHeader);
    Ehdr elf = program.header;
    elf.e_entry = entry;
    elf.e_phnum = uint16_t(headers.size());
    elf.e_shoff = 0;
    elf.e_shnum = 0;
    elf.e_shstrndx = 0;
    elf.e_shentsize = 0;
    std::string page;
    append(page, elf);
    for (const ProgramHeader &p : headers) append(page, p);
    page.resize(sizeof(Ehdr) + most * sizeof(ProgramHeader));
    page += extra;
    page.resize(packedPage);
    return page;
  }

private:
  using Ehdr = object::ELF64LE::Ehdr;

  // With contents in this page, where they fit.
  void addCopy(ProgramHeader p, const std::string &contents) {
    uint64_t align = std::max<uint64_t>(1, std::min<uint64_t>(p.p_align, 16));
    uint64_t at = alignTo(extraAt + extra.size(), align);
    if (at + contents.size() > packedPage) return;
    extra.resize(at - extraAt);
    extra += contents;
    p.p_offset = at;
    p.p_filesz = contents.size();
    headers.push_back(p);
  }

  const Executable &program;
  StringRef file;
  std::vector<ProgramHeader> headers;
  std::string extra;
  uint64_t extraAt = 0;
};

Expected<StringRef> findPayload(StringRef file) {
  using Elf = object::ELFFile<object::ELF64LE>;
  if (!file.starts_with(StringRef(ELF::ElfMagic, 4)) || file.size() < sizeof(Elf::Elf_Ehdr) ||
      file[ELF::EI_CLASS] != ELF::ELFCLASS64 || file[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return createStringError("it is not an ELF file for x86-64");
  auto elf = Elf::create(file);
  if (!elf) return elf.takeError();
  auto headers = elf->program_headers();
  if (!headers) return headers.takeError();
  for (const ProgramHeader &p : *headers) {
    if (p.p_type != ELF::PT_LOAD || p.p_offset > file.size()) continue;
    StringRef contents = file.drop_front(p.p_offset);
    if (contents.starts_with(StringRef(packedMagic, sizeof packedMagic))) return contents;
  }
  return createStringError("it is not a packed executable");
}

} // namespace

bool parsePackOptions(StringRef text, PackOptions &options) {
  if (text == "small") {
    options.smallLoader = true;
    return true;
  }
  int level = 0;
  if (text.getAsInteger(10, level) || level < PackOptions::lowestLevel || level > PackOptions::highestLevel)
    return false;
  options.level = level;
  return true;
}

Expected<PackedFile> pack(StringRef file, const PackOptions &options) {
  if (isPacked(file)) return createStringError("it is packed already");
  auto read = readExecutable(file);
  if (!read) return read.takeError();
  const Executable &program = *read;
  if (program.programHeaders.size() < FirstPage::needed)
    return createStringError("it has fewer than five program headers, which the loader needs the place of");
  bool overlap;
  std::vector<PackedRegion> regions = cutIntoRegions(program, file.size(), overlap);
  if (overlap) return createStringError("two of its segments share bytes of the file");

  std::vector<Frame> frames;
  for (auto [index, region] : enumerate(regions)) {
    region.firstFrame = uint32_t(frames.size());
    for (uint64_t at = 0; at < region.size; at += packedFrameSize)
      frames.push_back({index, at, std::min<uint64_t>(packedFrameSize, region.size - at), {}});
  }
  if (!compressFrames(file, regions, frames, options.level)) return createStringError("zstd cannot compress it");
  auto isLoaded = [&](const Frame &f) { return f.region < program.segments.size(); };

  // Where everything goes: image, loader, payload, each from a page of its own.
  std::string loader = (options.smallLoader ? smallLoader() : fastLoader()).str();
  if (loader.empty()) return createStringError("this build of coppice has no loader");
  uint64_t loaderAddress = alignTo(program.imageHigh, 1 << 16);
  uint64_t loaderOffset = packedPage, payloadOffset = alignTo(loaderOffset + loader.size(), packedPage);
  uint64_t payloadAddress = loaderAddress + (payloadOffset - loaderOffset);

  PackedHeader header = {};
  std::memcpy(header.magic, packedMagic, sizeof header.magic);
  header.fileSize = file.size();
  header.fileHash = xxHash64(file);
  header.vaddr = payloadAddress;
  header.imageLow = program.imageLow;
  header.imageHigh = program.imageHigh;
  header.entry = program.header.e_entry;
  if (const ProgramHeader *interpreter = program.find(ELF::PT_INTERP)) {
    header.interpreter = interpreter->p_vaddr;
    header.interpreterSize = interpreter->p_filesz;
  }
  header.programHeaders = uint32_t(program.programHeaders.size());
  header.regions = uint32_t(regions.size());
  header.loadedRegions = uint32_t(program.segments.size());
  header.frames = uint32_t(frames.size());
  header.loadedFrames = uint32_t(count_if(frames, isLoaded));
  header.mappedSize = sizeof header + program.programHeaders.size() * sizeof(ProgramHeader) +
                      regions.size() * sizeof(PackedRegion) + frames.size() * 4;
  PackedFile result;
  result.loaderSize = loader.size();
  result.tableSize = header.mappedSize;
  header.totalSize = header.mappedSize;
  for (const Frame &f : frames) {
    if (isLoaded(f)) header.mappedSize += f.packed.size();
    header.totalSize += f.packed.size();
  }

  uint64_t align = program.header.e_type == ELF::ET_DYN ? packedPage : 0;
  for (const ProgramHeader &s : program.segments) align = std::max<uint64_t>(align, s.p_align);
  // For huge pages; a program at fixed addresses lies where it lies.
  if (program.header.e_type == ELF::ET_DYN && program.imageHigh - program.imageLow >= 2 << 20)
    align = std::max<uint64_t>(align, 2 << 20);
  if (align < packedPage || program.imageLow % align) align = packedPage;
  ProgramHeader loads[] = {makeHeader(ELF::PT_LOAD, ELF::PF_R | ELF::PF_W, 0, program.imageLow, packedPage,
                                      program.imageHigh - program.imageLow, align),
                           makeHeader(ELF::PT_LOAD, ELF::PF_R | ELF::PF_X, loaderOffset, loaderAddress, loader.size(),
                                      loader.size(), packedPage),
                           makeHeader(ELF::PT_LOAD, ELF::PF_R, payloadOffset, payloadAddress, header.mappedSize,
                                      header.mappedSize, packedPage)};
  std::string &bytes = result.bytes;
  bytes = FirstPage(program, file).build(loads, loaderAddress + sizeof(LoaderHeader), header.headerSize);

  int64_t distance = int64_t(payloadAddress - loaderAddress);
  std::memcpy(loader.data() + offsetof(LoaderHeader, payload), &distance, sizeof distance);
  bytes += loader;
  bytes.resize(payloadOffset);
  append(bytes, header);
  for (ProgramHeader p : program.programHeaders) {
    // From where it stands in memory the program may compute its load address.
    if (p.p_type == ELF::PT_PHDR) {
      p.p_vaddr = payloadAddress + sizeof header;
      p.p_paddr = payloadAddress + sizeof header;
    }
    append(bytes, p);
  }
  for (const PackedRegion &r : regions) append(bytes, r);
  for (const Frame &f : frames) append(bytes, uint32_t(f.packed.size()));
  for (const Frame &f : frames) bytes += f.packed;
  uint64_t hash = xxHash64(
      StringRef(bytes).substr(payloadOffset, header.mappedSize).drop_front(offsetof(PackedHeader, mappedSize)));
  std::memcpy(bytes.data() + payloadOffset + offsetof(PackedHeader, hash), &hash, sizeof hash);
  result.parts = statistics(regions, frames);
  return result;
}

bool isPacked(StringRef file) {
  auto payload = findPayload(file);
  if (payload) return true;
  consumeError(payload.takeError());
  return false;
}

Expected<std::string> unpack(StringRef file) {
  auto payload = findPayload(file);
  if (!payload) return payload.takeError();
  PackedTables tables;
  if (const char *wrong = readPackedTables(payload->bytes_begin(), payload->size(), tables))
    return createStringError(wrong);
  const PackedHeader &header = *tables.header;
  if (header.totalSize > payload->size()) return createStringError("the payload is cut off");
  if (xxHash64(payload->take_front(header.mappedSize).drop_front(offsetof(PackedHeader, mappedSize))) != header.hash)
    return createStringError("the payload is damaged (the hash is wrong)");
  // A frame of zstd's is never shorter than a 16,000th of what it holds; a claim beyond that would only take memory.
  if (header.fileSize / (1 << 15) > header.totalSize) return createStringError("the payload is damaged (its size)");

  struct Place {
    const char *source;
    uint64_t packedSize, offset, size, inRegion, region;
  };
  std::vector<Place> places;
  uint64_t source = tables.dataOffset;
  for (uint64_t region = 0; region < header.regions; ++region) {
    const PackedRegion &r = tables.regions[region];
    for (uint64_t at = 0; at < r.size; at += packedFrameSize) {
      uint32_t packedSize = tables.frameSizes[places.size()];
      places.push_back({payload->data() + source, packedSize, r.offset + at,
                        std::min<uint64_t>(packedFrameSize, r.size - at), at, region});
      source += packedSize;
    }
  }
  std::string result(header.fileSize, '\0');
  // Regions that overlap would be written by two at once; what pack() writes has none.
  std::vector<PackedRegion> byOffset(tables.regions, tables.regions + header.regions);
  llvm::sort(byOffset, [](const PackedRegion &a, const PackedRegion &b) {
    return std::pair(a.offset, a.size) < std::pair(b.offset, b.size);
  });
  uint64_t end = 0;
  for (const PackedRegion &r : byOffset) {
    if (r.offset != end && r.size) return createStringError("the regions of the payload are damaged");
    end += r.size;
  }
  std::atomic<bool> failed = false;
  parallelFor(0, places.size(), [&](size_t i) {
    const Place &p = places[i];
    const PackedRegion &r = tables.regions[p.region];
    if (ZSTD_decompress(result.data() + p.offset, p.size, p.source, p.packedSize) != p.size) {
      failed = true;
      return;
    }
    if (r.flags & PackedRegion::BranchFilter)
      filterBranches<false>(reinterpret_cast<uint8_t *>(result.data()) + p.offset, p.size, uint32_t(p.inRegion),
                            uint32_t(r.size));
  });
  if (failed) return createStringError("the payload is damaged (a frame cannot be decoded)");
  if (xxHash64(result) != header.fileHash)
    return createStringError("the payload is damaged (the hash of the original is wrong)");
  return result;
}

Error checkPrivileges(StringRef path) {
  auto permissions = sys::fs::getPermissions(path);
  if (!permissions) return createStringError(permissions.getError(), "its permissions cannot be read");
  if (*permissions & (sys::fs::set_uid_on_exe | sys::fs::set_gid_on_exe))
    return createStringError("it is set-user-ID or set-group-ID");
  if (getxattr(path.str().c_str(), "security.capability", nullptr, 0) > 0)
    return createStringError("it has file capabilities, which the packed file would not have");
  return Error::success();
}

Error writeExecutable(StringRef path, StringRef bytes, StringRef like) {
  auto output = FileOutputBuffer::create(path, bytes.size(), FileOutputBuffer::F_executable);
  if (!output) return output.takeError();
  llvm::copy(bytes, reinterpret_cast<char *>((*output)->getBufferStart()));
  auto permissions = sys::fs::getPermissions(like);
  if (Error error = (*output)->commit()) return error;
  if (permissions)
    if (std::error_code code = sys::fs::setPermissions(path, *permissions)) return errorCodeToError(code);
  return Error::success();
}

} // namespace coppice
