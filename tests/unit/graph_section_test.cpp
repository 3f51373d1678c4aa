// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The section .coppice.graph: what is written is read again, from several objects one after another; damage is found
// with its offset.
#include "analysis/graph/graph_section.h"
#include <gtest/gtest.h>

using namespace coppice;

namespace {

/// The error, as "offset: message"; empty if there is none.
std::string errorOf(llvm::StringRef contents) {
  GraphSection section = parseGraphSection(contents);
  return section.error ? std::to_string(section.error->offset) + ": " + section.error->message : std::string();
}

TEST(GraphSection, HasTheRecordsOfAllObjects) {
  std::string first = makeGraphSectionRecord("add3", "bytecode of add3"), second = makeGraphSectionRecord("g", "");
  EXPECT_EQ(first.size(), 24u + 4 + 16 + 4); // padded
  EXPECT_EQ(second.size(), 24u + 1 + 7);
  std::string contents = first + second;
  GraphSection section = parseGraphSection(contents);
  EXPECT_FALSE(section.error);
  ASSERT_EQ(section.records.size(), 2u);
  EXPECT_EQ(section.records[0].name, "add3");
  EXPECT_EQ(section.records[0].bytecode, "bytecode of add3");
  EXPECT_EQ(section.records[0].bytecodeOffset, 28u);
  EXPECT_EQ(section.records[1].name, "g");
  EXPECT_EQ(section.records[1].bytecode, "");
  EXPECT_EQ(section.records[1].bytecodeOffset, first.size() + 25);
}

TEST(GraphSection, MayBeEmpty) {
  EXPECT_EQ(errorOf(""), "");
  EXPECT_TRUE(parseGraphSection("").records.empty());
}

TEST(GraphSection, KeepsWhatIsBeforeTheDamage) {
  std::string contents = makeGraphSectionRecord("add3", "1234") + "CPGRAPH2";
  GraphSection section = parseGraphSection(contents);
  EXPECT_EQ(section.records.size(), 1u);
  EXPECT_EQ(errorOf(contents), "32: no graph begins here: 'CPGRAPH1' was expected");
}

TEST(GraphSection, IsReadWithinItsBounds) {
  std::string record = makeGraphSectionRecord("add3", "0123456789");
  auto with = [&](size_t at, char byte) {
    std::string changed = record;
    changed[at] = byte;
    return changed;
  };
  EXPECT_EQ(errorOf(record.substr(0, 23)), "0: the header of a graph is cut off: 24 bytes were expected, there are 23");
  EXPECT_EQ(errorOf(record.substr(0, 26)), "8: the name of a graph would have 4 bytes, 2 are left");
  EXPECT_EQ(errorOf(record.substr(0, 37)), "16: the bytecode of a graph would have 10 bytes, 9 are left");
  EXPECT_EQ(errorOf(with(15, '\xff')), "8: the name of a graph would have 18374686479671623684 bytes, 16 are left");
  EXPECT_EQ(errorOf(with(23, '\xff')),
            "16: the bytecode of a graph would have 18374686479671623690 bytes, 12 are left");
  EXPECT_EQ(errorOf(with(8, 0)), "8: a graph has no name");
  EXPECT_EQ(errorOf(with(39, 'x')), "38: zeros were expected between two graphs");
  EXPECT_EQ(errorOf(record.substr(0, 38)), ""); // without padding at the end
}

} // namespace
