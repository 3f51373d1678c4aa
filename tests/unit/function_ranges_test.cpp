// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/decode_x86_64.h"
#include "analysis/reach/function_ranges.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <set>

using namespace coppice;
using namespace llvm;

namespace {
struct Object {
  explicit Object(const std::string &name)
      : buffer(std::move(*MemoryBuffer::getFile(COPPICE_TEST_OBJECTS "/" + name, false, false))),
        file(cantFail(ObjectFile::parse(buffer->getMemBufferRef()))), functions(FunctionSymbols(file)) {}

  SectionRanges split(uint32_t section) { return splitIntoFunctions(file, section, decoder, functions[section]); }
  SectionRanges split(StringRef section) {
    for (uint32_t i = 1; i < file.sections().size(); ++i)
      if (file.sectionName(i) == section) return split(i);
    ADD_FAILURE() << "no section " << section.str();
    return {};
  }

  std::unique_ptr<MemoryBuffer> buffer;
  ObjectFile file;
  FunctionSymbols functions;
  Decoder decoder;
};

using Edges = std::set<std::pair<std::string, std::string>>;

/// Which function refers to which, by the first of a function's names.
Edges edges(Object &object, unsigned &withoutRelocation) {
  const ObjectFile &file = object.file;
  auto nameAt = [&](uint32_t section, uint64_t offset) {
    std::string name;
    for (uint32_t i : object.functions[section]) {
      const ObjectFile::Symbol &s = file.symbols()[i];
      if (s.st_value <= offset && offset < s.st_value + s.st_size)
        name = name.empty() ? file.symbolName(i).str() : std::min(name, file.symbolName(i).str());
    }
    return name;
  };
  Edges result;
  for (uint32_t section = 1; section < file.sections().size(); ++section) {
    if (object.functions[section].empty()) continue;
    SectionRanges split = object.split(section);
    EXPECT_EQ(split.keptWhole, "");
    for (const FunctionRange &range : split.ranges)
      for (uint64_t target : range.references) {
        result.insert({nameAt(section, range.begin), nameAt(section, target)});
        ++withoutRelocation;
      }
    for (size_t i = 0; i < file.relocations(section).size(); ++i) {
      const ObjectFile::Relocation &r = file.relocations(section)[i];
      uint32_t target = file.sectionOf(r.getSymbol(false));
      if (object.functions[target].empty()) continue;
      std::string from = nameAt(section, r.r_offset);
      std::string to =
          nameAt(target, targetOffset(r, file.symbols()[r.getSymbol(false)].st_value, split.fieldToEnd[i]));
      EXPECT_NE(from, "");
      EXPECT_NE(to, "");
      if (from != to) result.insert({from, to});
    }
  }
  return result;
}
} // namespace

// The same functions in one section and in a section each: the references are the same.
TEST(FunctionRanges, FindAllReferences) {
  unsigned withoutRelocation = 0, none = 0;
  for (const char *compiler : {"gcc", "clang"})
    for (const char *level : {"O0", "O1", "O2", "O3"}) {
      SCOPED_TRACE(std::string(compiler) + " -" + level);
      Object together(std::string("local_calls.") + compiler + "." + level + ".o");
      Object apart(std::string("local_calls.") + compiler + "." + level + ".sections.o");
      Edges expected = edges(apart, none);
      EXPECT_EQ(edges(together, withoutRelocation), expected);
      EXPECT_GT(expected.size(), 15U);
    }
  EXPECT_GT(withoutRelocation, 80U);
  EXPECT_EQ(none, 0U);
}

// What the bytes there say is what was found.
TEST(FunctionRanges, FieldsOfReferencesWithoutRelocation) {
  unsigned count = 0, shortJumps = 0;
  for (const char *compiler : {"gcc", "clang"})
    for (const char *level : {"O0", "O1", "O2", "O3"}) {
      SCOPED_TRACE(std::string(compiler) + " -" + level);
      Object object(std::string("local_calls.") + compiler + "." + level + ".o");
      for (uint32_t section = 1; section < object.file.sections().size(); ++section) {
        if (object.functions[section].empty()) continue;
        ArrayRef<uint8_t> code = object.file.contents(section);
        for (const FunctionRange &range : object.split(section).ranges)
          for (const LocalReference &r : range.fields) {
            ASSERT_TRUE(r.fieldSize == 4 || (r.fieldSize == 1 && r.isJump));
            ASSERT_LE(range.begin, r.field);
            ASSERT_LE(r.field + r.fieldSize, range.end);
            int64_t distance =
                r.fieldSize == 4 ? int32_t(support::endian::read32le(code.data() + r.field)) : int8_t(code[r.field]);
            EXPECT_EQ(r.field + r.fieldToEnd + distance, r.target);
            ++count;
            shortJumps += r.fieldSize == 1;
          }
      }
    }
  EXPECT_GT(count, 80U);
  EXPECT_GT(shortJumps, 0U);
}

TEST(FunctionRanges, ReferencesWithoutRelocation) {
  SectionRanges split = Object("function_ranges.o").split(".text.plain");
  ASSERT_EQ(split.ranges.size(), 3U) << split.keptWhole;
  EXPECT_EQ(split.ranges[0].begin, 0U);
  EXPECT_EQ(split.ranges[0].references, std::vector<uint64_t>{split.ranges[2].begin});
  EXPECT_EQ(split.ranges[1].references, std::vector<uint64_t>{1}); // lea into the middle
  EXPECT_TRUE(split.ranges[2].references.empty());
  EXPECT_EQ(split.at(split.ranges[0].end - 1), &split.ranges[0]);
  EXPECT_EQ(split.at(split.ranges[0].end), nullptr);
  EXPECT_EQ(split.at(split.ranges[2].begin), &split.ranges[2]);
  EXPECT_EQ(split.at(1000), nullptr);
}

TEST(FunctionRanges, DistancesToTheEndOfTheInstruction) {
  EXPECT_EQ(Object("function_ranges.o").split(".text.plain").fieldToEnd, (std::vector<uint8_t>{8, 5, 4}));
}

TEST(FunctionRanges, FallThrough) {
  SectionRanges split = Object("function_ranges.o").split(".text.falls_through");
  ASSERT_EQ(split.ranges.size(), 4U) << split.keptWhole;
  EXPECT_EQ(split.ranges[0].references, std::vector<uint64_t>{16});
  EXPECT_TRUE(split.ranges[1].references.empty()); // a call that does not return
  EXPECT_TRUE(split.ranges[2].references.empty());
  EXPECT_TRUE(split.ranges[3].references.empty()); // nothing follows
}

TEST(FunctionRanges, OverlappingFunctionsAreOne) {
  Object object("function_ranges.o");
  SectionRanges split = object.split(".text.overlap");
  ASSERT_EQ(split.ranges.size(), 2U) << split.keptWhole;
  EXPECT_EQ(split.ranges[0].end, 3U);
  EXPECT_EQ(split.ranges[1].references, std::vector<uint64_t>{1});
}

TEST(FunctionRanges, OneFunctionIsNotDecoded) {
  SectionRanges split = Object("function_ranges.o").split(".text.one");
  EXPECT_TRUE(split.ranges.empty());
  EXPECT_EQ(split.keptWhole, "");
}

TEST(FunctionRanges, MarkersOfThreadLocalAccess) {
  SectionRanges split = Object("function_ranges.o").split(".text.tls");
  EXPECT_EQ(split.keptWhole, "");
  EXPECT_EQ(split.ranges.size(), 2U);
}

TEST(FunctionRanges, JumpToTheOwnEnd) {
  SectionRanges split = Object("function_ranges.o").split(".text.to_own_end");
  ASSERT_EQ(split.ranges.size(), 2U) << split.keptWhole;
  EXPECT_TRUE(split.ranges[0].references.empty());
}

TEST(FunctionRanges, WhatIsNotUnderstoodIsKeptWhole) {
  Object object("function_ranges.o");
  const std::pair<const char *, const char *> cases[] = {
      {".text.undecodable", "bytes that are no instruction at +0x1"},
      {".text.cut_off", "bytes that are no instruction at +0x1"},
      {".text.into_instruction", "a jump into an instruction at +0x3"},
      {".text.overlap_inside_instruction", "a jump into an instruction at +0x1"},
      {".text.relocated_opcode", "a relocation that is not on an operand at +0x0"},
      {".text.outside", "code outside of functions at +0x1"},
      {".text.outside_at_end", "code outside of functions at +0x2"},
      {".text.no_size", "a function without a size at +0x1"},
      {".text.data", "data at +0x2"},
      {".text.to_padding", "a reference to no function at +0x3"},
  };
  for (auto [section, why] : cases) {
    SectionRanges split = object.split(section);
    EXPECT_TRUE(split.ranges.empty()) << section;
    EXPECT_EQ(split.keptWhole, why) << section;
  }
}
