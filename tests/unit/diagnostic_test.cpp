// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/diagnostic.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace coppice;

namespace {

std::string text(const Diagnostic &d, bool colour = false) {
  std::string s;
  llvm::raw_string_ostream os(s);
  printText(os, {d}, "ld.coppice", colour);
  return s;
}

std::string json(const Diagnostic &d) {
  std::string s;
  llvm::raw_string_ostream os(s);
  printJson(os, {d});
  return s;
}

Diagnostic missingKernel() {
  Diagnostic d{Severity::Error, "COP101", "no kernel for op 'my.add'", {}, {}, "add -lmykernels"};
  d.place.file = "sum.mlir";
  d.place.line = 4;
  d.place.column = 8;
  d.place.snippet = "  %0 = \"my.add\"(%a, %b)";
  Note note{"nearest name: my.vector_add", {}};
  note.place.file = "liba.a(k.o)";
  d.notes.push_back(note);
  return d;
}

TEST(Place, NamesWhatIsKnown) {
  Place p;
  EXPECT_EQ(p.str(), "");
  p.file = "sum.mlir";
  EXPECT_EQ(p.str(), "sum.mlir");
  p.line = 4;
  EXPECT_EQ(p.str(), "sum.mlir:4");
  p.column = 8;
  EXPECT_EQ(p.str(), "sum.mlir:4:8");

  Place node;
  node.file = "model.onnx";
  node.node = "/encoder/Conv_3";
  EXPECT_EQ(node.str(), "model.onnx: node \"/encoder/Conv_3\"");

  Place offset;
  offset.file = "lib.a";
  offset.offset = 0;
  EXPECT_EQ(offset.str(), "lib.a: offset 0");
}

TEST(Diagnostics, CountsErrorsOnly) {
  Diagnostics d;
  d.warning("COP001", "hm");
  EXPECT_FALSE(d.hasErrors());
  Diagnostics more;
  more.error("COP002", "no");
  d.append(std::move(more));
  EXPECT_TRUE(d.hasErrors());
  ASSERT_EQ(d.all().size(), 2u);
  EXPECT_EQ(d.all()[1].code, "COP002");
}

TEST(PrintText, ShowsPlaceSnippetNotesAndHelp) {
  EXPECT_EQ(text(missingKernel()), "ld.coppice: error[COP101]: no kernel for op 'my.add'\n"
                                   "  --> sum.mlir:4:8\n"
                                   "  |   %0 = \"my.add\"(%a, %b)\n"
                                   "  |        ^\n"
                                   "  note: nearest name: my.vector_add\n"
                                   "    --> liba.a(k.o)\n"
                                   "  help: add -lmykernels\n");
}

TEST(PrintText, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(text({Severity::Warning, "", "odd", {}, {}, ""}), "ld.coppice: warning: odd\n");
}

TEST(PrintText, IndentsFurtherLinesOfAMessage) {
  EXPECT_EQ(text({Severity::Error, "COP1", "two\nlines", {}, {}, "a\nb"}), "ld.coppice: error[COP1]: two\n"
                                                                           "  lines\n"
                                                                           "  help: a\n"
                                                                           "    b\n");
}

TEST(PrintText, CaretStandsUnderTheColumnAfterTabsAndWideCharacters) {
  Diagnostic d{Severity::Error, "", "m", {}, {}, ""};
  d.place.file = "f";
  d.place.line = 1;
  d.place.snippet = "\t\"é\" x";
  d.place.column = 7; // the x: a tab, two quotes, two bytes of é, a space come before it
  EXPECT_EQ(text(d), "ld.coppice: error: m\n"
                     "  --> f:1:7\n"
                     "  | \t\"é\" x\n"
                     "  | \t    ^\n");
}

TEST(PrintText, ShowsAWindowOfALongLine) {
  Diagnostic d{Severity::Error, "", "m", {}, {}, ""};
  d.place.file = "f";
  d.place.line = 1;
  d.place.snippet = std::string(500, 'a') + "X" + std::string(500, 'b');
  d.place.column = 501;
  EXPECT_EQ(text(d), "ld.coppice: error: m\n"
                     "  --> f:1:501\n"
                     "  | …" +
                         std::string(60, 'a') + "X" + std::string(59, 'b') + "…\n" + "  | " + std::string(61, ' ') +
                         "^\n");
}

TEST(PrintText, ControlCharactersDoNotReachTheTerminal) {
  Diagnostic d{Severity::Error, "", "a\x1b[31mb", {}, {}, ""};
  d.place.node = "x\ny";
  EXPECT_EQ(text(d), "ld.coppice: error: a\\x1B[31mb\n"
                     "  --> node \"x\\x0Ay\"\n");
}

TEST(PrintText, ColoursOnlyWhenAsked) {
  EXPECT_EQ(text(missingKernel()).find('\x1b'), std::string::npos);
  std::string coloured = text(missingKernel(), true);
  EXPECT_NE(coloured.find("\x1b[0;1;31merror[COP101]\x1b[0m: "), std::string::npos) << coloured;
}

TEST(PrintJson, OneObjectALine) {
  const char *expected =
      R"j({"severity":"error","code":"COP101","message":"no kernel for op 'my.add'","file":"sum.mlir","line":4,)j"
      R"j("column":8,"snippet":"  %0 = \"my.add\"(%a, %b)","notes":[{"message":"nearest name: my.vector_add",)j"
      R"j("file":"liba.a(k.o)"}],"help":"add -lmykernels"})j"
      "\n";
  EXPECT_EQ(json(missingKernel()), expected);
}

TEST(PrintJson, OffsetZeroIsAnOffsetAndBadUtf8IsRepaired) {
  Diagnostic d{Severity::Error, "COP205", "bad \xff name", {}, {}, ""};
  d.place.offset = 0;
  EXPECT_EQ(json(d), "{\"severity\":\"error\",\"code\":\"COP205\",\"message\":\"bad \xEF\xBF\xBD name\",\"offset\":0,"
                     "\"notes\":[]}\n");
}

} // namespace
