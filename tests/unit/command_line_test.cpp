// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/command_line.h"
#include "gtest/gtest.h"

using namespace coppice;
using namespace llvm;

namespace {
struct Parsed {
  BumpPtrAllocator allocator;
  StringSaver saver{allocator};
  Diagnostics diagnostics;
  CommandLine line;
  explicit Parsed(std::vector<const char *> arguments) { line = parseCommandLine(arguments, saver, diagnostics); }
  std::string forLld() const {
    std::string s;
    for (const char *a : line.forLld) s += (s.empty() ? "" : " ") + std::string(a);
    return s;
  }
};
} // namespace

TEST(CommandLine, OurFlagsAreTakenOutAndTheRestPassesUntouched) {
  Parsed p({"-o", "app", "a.o", "--graph=m=model.onnx", "-lfoo", "--print-kernels", "-z", "now", "-znorelro",
            "--gc-sections"});
  EXPECT_EQ(p.forLld(), "-o app a.o -lfoo -z now -znorelro --gc-sections");
  ASSERT_EQ(p.line.options.graphs.size(), 1u);
  EXPECT_EQ(p.line.options.graphs[0].name, "m");
  EXPECT_EQ(p.line.options.graphs[0].file, "model.onnx");
  EXPECT_TRUE(p.line.options.printKernels);
  EXPECT_EQ(p.line.output, "app");
}

TEST(CommandLine, ValuesOfOptionsAreNoInputs) {
  Parsed p(
      {"-m", "elf_x86_64", "--dynamic-linker", "/lib/ld.so", "-rpath",  "dir",  "-soname",       "x",    "-h", "y",
       "-T", "s.ld",       "--version-script", "v",          "-plugin", "p.so", "-plugin-opt=x", "in.o", "-e", "start",
       "-u", "sym"});
  ASSERT_EQ(p.line.inputs.size(), 1u);
  EXPECT_EQ(p.line.inputs[0].value, "in.o");
  EXPECT_EQ(p.line.settings.entry, "start");
  EXPECT_EQ(p.line.settings.undefined, std::vector<std::string>{"sym"});
}

TEST(CommandLine, InputsKnowTheStateThatTheyStandIn) {
  Parsed p({"--whole-archive", "a.a", "--push-state", "--no-whole-archive", "-Bstatic", "-lb", "--pop-state", "-lc",
            "--start-lib", "d.o", "--end-lib", "--format=binary", "blob", "--format=default", "-l:e.a", "-L", "dir",
            "-Ldir2"});
  auto &in = p.line.inputs;
  ASSERT_EQ(in.size(), 6u);
  EXPECT_TRUE(in[0].wholeArchive);
  EXPECT_TRUE(!in[1].wholeArchive && in[1].staticOnly && in[1].library);
  EXPECT_TRUE(in[2].wholeArchive && !in[2].staticOnly);
  EXPECT_TRUE(in[3].lazy);
  EXPECT_TRUE(in[4].binary);
  EXPECT_TRUE(!in[5].binary && in[5].value == ":e.a");
  EXPECT_EQ(p.line.libraryPaths, (std::vector<std::string>{"dir", "dir2"}));
}

TEST(CommandLine, TargetsAreLevels) {
  EXPECT_EQ(Parsed({"--target=cpu:x86-64-v3,cpu:x86-64,cuda:sm_90"}).line.options.cpuLevels,
            (std::vector<unsigned>{1, 3}));
  EXPECT_TRUE(Parsed({"--target=cpu:pentium"}).diagnostics.hasErrors());
  EXPECT_TRUE(Parsed({"--target=cuda:gfx942"}).diagnostics.hasErrors());
  Parsed gpus({"--target=cuda:sm_90a,hip:gfx942,ptx", "--exact-target"});
  const WantedTargets &device = gpus.line.options.deviceTargets;
  ASSERT_EQ(device.cuda.size() + device.hip.size(), 2u);
  EXPECT_EQ(device.cuda[0].name, "sm_90a");
  EXPECT_EQ(device.hip[0].name, "gfx942");
  EXPECT_TRUE(device.ptx && device.exact && gpus.forLld().empty());
  EXPECT_TRUE(Parsed({"--weights="}).diagnostics.hasErrors());
  EXPECT_TRUE(Parsed({"--graph"}).diagnostics.hasErrors());
  EXPECT_FALSE(Parsed({"--graph", "m.onnx"}).diagnostics.hasErrors());
}
