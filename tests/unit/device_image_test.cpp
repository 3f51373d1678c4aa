// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/device_targets.h"
#include "analysis/device/ptx.h"
#include "analysis/device/spirv.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

using namespace coppice;
using namespace llvm;
using namespace llvm::support::endian;

namespace {

using Bytes = std::vector<uint8_t>;

void put(Bytes &bytes, size_t at, uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) bytes[at + i] = uint8_t(value >> (8 * i));
}

struct Entry {
  uint16_t kind;
  unsigned architecture;
  uint64_t flags = 0;
  uint64_t payload = 8;
};
constexpr uint64_t a = FatbinEntry::ArchitectureSpecific, f = FatbinEntry::FamilySpecific;
constexpr uint16_t ptx = FatbinEntry::Ptx, cubin = FatbinEntry::Cubin, lto = FatbinEntry::LtoIr;

Bytes fatbin(const std::vector<Entry> &entries) {
  Bytes bytes(16);
  for (const Entry &e : entries) {
    size_t at = bytes.size();
    bytes.resize(at + 64 + e.payload);
    put(bytes, at, e.kind, 2);
    put(bytes, at + 4, 64, 4);
    put(bytes, at + 8, e.payload, 8);
    put(bytes, at + 28, e.architecture, 4);
    put(bytes, at + 40, e.flags, 8);
  }
  put(bytes, 0, 0xBA55ED50, 4);
  put(bytes, 4, 1, 2);
  put(bytes, 6, 16, 2);
  put(bytes, 8, bytes.size() - 16, 8);
  return bytes;
}

WantedTargets wanted(std::initializer_list<const char *> items, bool exact = false) {
  WantedTargets result;
  result.exact = exact;
  std::string why;
  for (const char *item : items) EXPECT_TRUE(addWantedTarget(item, result, why)) << why;
  return result;
}

std::string names(const std::vector<DeviceTarget> &targets) {
  std::string s;
  for (const DeviceTarget &t : targets) s += (s.empty() ? "" : " ") + t.name;
  return s;
}

/// What is left of a fatbin, as text; then what it does not serve.
std::string left(const std::vector<Entry> &entries, const WantedTargets &targets) {
  Bytes bytes = fatbin(entries);
  auto parsed = parseFatbin(bytes, 0);
  if (!parsed) return toString(parsed.takeError());
  KeptImages kept = keptImages(*parsed, targets);
  std::vector<DeviceTarget> list;
  for (size_t i = 0; i < kept.keep.size(); ++i)
    if (kept.keep[i])
      list.push_back(parsed->entries[i].kind == ptx
                         ? ptxTarget(parsed->entries[i].architecture, parsed->entries[i].variant())
                         : cudaTarget(parsed->entries[i].architecture, parsed->entries[i].variant()));
  std::string s = names(list);
  if (!kept.byPtx.empty()) s += " by PTX: " + names(kept.byPtx);
  if (!kept.unserved.empty()) s += " none for: " + names(kept.unserved);
  return s;
}

} // namespace

TEST(DeviceTargets, ACubinServesItsMajorVersionFromItsMinorOn) {
  std::vector<Entry> all = {{cubin, 75}, {cubin, 80}, {cubin, 86}, {cubin, 90}, {ptx, 90}};
  EXPECT_EQ(left(all, wanted({"cuda:sm_80"})), "sm_80");
  EXPECT_EQ(left(all, wanted({"cuda:sm_86"})), "sm_86");
  EXPECT_EQ(left(all, wanted({"cuda:sm_89"})), "sm_86");
  EXPECT_EQ(left(all, wanted({"cuda:sm_88", "cuda:sm_75"})), "sm_75 sm_86");
  EXPECT_EQ(left({{cubin, 86}, {cubin, 90}}, wanted({"cuda:sm_80"})), "sm_86 none for: sm_80");
  // But for Jetson's.
  EXPECT_EQ(left({{cubin, 86}, {cubin, 87}}, wanted({"cuda:sm_89"})), "sm_86");
  EXPECT_EQ(left({{cubin, 86}, {cubin, 87}}, wanted({"cuda:sm_87"})), "sm_87");
  EXPECT_EQ(left({{cubin, 86}, {ptx, 80}}, wanted({"cuda:sm_87"})), "compute_80 by PTX: sm_87");
}

TEST(DeviceTargets, ExactMeansExact) {
  std::vector<Entry> all = {{cubin, 80}, {cubin, 90}, {ptx, 80}};
  EXPECT_EQ(left(all, wanted({"cuda:sm_86"})), "sm_80");
  EXPECT_EQ(left(all, wanted({"cuda:sm_86"}, true)), "compute_80 by PTX: sm_86");
  EXPECT_EQ(left(all, wanted({"cuda:sm_80"}, true)), "sm_80");
}

TEST(DeviceTargets, SpecificImagesServeOneTarget) {
  std::vector<Entry> all = {{cubin, 90}, {cubin, 90, a}, {cubin, 100, f}, {cubin, 103, a}, {ptx, 90, a}};
  EXPECT_EQ(left(all, wanted({"cuda:sm_90"})), "sm_90");
  EXPECT_EQ(left(all, wanted({"cuda:sm_90a"})), "sm_90a");
  EXPECT_EQ(left(all, wanted({"cuda:sm_100f"})), "sm_100f");
  EXPECT_EQ(left({{cubin, 90, a}, {cubin, 80}}, wanted({"cuda:sm_90"})), "sm_90a none for: sm_90");
  // What runs on any 9.0 runs on the one that sm_90a means.
  EXPECT_EQ(left({{cubin, 90}, {cubin, 80}}, wanted({"cuda:sm_90a"})), "sm_90");
  EXPECT_EQ(left({{ptx, 90, a}, {cubin, 80}}, wanted({"cuda:sm_100"})), "compute_90a none for: sm_100");
}

TEST(DeviceTargets, PtxIsKeptWhenAskedForOrNeeded) {
  std::vector<Entry> all = {{cubin, 80}, {ptx, 80}, {ptx, 90}};
  EXPECT_EQ(left(all, wanted({"cuda:sm_80"})), "sm_80");
  EXPECT_EQ(left(all, wanted({"cuda:sm_80", "ptx"})), "sm_80 compute_80 compute_90");
  EXPECT_EQ(left(all, wanted({"cuda:sm_120"})), "compute_90 by PTX: sm_120");
  EXPECT_EQ(left(all, wanted({"cuda:sm_75"})), "sm_80 none for: sm_75");
}

TEST(DeviceTargets, WhatIsNotKnownStays) {
  EXPECT_EQ(left({{cubin, 80}, {lto, 75}, {64, 12345}}, wanted({"cuda:sm_80"})), "sm_80 sm_75 sm_12345");
  EXPECT_EQ(left({{cubin, 80}, {ptx, 80}}, wanted({"hip:gfx90a"})), "sm_80 compute_80");
}

TEST(DeviceTargets, APrunedFatbinIsAFatbin) {
  Bytes bytes = fatbin({{cubin, 80, 0, 16}, {cubin, 90, 0, 24}, {ptx, 80}});
  bytes.resize(bytes.size() + 8); // padding
  PrunedSection pruned = pruneByTarget(bytes, wanted({"cuda:sm_90"}));
  EXPECT_EQ(StringRef(pruned.contents), StringRef(reinterpret_cast<char *>(fatbin({{cubin, 90, 0, 24}}).data()), 104));
  EXPECT_EQ(names(pruned.present), "sm_80 sm_90 compute_80");
  EXPECT_EQ(names(pruned.served), "sm_90");
  // Two in one section are left alone: what refers to the second would miss it.
  Bytes two = fatbin({{cubin, 80}, {cubin, 90}}), second = fatbin({{cubin, 80}});
  two.insert(two.end(), second.begin(), second.end());
  pruned = pruneByTarget(two, wanted({"cuda:sm_90"}));
  EXPECT_TRUE(pruned.contents.empty());
  EXPECT_EQ(pruned.notes, std::vector<std::string>{"there is more than one fatbin in this section"});
}

TEST(DeviceTargets, WhatIsNoTarget) {
  WantedTargets result;
  std::string why;
  for (const char *item : {"cuda:", "cuda:sm_", "cuda:sm_90b", "cuda:sm_90aa", "cuda:90", "cuda:sm_9999999999999",
                           "hip:", "hip:sm_90", "ptx:", "rocm:gfx90a", ""})
    EXPECT_FALSE(addWantedTarget(item, result, why)) << item;
  EXPECT_FALSE(result.any());
}

TEST(DeviceTargets, CodeObjectsAreForOneProcessor) {
  auto kept = [](std::vector<const char *> processors, const WantedTargets &targets) {
    OffloadBundle bundle;
    for (const char *p : processors)
      bundle.entries.push_back(
          {std::string(*p ? "hipv4-amdgcn-amd-amdhsa--" : "host-x86_64-unknown-linux-gnu-") + p, {}, 0});
    KeptImages k = keptImages(bundle, targets);
    std::string s;
    for (size_t i = 0; i < k.keep.size(); ++i)
      if (k.keep[i]) s += (s.empty() ? "" : " ") + (*processors[i] ? std::string(processors[i]) : "host");
    if (!k.unserved.empty()) s += " none for: " + names(k.unserved);
    return s;
  };
  EXPECT_EQ(kept({"", "gfx90a", "gfx942"}, wanted({"hip:gfx942"})), "host gfx942");
  EXPECT_EQ(kept({"gfx90a:xnack+", "gfx90a:xnack-", "gfx942"}, wanted({"hip:gfx90a"})), "gfx90a:xnack+ gfx90a:xnack-");
  EXPECT_EQ(kept({"gfx90a:xnack+", "gfx90a:xnack-"}, wanted({"hip:gfx90a:xnack+"})), "gfx90a:xnack+");
  EXPECT_EQ(kept({"gfx90a"}, wanted({"hip:gfx90a:xnack+"})), "gfx90a");
  EXPECT_EQ(kept({"gfx9-generic", "gfx942"}, wanted({"hip:gfx942"})), "gfx942");
  EXPECT_EQ(kept({"gfx9-generic", "gfx942"}, wanted({"hip:gfx906"})), "gfx9-generic");
  EXPECT_EQ(kept({"gfx90a", "gfx942"}, wanted({"hip:gfx1100"})), "gfx90a none for: gfx1100");
}

TEST(Fatbin, DamageIsSaidWhereItIs) {
  Bytes bytes = fatbin({{cubin, 80}, {cubin, 90}});
  auto error = [](const Bytes &b) {
    auto parsed = parseFatbin(b, 0);
    return parsed ? "" : toString(parsed.takeError());
  };
  EXPECT_EQ(error(bytes), "");
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(error(Bytes(bytes.begin(), bytes.begin() + size)), "");
  Bytes large = bytes;
  put(large, 16 + 8, UINT64_MAX - 10, 8);
  EXPECT_EQ(error(large), "the entry at 0x10 is larger than its fatbin");
  Bytes small = bytes;
  put(small, 16 + 4, 8, 4);
  EXPECT_EQ(error(small), "the entry at 0x10 is larger than its fatbin");
  Bytes compressed = bytes;
  put(compressed, 16 + 16, 9, 4);
  EXPECT_EQ(error(compressed), "the entry at 0x10 says that more is compressed than it holds");
}

TEST(Fatbin, SizesAreNotBelieved) {
  for (uint64_t flag : {uint64_t(FatbinEntry::Zstd), uint64_t(FatbinEntry::Lz4)}) {
    Bytes bytes = fatbin({{cubin, 80, flag}});
    put(bytes, 16 + 16, 8, 4);
    put(bytes, 16 + 56, uint64_t(1) << 40, 8);
    auto parsed = parseFatbin(bytes, 0);
    ASSERT_TRUE(bool(parsed));
    auto unpacked = unpack(bytes, parsed->entries[0]);
    ASSERT_FALSE(bool(unpacked));
    EXPECT_EQ(toString(unpacked.takeError()), "it says that it becomes 1099511627776 bytes, which is not believed");
  }
}

TEST(Ptx, DefinitionsWithBodies) {
  PtxModule module = readPtx(".version 8.0\n.target sm_100f, debug\n.entry e(.param .b32 e_param) { { call f; } }\n"
                             ".func (.reg .b32 r) f (.reg .b32 x) .noreturn { \"}\" ret; }\n.func g; .entry h {");
  EXPECT_EQ(module.target.name, "compute_100f");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_EQ(module.functions[0].name, "e");
  EXPECT_TRUE(module.functions[0].isKernel);
  EXPECT_EQ(module.functions[0].references, std::vector<uint32_t>{1});
  EXPECT_EQ(module.functions[1].name, "f");
  EXPECT_FALSE(module.functions[1].isKernel);
  EXPECT_EQ(module.functions[2].name, "h"); // never closed
  for (StringRef odd : {"", "/", "/*", "\"", ".entry", ".entry (", ".func {", ".target", ".entry a .entry b {"})
    EXPECT_LE(readPtx(odd).functions.size(), 1u);
}
