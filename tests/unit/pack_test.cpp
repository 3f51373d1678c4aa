// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "packer/loaders.h"
#include "packer/pack.h"
#include "runtime-stub/loader/packed_format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace coppice;
using namespace llvm;

namespace {

std::string self() { return (*MemoryBuffer::getFile("/proc/self/exe"))->getBuffer().str(); }

std::string why(Error error) { return toString(std::move(error)); }

TEST(BranchFilter, IsABijectionOnAllBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, 0);
    for (char &c : bytes) { // mostly what the filter looks for
      const char interesting[] = "\xE8\xE9\x0F\x84\x00\xFF\x8F\x7F";
      c = random() % 3 ? interesting[random() % 8] : char(random());
    }
    std::string filtered = bytes;
    uint32_t position = random() % 5000, range = position + uint32_t(bytes.size()) + random() % 5000;
    auto *data = reinterpret_cast<uint8_t *>(filtered.data());
    filterBranches<true>(data, filtered.size(), position, range);
    filterBranches<false>(data, filtered.size(), position, range);
    ASSERT_EQ(filtered, bytes) << round;
  }
}

TEST(BranchFilter, CallsToOneFunctionLookAlike) {
  uint8_t code[] = {0xE8, 100, 0, 0, 0, 0xE8, 95, 0, 0, 0, 0x0F, 0x84, 89, 0, 0, 0};
  filterBranches<true>(code, sizeof code, 0, 1000);
  EXPECT_EQ(code[1], 105);
  EXPECT_EQ(std::memcmp(code + 1, code + 6, 4), 0);
  EXPECT_EQ(std::memcmp(code + 1, code + 12, 4), 0);
}

TEST(Pack, RoundTripAndRefusals) {
  std::string program = self();
  PackOptions options;
  options.level = 1;
  Expected<PackedFile> packed = pack(program, options);
  ASSERT_TRUE(bool(packed)) << why(packed.takeError());
  EXPECT_LT(packed->bytes.size(), program.size() * 2 / 3);
  EXPECT_TRUE(isPacked(packed->bytes));
  Expected<std::string> original = unpack(packed->bytes);
  ASSERT_TRUE(bool(original)) << why(original.takeError());
  EXPECT_TRUE(*original == program);
  EXPECT_EQ(why(pack(packed->bytes, options).takeError()), "it is packed already");
  EXPECT_EQ(why(unpack(program).takeError()), "it is not a packed executable");
  // Cut off anywhere: an error, never a crash.
  for (size_t size = 0; size < packed->bytes.size(); size += packed->bytes.size() / 50 + 1)
    EXPECT_NE(why(unpack(StringRef(packed->bytes).take_front(size)).takeError()), "") << size;
}

TEST(Pack, LoadersAreSmall) {
  EXPECT_LE(fastLoader().size(), 58000u);
#ifdef __clang__ // clang's -Os is larger; what is shipped is built with g++
  EXPECT_LE(smallLoader().size(), 34000u);
#else
  EXPECT_LE(smallLoader().size(), 30000u);
#endif
}

// Tables that lie, under a hash that is right.
TEST(Unpack, FieldsAreChecked) {
  PackOptions options;
  options.level = 1;
  std::string bytes = cantFail(pack(self(), options)).bytes;
  size_t start = 0;
  while (std::memcmp(bytes.data() + start, packedMagic, 8) != 0) start += packedPage;
  for (size_t field = 16; field + 4 <= sizeof(PackedHeader) + 200; field += 4) {
    for (uint32_t value : {0u, 1u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
      std::string changed = bytes;
      if (!std::memcmp(changed.data() + start + field, &value, 4)) continue;
      std::memcpy(changed.data() + start + field, &value, 4);
      uint64_t mapped;
      std::memcpy(&mapped, changed.data() + start + offsetof(PackedHeader, mappedSize), 8);
      if (mapped < sizeof(PackedHeader) || mapped > changed.size() - start) continue;
      uint64_t hash = xxHash64(StringRef(changed).substr(start, mapped).drop_front(offsetof(PackedHeader, mappedSize)));
      std::memcpy(changed.data() + start + offsetof(PackedHeader, hash), &hash, 8);
      // Some of these do not concern unpack(); what it gives must be the original.
      Expected<std::string> result = unpack(changed);
      if (!result)
        EXPECT_NE(why(result.takeError()), "");
      else
        EXPECT_TRUE(*result == self());
    }
  }
}

} // namespace
