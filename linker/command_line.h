// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of the link step. Every option of ld.lld is passed on as it is; only those that decide which inputs
// are read are understood here, and our own flags are taken out.
#pragma once
#include "analysis/device/device_targets.h"
#include "analysis/diagnostic.h"
#include "analysis/reach/binding.h"
#include "analysis/reach/link_settings.h"
#include "packer/pack.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"
#include <optional>
#include <string>
#include <vector>

namespace coppice {

/// A file or a library in the order of the command line, with what the options before it said.
struct InputArgument {
  std::string value; ///< path, or for a library what stands after -l
  bool library = false;
  bool wholeArchive = false; ///< --whole-archive
  bool staticOnly = false;   ///< -Bstatic: no shared library for -l
  bool lazy = false;         ///< between --start-lib and --end-lib
  bool binary = false;       ///< after --format=binary: not an object
};

struct GraphArgument {
  std::string name; ///< empty: to be found
  std::string file;
};

/// Our own flags (docs/link-flags.md).
struct LinkOptions {
  std::vector<GraphArgument> graphs;
  std::vector<std::string> keepKernels;
  std::vector<std::pair<std::string, std::string>> preferKernels; ///< op, library
  WantedTargets deviceTargets;                                    ///< cuda, hip and ptx of --target; --exact-target
  std::vector<unsigned> cpuLevels; ///< wanted x86-64 levels (1 to 4), ascending; empty: baseline and all that there are
  std::optional<std::string> weightsFile; ///< --weights=FILE; not set: embed
  /// --dump-after=STEP: "symbols" prints what is linked, "graphs" the MLIR after overload resolution, "reach" the
  /// sections that nothing needs, "split" those whose functions could not become sections. For debugging.
  std::string dumpAfter;
  std::vector<std::string> bindingFiles; ///< --binding
  std::vector<std::string> keepFrom;     ///< --keep-from: files with keys
  std::vector<std::string> gcKernels;    ///< --gc-kernels=NAME,...
  std::vector<std::string> why;          ///< --why
  bool gcAllKernels = false;             ///< --gc-kernels: all bindings whose framework is linked
  bool noGcKernels = false;              ///< --no-gc-kernels
  VariantChoice variants = VariantChoice::All;
  std::optional<PackOptions> pack; ///< --pack; done after the link, so it counts as no change of it
  bool stripWhy = false, hideExports = false;
  std::optional<bool> splitSections; ///< not set: where no debug information is kept
  bool splitAllSections = false;     ///< --split-sections=all: also where nothing is dead, for tests
  bool printKernels = false, sizeSummary = false, stripGraph = false, jsonDiagnostics = false;
  bool any = false;               ///< one of our flags that changes the output was given
  std::vector<std::string> given; ///< our flags as they were given, without --graph
};

struct CommandLine {
  /// For lld: without our flags, response files expanded. Points into `saver` or the caller's argv.
  std::vector<const char *> forLld;
  LinkOptions options;
  std::vector<InputArgument> inputs;
  std::vector<std::string> libraryPaths;
  LinkSettings settings; ///< without what stands in the files below
  std::vector<std::string> scripts, versionScripts, dynamicLists;
  std::string sysroot, output = "a.out";
  std::string reproduce;                         ///< --reproduce=FILE
  bool stripAll = false;                         ///< -s
  bool relocatable = false, noGraphWork = false; ///< --version, --help: nothing is linked
  std::optional<bool> colour;                    ///< --color-diagnostics
  unsigned threads = 0;                          ///< 0: not said
};

/// `arguments` without the program's name. Reports COP301 for a flag of ours that is wrong; other options are lld's to
/// judge.
CommandLine parseCommandLine(llvm::ArrayRef<const char *> arguments, llvm::StringSaver &saver,
                             Diagnostics &diagnostics);

/// "cpu:x86-64-v3,cuda:sm_90".
bool parseTargets(llvm::StringRef list, std::vector<unsigned> &cpuLevels, WantedTargets &deviceTargets,
                  std::string &why);

/// Help for the flags that Coppice adds, to stand under ld.lld's own.
extern const char linkFlagsHelp[];

} // namespace coppice
