// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/device_targets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::support::endian;

namespace coppice {
namespace {

bool isSame(const DeviceTarget &a, const DeviceTarget &b) { return a.family == b.family && a.name == b.name; }

void addOnce(std::vector<DeviceTarget> &list, const DeviceTarget &target) {
  if (none_of(list, [&](const DeviceTarget &t) { return isSame(t, target); })) list.push_back(target);
}

DeviceTarget targetOf(const FatbinEntry &entry) {
  return entry.kind == FatbinEntry::Ptx ? ptxTarget(entry.architecture, entry.variant())
                                        : cudaTarget(entry.architecture, entry.variant());
}

/// Of sm_103: 10.
unsigned majorOf(unsigned sm) { return sm / 10; }

/// Cubins of Jetson's GPUs run on these alone ("CUDA C++ Programming Guide", Binary Compatibility).
bool isTegra(unsigned sm) { return sm == 53 || sm == 62 || sm == 72 || sm == 87 || sm == 101; }

/// Can a GPU of this version run the cubin? `device` sm_103a runs what sm_103 runs, and what is for sm_103a.
bool cubinServes(const FatbinEntry &cubin, const DeviceTarget &device, bool exact) {
  if (cubin.architecture == device.sm && cubin.variant() == device.variant) return true;
  if (exact || cubin.variant() || isTegra(cubin.architecture) || isTegra(device.sm)) return false;
  return majorOf(cubin.architecture) == majorOf(device.sm) && cubin.architecture <= device.sm;
}

bool ptxServes(const FatbinEntry &ptx, const DeviceTarget &device) {
  if (ptx.variant()) return ptx.architecture == device.sm && ptx.variant() == device.variant;
  return ptx.architecture <= device.sm;
}

/// Of those that serve a device the driver takes the one made for it, else the highest.
bool isBetter(const FatbinEntry &a, const FatbinEntry &b) {
  return std::pair(a.architecture, a.variant() != 0) > std::pair(b.architecture, b.variant() != 0);
}

StringRef bareProcessor(StringRef processor) { return processor.split(':').first; }
bool isGeneric(StringRef processor) { return bareProcessor(processor).ends_with("-generic"); }

/// "gfx90a" stands for any setting of xnack and sramecc, on both sides.
bool codeObjectServes(StringRef processor, StringRef wanted) {
  if (bareProcessor(processor) != bareProcessor(wanted)) return false;
  SmallVector<StringRef> features;
  processor.split(features, ':');
  for (StringRef feature : ArrayRef(features).drop_front()) {
    if (feature.empty()) continue;
    StringRef other = feature.drop_back();
    for (StringRef wish : split(wanted, ':'))
      if (!wish.empty() && wish.drop_back() == other && wish != feature) return false;
  }
  return true;
}

constexpr uint64_t bundleAlignment = 4096;

std::string writeBundle(const OffloadBundle &bundle, ArrayRef<bool> keep) {
  std::string out = "__CLANG_OFFLOAD_BUNDLE__";
  auto put = [&](uint64_t value) {
    char bytes[8];
    write64le(bytes, value);
    out.append(bytes, 8);
  };
  uint64_t header = out.size() + 8, count = 0;
  for (size_t i = 0; i < bundle.entries.size(); ++i)
    if (keep[i]) {
      header += 24 + bundle.entries[i].id.size();
      ++count;
    }
  put(count);
  uint64_t at = header;
  auto placeOf = [&](const BundleEntry &entry) {
    at = alignTo(at, bundleAlignment);
    uint64_t place = at;
    at += entry.image.size();
    return place;
  };
  for (size_t i = 0; i < bundle.entries.size(); ++i)
    if (keep[i]) {
      put(placeOf(bundle.entries[i]));
      put(bundle.entries[i].image.size());
      put(bundle.entries[i].id.size());
      out += bundle.entries[i].id;
    }
  for (size_t i = 0; i < bundle.entries.size(); ++i)
    if (keep[i]) {
      out.resize(alignTo(out.size(), bundleAlignment));
      out += toStringRef(bundle.entries[i].image);
    }
  return out;
}

void pruneFatbin(ArrayRef<uint8_t> section, const WantedTargets &wanted, PrunedSection &result) {
  auto fatbin = parseFatbin(section, 0);
  if (!fatbin) {
    result.notes.push_back(toString(fatbin.takeError()));
    return;
  }
  for (const FatbinEntry &entry : fatbin->entries) addOnce(result.present, targetOf(entry));
  KeptImages kept = keptImages(*fatbin, wanted);
  for (const DeviceTarget &target : wanted.cuda)
    if (none_of(kept.unserved, [&](const DeviceTarget &t) { return isSame(t, target); }))
      addOnce(result.served, target);
  result.byPtx = kept.byPtx;
  for (const DeviceTarget &target : kept.carried)
    result.notes.push_back("an image for " + target.str() + " is of a kind that is not pruned");
  if (any_of(section.drop_front(fatbin->size), [](uint8_t byte) { return byte != 0; })) {
    result.notes.push_back("there is more than one fatbin in this section");
    return;
  }
  if (all_of(kept.keep, [](bool keep) { return keep; })) return;
  std::string contents = toStringRef(section.take_front(fatbin->headerSize)).str();
  for (size_t i = 0; i < fatbin->entries.size(); ++i)
    if (kept.keep[i]) contents += toStringRef(section.slice(fatbin->entries[i].offset, fatbin->entries[i].size()));
  write64le(&contents[8], contents.size() - fatbin->headerSize);
  result.contents = std::move(contents);
}

void pruneBundle(ArrayRef<uint8_t> section, const WantedTargets &wanted, PrunedSection &result) {
  ArrayRef<uint8_t> bytes = section;
  CompressedBundle packed;
  if (isCompressedBundle(section)) {
    auto unpacked = unpackBundle(section);
    if (!unpacked) {
      result.notes.push_back(toString(unpacked.takeError()));
      return;
    }
    packed = std::move(*unpacked);
    bytes = arrayRefFromStringRef(packed.unpacked->getBuffer());
  }
  auto bundle = parseBundle(bytes);
  if (!bundle) {
    result.notes.push_back(toString(bundle.takeError()));
    return;
  }
  for (const BundleEntry &entry : bundle->entries)
    if (!entry.processor().empty()) addOnce(result.present, hipTarget(entry.processor()));
  KeptImages kept = keptImages(*bundle, wanted);
  for (const DeviceTarget &target : wanted.hip)
    if (none_of(kept.unserved, [&](const DeviceTarget &t) { return isSame(t, target); }))
      addOnce(result.served, target);
  for (const DeviceTarget &target : kept.carried)
    result.notes.push_back("an image '" + target.name + "' is not for a processor that is known");
  uint64_t size = packed.unpacked ? packed.size : bundle->size;
  if (any_of(section.drop_front(size), [](uint8_t byte) { return byte != 0; })) {
    result.notes.push_back("there is more than one bundle in this section");
    return;
  }
  if (all_of(kept.keep, [](bool keep) { return keep; })) return;
  SmallVector<bool> keep(kept.keep.begin(), kept.keep.end());
  std::string contents = writeBundle(*bundle, keep);
  if (packed.unpacked) {
    auto format =
        packed.compression == DeviceImage::Compression::Zstd ? compression::Format::Zstd : compression::Format::Zlib;
    auto input = MemoryBuffer::getMemBuffer(contents, "bundle", false);
    auto again = object::CompressedOffloadBundle::compress(compression::Params(format), *input, packed.version);
    if (!again) {
      result.notes.push_back(toString(again.takeError()));
      return;
    }
    contents = (*again)->getBuffer().str();
  }
  if (contents.size() < section.size()) result.contents = std::move(contents);
}

} // namespace

bool addWantedTarget(StringRef item, WantedTargets &wanted, std::string &why) {
  auto [family, name] = item.split(':');
  if (item == "ptx") {
    wanted.ptx = true;
    return true;
  }
  if (family == "cuda") {
    StringRef rest = name;
    unsigned number = 0;
    if (rest.consume_front("sm_") && !rest.consumeInteger(10, number) && number >= 10 && number < 1000 &&
        (rest.empty() || rest == "a" || rest == "f")) {
      addOnce(wanted.cuda, cudaTarget(number, rest.empty() ? 0 : rest[0]));
      return true;
    }
    why = ("'" + name + "' is no CUDA architecture: sm_90, sm_90a, sm_100f").str();
    return false;
  }
  if (family == "hip") {
    if (name.starts_with("gfx") && name.size() > 3) {
      addOnce(wanted.hip, hipTarget(name));
      return true;
    }
    why = ("'" + name + "' is no AMD processor: gfx942, gfx90a:xnack+").str();
    return false;
  }
  why = ("'" + item + "' names no target family (cpu:, cuda:, hip:, ptx)").str();
  return false;
}

KeptImages keptImages(const FatbinContainer &fatbin, const WantedTargets &wanted) {
  KeptImages result;
  const auto &entries = fatbin.entries;
  result.keep.assign(entries.size(), false);
  auto isPlain = [](const FatbinEntry &e) { return e.kind == FatbinEntry::Cubin || e.kind == FatbinEntry::Ptx; };
  for (size_t i = 0; i < entries.size(); ++i) {
    bool carried = !isPlain(entries[i]);
    if (carried) addOnce(result.carried, targetOf(entries[i]));
    // Who asks for HIP alone says nothing of CUDA.
    result.keep[i] = carried || wanted.cuda.empty() || (wanted.ptx && entries[i].kind == FatbinEntry::Ptx);
  }
  if (wanted.cuda.empty()) return result;

  bool servesAny = false;
  for (const DeviceTarget &device : wanted.cuda) {
    auto best = [&](uint16_t kind, auto serves) {
      std::optional<size_t> best;
      for (size_t i = 0; i < entries.size(); ++i)
        if (entries[i].kind == kind && serves(entries[i]) && (!best || isBetter(entries[i], entries[*best]))) best = i;
      return best;
    };
    auto keepAllLike = [&](size_t best) { // there may be one for each source file
      for (size_t i = 0; i < entries.size(); ++i)
        if (entries[i].kind == entries[best].kind && isSame(targetOf(entries[i]), targetOf(entries[best])))
          result.keep[i] = true;
      servesAny = true;
    };
    if (auto cubin = best(FatbinEntry::Cubin, [&](auto &e) { return cubinServes(e, device, wanted.exact); })) {
      keepAllLike(*cubin);
    } else if (auto ptx = best(FatbinEntry::Ptx, [&](auto &e) { return ptxServes(e, device); })) {
      keepAllLike(*ptx);
      result.byPtx.push_back(device);
    } else {
      result.unserved.push_back(device);
    }
  }
  // A fatbin that serves nobody stays one that serves nobody, with the least of its images: an empty one is a thing
  // that no driver has been seen to take.
  if (!servesAny && !entries.empty() && none_of(result.keep, [](bool keep) { return keep; })) {
    size_t least = 0;
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].size() < entries[least].size()) least = i;
    result.keep[least] = true;
  }
  return result;
}

KeptImages keptImages(const OffloadBundle &bundle, const WantedTargets &wanted) {
  KeptImages result;
  const auto &entries = bundle.entries;
  result.keep.assign(entries.size(), wanted.hip.empty());
  bool needsGeneric = false;
  for (const DeviceTarget &device : wanted.hip) {
    bool served = false;
    for (size_t i = 0; i < entries.size(); ++i)
      if (codeObjectServes(entries[i].processor(), device.name)) result.keep[i] = served = true;
    if (served) continue;
    needsGeneric = true;
    if (wanted.exact || none_of(entries, [](const BundleEntry &e) { return isGeneric(e.processor()); }))
      result.unserved.push_back(device);
  }
  size_t images = 0, kept = 0, least = SIZE_MAX;
  for (size_t i = 0; i < entries.size(); ++i) {
    StringRef processor = entries[i].processor();
    bool isHost = StringRef(entries[i].id).starts_with("host");
    if (isHost || (isGeneric(processor) && needsGeneric && !wanted.exact)) result.keep[i] = true;
    if (!isHost && !processor.starts_with("gfx")) {
      result.keep[i] = true;
      DeviceTarget target;
      target.name = entries[i].id;
      result.carried.push_back(target);
    }
    if (isHost) continue;
    ++images;
    kept += result.keep[i];
    if (least == SIZE_MAX || entries[i].image.size() < entries[least].image.size()) least = i;
  }
  if (images && !kept) result.keep[least] = true; // as with fatbins
  return result;
}

PrunedSection pruneByTarget(ArrayRef<uint8_t> section, const WantedTargets &wanted) {
  PrunedSection result;
  if (isFatbin(section))
    pruneFatbin(section, wanted, result);
  else if (isBundle(section) || isCompressedBundle(section))
    pruneBundle(section, wanted, result);
  else if (!section.empty())
    result.notes.push_back("its device code is of an unknown kind");
  return result;
}

} // namespace coppice
