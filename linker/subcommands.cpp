// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of `coppice`. CLI11 is used here and nowhere else: it throws, and it takes long to compile.
#include "linker/subcommands.h"
#include "linker/explain_command.h"
#include "linker/inspect_command.h"
#include "linker/installation.h"
#include "linker/pack_command.h"
#include "linker/unpack_command.h"
#include "linker/why_command.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace llvm;

namespace coppice {

namespace {

constexpr int usageError = 2;

const char examples[] = R"help(Examples:
  A kernel, a graph and main in one file:
    clang++ -std=c++20 demo.cpp $(coppice --cflags) -fuse-ld=coppice -o demo
    g++ -std=c++20 demo.cpp $(coppice --cflags) -B"$(coppice --bindir)" -fuse-ld=lld -o demo

  An ONNX model and the kernels that it needs, in one executable:
    clang++ -std=c++20 app.cpp $(coppice --cflags) -fuse-ld=coppice -Wl,--graph=model.onnx -lcoppice_onnx -o app
    coppice inspect app

`coppice link --help` lists the flags of the link step; `man coppice` says more.)help";

const char whyExamples[] = R"help(Examples:
  coppice why app Convolution                 an op: who uses it, and what it costs
  coppice why app ncnn::Convolution::forward  the chain from a graph or main to a function
  coppice why app 'libncnn.a(*)'              the biggest parts of a library, each with its chain

The same during a link: --why=NAME. It then also knows what was dropped because nothing refers to it.)help";

class Formatter : public CLI::Formatter {
  std::string make_usage(const CLI::App *app, std::string name) const override {
    if (app->get_parent()) return CLI::Formatter::make_usage(app, name);
    return "Usage: coppice SUBCOMMAND ...\n       coppice OPTION\n";
  }
};

/// A word that is not a subcommand gets the nearest one as advice; CLI11 would list all of them.
bool isUnknownSubcommand(StringRef word, ArrayRef<StringRef> known) {
  if (word.starts_with("-") || is_contained(known, word)) return false;
  errs() << "coppice: no subcommand '" << word << "'";
  unsigned best = word.size() / 2 + 1;
  StringRef nearest;
  for (StringRef candidate : known) {
    unsigned distance = word.edit_distance(candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  if (!nearest.empty()) errs() << "; did you mean '" << nearest << "'?";
  errs() << "\nSee `coppice --help`.\n";
  return true;
}

} // namespace

int runSubcommand(int argc, const char *const *argv, const Installation &installation) {
  CLI::App app("Coppice links programs that run ML graphs: it compiles their graphs, keeps the kernels that these use, "
               "and nothing else.\n");
  app.formatter(std::make_shared<Formatter>());
  app.set_help_flag("-h,--help", "Print this help");

  bool version = false, cflags = false, bindir = false, libdir = false;
  app.add_flag("--version", version, "Print the version")->group("Options");
  app.add_flag("--cflags", cflags, "Print the compiler flags that a file with kernels or graphs needs");
  app.add_flag("--bindir", bindir,
               "Print the folder in which g++ finds Coppice: g++ -B\"$(coppice --bindir)\" -fuse-ld=lld");
  app.add_flag("--libdir", libdir, "Print the folder of libcoppice*.a; the link step looks there by itself");

  // Here for --help only; main.cpp runs it.
  app.add_subcommand("link", "Link, as ld.lld does and with Coppice's own flags (--graph=FILE, --print-kernels, ...)");

  CLI::App *inspect =
      app.add_subcommand("inspect", "Show kernels and graphs of programs, objects, archives and models");
  InspectOptions inspectOptions;
  inspect->add_option("FILE", inspectOptions.files, "Programs, shared libraries, objects, archives, models")
      ->type_name("");
  inspect->add_option("--graph", inspectOptions.graph, "Print the MLIR of this graph, or of all, without weights")
      ->type_name("[=NAME]")
      ->expected(0, 1);
  inspect->add_flag("--json", inspectOptions.json, "Print JSON (docs/inspect.md)");

  CLI::App *why = app.add_subcommand("why", "Say what keeps a part of a program, or why it was dropped");
  WhyOptions whyOptions;
  why->add_option("APP", whyOptions.program, "A program that Coppice linked, not stripped")->type_name("");
  why->add_option("NAME", whyOptions.name,
                  "An op or kernel; a symbol, mangled or not, or the last part of one; a class; a graph; a section as\n"
                  "file.o:(.text.x); an object or archive member; a glob over all of these")
      ->type_name("");
  why->add_flag("--json", whyOptions.json, "Print JSON (docs/why.md)");
  why->footer(whyExamples);

  CLI::App *pack = app.add_subcommand("pack", "Compress an executable; it decompresses itself when it starts");
  PackCommandOptions packOptions;
  pack->add_option("APP", packOptions.input, "An executable, static or dynamic")->type_name("");
  pack->add_option("-o", packOptions.output, "What to write")->type_name("FILE");
  pack->add_option("--level", packOptions.pack.level, "Level of zstd, 1 to 22 (default: 9)")
      ->type_name("N")
      ->check(CLI::Range(PackOptions::lowestLevel, PackOptions::highestLevel));
  pack->add_flag("--small", packOptions.pack.smallLoader,
                 "A loader of half the size, which takes about twice the time");
  pack->add_flag("--stats", packOptions.stats, "Print what became of each part");

  CLI::App *unpack = app.add_subcommand("unpack", "Write the executable that `coppice pack` was given, byte for byte");
  UnpackOptions unpackOptions;
  unpack->add_option("APP", unpackOptions.input, "A packed executable")->type_name("");
  unpack->add_option("-o", unpackOptions.output, "What to write")->type_name("FILE");

  CLI::App *explain = app.add_subcommand("explain", "Print the long form of an error; without CODE, list them all");
  std::string code;
  explain->add_option("CODE", code, "Such as COP101, as it stands in the message")->type_name("");

  app.footer(examples); // after the subcommands, which would inherit it

  std::vector<StringRef> known;
  for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; }))
    known.push_back(sub->get_name());
  if (argc > 1 && isUnknownSubcommand(argv[1], known)) return usageError;

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    errs() << "coppice: " << error.what() << "\nSee `coppice --help`.\n";
    return usageError;
  }

  if (version) outs() << "coppice " COPPICE_VERSION " (LLD " LLVM_VERSION_STRING ")\n";
  if (cflags) outs() << "-I" << installation.includeDirectory << " -ffunction-sections\n";
  if (bindir) outs() << installation.linkerDirectory << "\n";
  if (libdir) outs() << installation.libraryDirectory << "\n";
  if (version || cflags || bindir || libdir) return 0;

  if (inspect->parsed()) {
    // inspect --graph FILE: the name is optional, the file is not.
    if (inspectOptions.files.empty() && !inspectOptions.graph.value_or("").empty())
      inspectOptions.files.push_back(std::exchange(*inspectOptions.graph, ""));
    if (!inspectOptions.files.empty()) return inspectCommand(inspectOptions, outs(), errs());
    errs() << "coppice: inspect: no FILE is given\nSee `coppice inspect --help`.\n";
    return usageError;
  }
  if (why->parsed()) {
    if (!whyOptions.name.empty()) return whyCommand(whyOptions, outs(), errs());
    errs() << "coppice: why: no " << (whyOptions.program.empty() ? "APP" : "NAME")
           << " is given\nSee `coppice why --help`.\n";
    return usageError;
  }
  if (pack->parsed() || unpack->parsed()) {
    const char *name = pack->parsed() ? "pack" : "unpack";
    const std::string &input = pack->parsed() ? packOptions.input : unpackOptions.input;
    const std::string &output = pack->parsed() ? packOptions.output : unpackOptions.output;
    if (!input.empty() && !output.empty())
      return pack->parsed() ? packCommand(packOptions, outs(), errs()) : unpackCommand(unpackOptions, errs());
    errs() << "coppice: " << name << ": no " << (input.empty() ? "APP" : "-o FILE") << " is given\nSee `coppice "
           << name << " --help`.\n";
    return usageError;
  }
  if (explain->parsed()) return explainCommand(code, outs(), errs());
  errs() << app.help();
  return usageError;
}

} // namespace coppice
