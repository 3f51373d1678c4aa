// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a packed executable holds: written by packer/, read by the loader and by `coppice unpack`.
//
// The file is an ELF executable of three segments: the image of the program, of which the file has only the ELF header
// and the program headers (memory for all of it, nothing else); the loader; and the payload, which starts with a
// PackedHeader. The payload's tables and frames of the image are mapped; frames of what no segment holds (symbols,
// debug information, section headers) lie behind them in the file and are for `coppice unpack` only.
//
//   PackedHeader | program headers | PackedRegion[] | u32 frame sizes[] | frames of the image | other frames
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace coppice {

inline constexpr char packedMagic[8] = {'C', 'O', 'P', 'P', 'A', 'C', 'K', '1'};
inline constexpr char loaderMagic[8] = {'C', 'O', 'P', 'L', 'O', 'A', 'D', '1'};
inline constexpr uint32_t packedFrameSize = 1 << 20; ///< of the original; the last one of a region may be shorter
inline constexpr uint64_t packedPage = 4096;
inline constexpr uint32_t maxPackedRegions = 64, maxProgramHeaders = 64;

struct PackedHeader {
  char magic[8];
  uint64_t hash;                ///< XXH64 of [start of `mappedSize`, mappedSize)
  uint64_t mappedSize;          ///< from the magic to the end of the frames of the image
  uint64_t totalSize;           ///< to the end of the other frames
  uint64_t fileSize;            ///< of the original
  uint64_t fileHash;            ///< XXH64 of the original
  uint64_t vaddr;               ///< of this header; all addresses are as in the ELF file, without the load address
  uint64_t imageLow, imageHigh; ///< whole pages
  uint64_t entry;               ///< of the program
  uint64_t interpreter;         ///< address of PT_INTERP's string, 0 if there is none
  uint64_t interpreterSize;     ///< with the zero at its end
  uint32_t headerSize;          ///< ELF header and program headers of the packed file: not overwritten in the image
  uint32_t programHeaders;      ///< number; those of the original, PT_PHDR moved to here
  uint32_t regions;             ///< number; those of the image first
  uint32_t loadedRegions;       ///< of these, how many belong to the image
  uint32_t frames;              ///< number
  uint32_t loadedFrames;        ///< of these, how many belong to the image
};

/// A part of the original file, cut into frames.
struct PackedRegion {
  enum Flag : uint32_t { Write = 1, Execute = 2, BranchFilter = 4 };
  uint64_t offset, size;      ///< in the original file
  uint64_t vaddr, memorySize; ///< of the segment; 0 for what is not loaded
  uint32_t flags;
  uint32_t firstFrame;
};

/// Where the loader's code starts; the first instruction stands behind this.
struct LoaderHeader {
  char magic[8];
  int64_t payload; ///< from the start of this to the payload's header; the packer writes it
};

inline constexpr uint64_t framesOf(uint64_t size) { return (size + packedFrameSize - 1) / packedFrameSize; }

/// The payload's tables, checked.
struct PackedTables {
  const PackedHeader *header;
  const uint8_t *programHeaders;
  const PackedRegion *regions;
  const uint32_t *frameSizes;
  uint64_t dataOffset; ///< of the first frame, from the header
};

/// Reads tables that may be hostile: `available` bytes stand at `data`. Returns what is wrong, nullptr if all is well.
/// After that every region of the image lies in [imageLow, imageHigh), on pages of its own, and all frames lie in
/// [dataOffset, totalSize), those of the image before mappedSize.
inline const char *readPackedTables(const uint8_t *data, uint64_t available, PackedTables &tables) {
  if (available < sizeof(PackedHeader) || reinterpret_cast<uintptr_t>(data) % 8) return "the payload is cut off";
  const auto &h = *reinterpret_cast<const PackedHeader *>(data);
  for (int i = 0; i < 8; ++i)
    if (h.magic[i] != packedMagic[i]) return "this is not a packed executable";
  constexpr uint64_t most = uint64_t(1) << 46; // of addresses and sizes: sums of two do not overflow
  if (h.mappedSize > available || h.mappedSize > h.totalSize || h.totalSize > most || h.fileSize > most)
    return "the payload is cut off";
  if (h.regions > maxPackedRegions || h.loadedRegions > h.regions || h.loadedFrames > h.frames ||
      h.programHeaders > maxProgramHeaders || h.frames > most / packedFrameSize)
    return "the tables of the payload are damaged";
  tables.header = &h;
  uint64_t at = sizeof(PackedHeader);
  tables.programHeaders = data + at;
  at += h.programHeaders * uint64_t(56);
  tables.regions = reinterpret_cast<const PackedRegion *>(data + at);
  at += h.regions * uint64_t(sizeof(PackedRegion));
  tables.frameSizes = reinterpret_cast<const uint32_t *>(data + at);
  at += h.frames * uint64_t(4);
  tables.dataOffset = at;
  if (at > h.mappedSize) return "the tables of the payload are damaged";

  if (h.imageHigh > most || h.imageLow >= h.imageHigh || (h.imageLow | h.imageHigh) % packedPage || h.vaddr > most ||
      h.vaddr < h.imageHigh || h.headerSize > packedPage || h.entry < h.imageLow || h.entry >= h.imageHigh)
    return "the addresses of the payload are damaged";
  if (h.interpreter && (h.interpreter < h.imageLow || h.interpreter > h.imageHigh || !h.interpreterSize ||
                        h.interpreterSize > h.imageHigh - h.interpreter))
    return "the addresses of the payload are damaged";

  uint64_t frame = 0, low = h.imageLow, covered = 0;
  for (uint32_t i = 0; i < h.regions; ++i) {
    const PackedRegion &r = tables.regions[i];
    if (r.size > h.fileSize || r.offset > h.fileSize - r.size) return "the regions of the payload are damaged";
    covered += r.size;
    if (r.firstFrame != frame || (frame += framesOf(r.size)) > h.frames)
      return "the regions of the payload are damaged";
    if (i + 1 == h.loadedRegions && frame != h.loadedFrames) return "the regions of the payload are damaged";
    if (i >= h.loadedRegions) continue;
    if (r.memorySize > most || r.size > r.memorySize || r.vaddr < low || r.vaddr > h.imageHigh ||
        r.memorySize > h.imageHigh - r.vaddr || (r.flags & PackedRegion::Write && r.flags & PackedRegion::Execute))
      return "the regions of the payload are damaged";
    low = (r.vaddr + r.memorySize + packedPage - 1) / packedPage * packedPage;
  }
  if (frame != h.frames || (!h.loadedRegions && h.loadedFrames) || covered != h.fileSize)
    return "the regions of the payload are damaged";

  uint64_t end = at;
  for (uint32_t i = 0; i < h.frames; ++i) {
    end += tables.frameSizes[i];
    if (i + 1 == h.loadedFrames && end > h.mappedSize) return "the frames of the payload are damaged";
  }
  return end == h.totalSize ? nullptr : "the frames of the payload are damaged";
}

/// Makes targets of calls and jumps absolute (`encode`) or relative again, so that calls to one function look alike. A
/// bijection on all inputs: an operand outside of what is converted stays as it is, and both directions skip the same
/// bytes. `position` is the place of `data` in the region, `range` the region's size.
template <bool encode> inline void filterBranches(uint8_t *data, uint64_t size, uint32_t position, uint32_t range) {
  if (size < 5) return;
  const int64_t limit = range;
  for (uint64_t i = 0; i <= size - 5;) {
    uint8_t c = data[i];
    bool isConditional = c == 0x0F && (data[i + 1] & 0xF0) == 0x80;
    if ((c & 0xFE) != 0xE8 && !(isConditional && i + 6 <= size)) {
      ++i;
      continue;
    }
    i += isConditional ? 2 : 1;
    int32_t value;
    __builtin_memcpy(&value, data + i, 4);
    const int64_t here = int64_t(position) + int64_t(i) + 4;
    if (value >= -here && value < limit) {
      if constexpr (encode)
        value = int32_t(value < limit - here ? value + here : value - limit);
      else
        value = int32_t(value >= 0 ? value - here : value + limit);
      __builtin_memcpy(data + i, &value, 4);
    }
    i += 4;
  }
}

} // namespace coppice
