// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/signature.h"
#include "gtest/gtest.h"

using namespace coppice;
using namespace llvm;

template <class T> static std::string errorOf(Expected<T> value) { return value ? "" : toString(value.takeError()); }

TEST(Signature, ReadsEveryKindOfParameter) {
  auto s = parseSignature("in *xany, in? ?xi64, in... ?x?xf32, inout *xf32, out *xany, out? ?xi1, out... *xui8");
  ASSERT_TRUE(bool(s)) << toString(s.takeError());
  ASSERT_EQ(s->parameters.size(), 7u);
  using Kind = Parameter::Kind;
  EXPECT_EQ(s->parameters[0].kind, Kind::In);
  EXPECT_TRUE(s->parameters[0].tensor.isAny());
  EXPECT_EQ(s->parameters[0].tensor.rank, -1);
  EXPECT_EQ(s->parameters[1].kind, Kind::OptionalIn);
  EXPECT_EQ(s->parameters[1].tensor.rank, 1);
  EXPECT_EQ(s->parameters[2].tensor.str(), "?x?xf32");
  EXPECT_TRUE(s->parameters[3].isInput());
  EXPECT_TRUE(s->parameters[3].isOutput());
  EXPECT_EQ(s->parameters[6].kind, Kind::VariadicOut);
}

TEST(Signature, AListDefaultMayHoldCommas) {
  auto s = parseSignature("in f32, attr list i64 axes=[0, 1], attr i64 to==6, attr string mode=linear, out f32");
  ASSERT_TRUE(bool(s)) << toString(s.takeError());
  ASSERT_EQ(s->parameters.size(), 5u);
  EXPECT_EQ(s->parameters[0].tensor.rank, 0);
  EXPECT_EQ(s->parameters[1].value, "[0, 1]");
  EXPECT_TRUE(s->parameters[1].hasDefault);
  EXPECT_TRUE(s->parameters[2].isConstraint);
  EXPECT_FALSE(s->parameters[2].hasDefault);
  EXPECT_EQ(s->parameters[3].value, "linear");
}

TEST(Signature, SaysWhichParameterIsWrong) {
  EXPECT_EQ(errorOf(parseSignature("in ?xf33")), "'?xf33' is no tensor type such as ?x?xf32 or *xany");
  EXPECT_EQ(errorOf(parseSignature("into ?xf32")), "'into ?xf32' does not begin with in, out, inout or attr");
  EXPECT_EQ(errorOf(parseSignature("attr i64 axis=x")), "'attr i64 axis=x': 'x' is no value of this type");
  EXPECT_NE(errorOf(parseSignature("attr i64 ")), "");
}

TEST(Versions, AreRangesWithBothEndsIncluded) {
  auto open = parseVersions("13-"), closed = parseVersions("7-12"), any = parseVersions("");
  ASSERT_TRUE(bool(open)) << toString(open.takeError());
  ASSERT_TRUE(bool(closed)) << toString(closed.takeError());
  ASSERT_TRUE(bool(any)) << toString(any.takeError());
  EXPECT_TRUE(open->contains(13) && open->contains(99) && !open->contains(12));
  EXPECT_TRUE(closed->contains(7) && closed->contains(12) && !closed->contains(13) && !closed->contains(6));
  EXPECT_TRUE(any->contains(1));
  EXPECT_NE(errorOf(parseVersions("13")), "");
}
