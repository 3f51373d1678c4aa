// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/why_record.h"
#include "gtest/gtest.h"

using namespace coppice;
using Kind = WhyRecord::Kind;
using Via = WhyRecord::Via;

namespace {

WhyRecord example() {
  WhyRecord record;
  record.items.resize(8);
  for (uint32_t i = 0; i < 3; ++i) {
    record.items[i].kind = Kind(i);
    record.items[i].parent = record.items[i].dominator = i;
  }
  auto set = [&](uint32_t i, Kind kind, Via via, uint32_t parent, uint32_t dominator, llvm::StringRef name,
                 llvm::StringRef section, uint64_t size) {
    WhyRecord::Item &item = record.items[i];
    item.kind = kind;
    item.via = via;
    item.parent = parent;
    item.dominator = dominator;
    item.name = name;
    item.section = section;
    item.size = size;
  };
  set(3, Kind::Section, Via::Entry, 0, 0, "_start", ".text", 10);
  set(4, Kind::Key, Via::Missing, 1, 1, "mul", "shop", 0);
  set(5, Kind::Section, Via::Reference, 3, 3, "f", ".text.f", 20);
  set(6, Kind::Section, Via::Reference, 5, 3, "g", ".text.unlikely.g", uint64_t(1) << 40);
  set(7, Kind::Function, Via::Registration, 4, 4, "mul_kernel", ".text", 7);
  record.items[3].object = record.items[5].object = 0;
  record.items[7].object = 1;
  record.items[7].detail = 0;
  record.items[7].isFilled = true;
  record.items[5].isOnlyWay = true;
  record.items[6].hasNoBytes = true;
  record.items[4].variant = "avx";
  record.objects = {{"main.o", ""}, {"libk.a", "mul.o"}};
  record.uses.push_back({"ops.txt", "/conv", 3, 4, 5});
  record.registrations.push_back(
      {WhyRecord::Registration::Verdict::KeyUnused, "shop", "mul", "mul_kernel()", "avx", 1, 3, 4});
  record.aliases = {{5, "h"}, {6, "i"}};
  record.unreferencedCount = 3;
  record.unreferencedBytes = 4;
  record.notes = {"libk.a(conv.o):(.text): why"};
  return record;
}

} // namespace

TEST(WhyRecord, IsReadAsItWasWritten) {
  std::string bytes = writeWhyRecord(example());
  llvm::Expected<WhyRecord> record = readWhyRecord(bytes);
  ASSERT_TRUE(bool(record)) << llvm::toString(record.takeError());
  WhyRecord expected = example();
  ASSERT_EQ(record->items.size(), expected.items.size());
  for (size_t i = 0; i < expected.items.size(); ++i) {
    const WhyRecord::Item &a = record->items[i], &b = expected.items[i];
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.via, b.via);
    EXPECT_EQ(a.isOnlyWay, b.isOnlyWay);
    EXPECT_EQ(a.isFilled, b.isFilled);
    EXPECT_EQ(a.hasNoBytes, b.hasNoBytes);
    EXPECT_EQ(a.detail, b.detail);
    EXPECT_EQ(a.parent, b.parent);
    EXPECT_EQ(a.dominator, b.dominator);
    EXPECT_EQ(a.object, b.object);
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.section, b.section);
    EXPECT_EQ(a.variant, b.variant);
    EXPECT_EQ(a.size, b.size);
  }
  EXPECT_EQ(record->objects[1].name(), "libk.a(mul.o)");
  EXPECT_EQ(record->objects[0].name(), "main.o");
  EXPECT_EQ(record->uses[0].place().str(), "ops.txt:3:4: node \"/conv\"");
  EXPECT_EQ(record->uses[0].count, 5u);
  EXPECT_EQ(record->registrations[0].kernel, "mul_kernel()");
  EXPECT_EQ(record->registrations[0].item, 4u);
  EXPECT_EQ(record->aliases[1].name, "i");
  EXPECT_EQ(record->unreferencedCount, 3u);
  EXPECT_EQ(record->unreferencedBytes, 4u);
  EXPECT_EQ(record->notes, expected.notes);
}

TEST(WhyRecord, RetainedSizesFollowDominators) {
  WhyRecord record = example();
  record.addUpRetained();
  EXPECT_EQ(record.items[6].retained, uint64_t(1) << 40);
  EXPECT_EQ(record.items[5].retained, 20u); // it is not what keeps g alone
  EXPECT_EQ(record.items[3].retained, 30 + (uint64_t(1) << 40));
  EXPECT_EQ(record.items[4].retained, 7u);
  EXPECT_TRUE(record.isLive(6));
  EXPECT_FALSE(record.isLive(7));
}

TEST(WhyRecord, EveryCutIsAnError) {
  std::string bytes = writeWhyRecord(example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    llvm::Expected<WhyRecord> record = readWhyRecord(llvm::StringRef(bytes).take_front(size));
    EXPECT_FALSE(bool(record)) << size;
    if (!record) {
      EXPECT_FALSE(llvm::toString(record.takeError()).empty());
    }
  }
}
