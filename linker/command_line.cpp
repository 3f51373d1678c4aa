// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/command_line.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Process.h"

using namespace llvm;

namespace coppice {

const char linkFlagsHelp[] =
    R"(COPPICE OPTIONS (all of ld.lld's options work as they do there):
  --graph=[NAME=]FILE     Compile the graph in FILE (.onnx, .mlir, MLIR bytecode) for COPPICE_IMPORT_GRAPH(NAME, ...)
  --keep-kernel=GLOB      Keep kernels whose op or op$variant matches, used by a graph or not
  --prefer-kernel=OP=LIB  Which library wins where two define a kernel for OP
  --target=LIST           cpu:x86-64[-v2|-v3|-v4], comma-separated (default: baseline, and higher levels that kernels
                          have, chosen at start)
  --weights=embed|FILE    Put the weights into the executable (default), or into FILE, which is opened at run time
  --binding=FILE          How a framework of your own registers its kernels (docs/bindings.md)
  --gc-kernels[=NAME,...] Drop kernels that no graph uses, of these bindings, also in a link without their graphs
  --no-gc-kernels         Keep all kernels that register themselves; with COPPICE_RECORD_KERNELS=FILE the program
                          writes down which of them it called
  --keep-from=FILE        Keep the kernels that FILE lists, one a line: written by hand or by such a run
  --variants=WHICH        CPU variants of a framework's kernels: all (default), best, generic
  --split-sections        Drop dead functions inside of sections that live (default where no debug information is kept;
                          --no-split-sections: never)
  --exact-target          Of device code keep what is for the targets themselves, not what also runs on them
  --hide-exports          Export nothing from an executable or library but what version scripts and lists name
  --why=NAME              Say what keeps a kernel, symbol or section, or why it was dropped
  --strip-why             Leave that record out of the executable (section .coppice.why)
  --print-kernels         List each op of each graph, the kernel that was chosen and the library it comes from
  --size-summary          Say what was linked: kernels, plans, weights, peak memory of graphs with static shapes
  --strip-graph           Leave the MLIR of the graphs out of the executable (section .coppice.graph)
  --pack[=LEVEL|small]    Compress the executable, with a level of zstd (1 to 22, default 9) or the small loader
  --diagnostics=text|json How Coppice's own messages are printed
)";

bool parseTargets(StringRef list, std::vector<unsigned> &cpuLevels, WantedTargets &deviceTargets, std::string &why) {
  SmallVector<StringRef> items;
  list.split(items, ',', -1, /*KeepEmpty=*/false);
  if (items.empty()) {
    why = "it is empty";
    return false;
  }
  for (StringRef item : items) {
    auto [family, name] = item.split(':');
    if (family == "cpu") {
      unsigned level = StringSwitch<unsigned>(name)
                           .Case("x86-64", 1)
                           .Case("x86-64-v2", 2)
                           .Case("x86-64-v3", 3)
                           .Case("x86-64-v4", 4)
                           .Default(0);
      if (!level) {
        why = ("'" + name + "' is not a CPU level: x86-64, x86-64-v2, x86-64-v3, x86-64-v4").str();
        return false;
      }
      cpuLevels.push_back(level);
    } else if (!addWantedTarget(item, deviceTargets, why)) {
      return false;
    }
  }
  llvm::sort(cpuLevels);
  cpuLevels.erase(std::unique(cpuLevels.begin(), cpuLevels.end()), cpuLevels.end());
  return true;
}

namespace {

// Options of lld 22 (lld/ELF/Options.td) whose value is the next argument when it is not joined with '='. What is not
// listed here is one argument.
const StringSet<> &separateOptions() {
  static const StringSet<> set = {
      "auxiliary", "bp-startup-sort", "call-graph-ordering-file", "chroot", "compress-debug-sections",
      "compress-sections", "default-script", "defsym", "dependency-file", "dynamic-linker", "dynamic-list", "entry",
      "error-handling-script", "error-limit", "exclude-libs", "export-dynamic-symbol", "export-dynamic-symbol-list",
      "filter", "fini", "format", "hash-style", "image-base", "in-implib", "init", "irpgo-profile", "just-symbols",
      "keep-unique", "library", "library-path", "load-pass-plugin", "lto-known-safe-vtables", "Map", "mllvm",
      "mips-got-size", "oformat", "opt-remarks-filename", "opt-remarks-format", "opt-remarks-hotness-threshold",
      "opt-remarks-passes", "orphan-handling", "out-implib", "output", "pack-dyn-relocs", "plugin",
      "print-symbol-order", "remap-inputs", "reproduce", "retain-symbols-file", "rpath", "rpath-link", "rsp-quoting",
      "script", "section-start", "shuffle-sections", "soname", "sort-section", "split-stack-adjust-size",
      "symbol-ordering-file", "sysroot", "target2", "Tbss", "Tdata", "Ttext", "Ttext-segment", "thinlto-cache-policy",
      "threads", "time-trace-granularity", "trace-symbol", "undefined", "undefined-glob", "unresolved-symbols",
      "version-script", "warn-backrefs-exclude", "why-live", "wrap",
      // single letters, with one dash only
      "b", "dT", "e", "f", "F", "G", "h", "l", "L", "m", "o", "O", "R", "T", "u", "y", "z"};
  return set;
}

// The single letters whose value may follow without a space.
bool isJoinedLetter(char c) { return StringRef("lLoeumzhyTRGO").contains(c); }

struct Option {
  StringRef name, value;
  bool hasValue = false;
};

class Parser {
public:
  Parser(CommandLine &result, Diagnostics &diagnostics) : result(result), diagnostics(diagnostics) {}

  void parse(ArrayRef<const char *> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      StringRef argument = arguments[i];
      if (!argument.starts_with("-") || argument == "-") {
        addInput(argument, false);
        result.forLld.push_back(arguments[i]);
        continue;
      }
      Option option;
      bool dashes = argument.starts_with("--");
      StringRef body = argument.drop_front(dashes ? 2 : 1);
      std::tie(option.name, option.value) = body.split('=');
      option.hasValue = body.contains('=');
      if (ours(option, argument, i + 1 < arguments.size() ? arguments[i + 1] : nullptr, i)) continue;

      result.forLld.push_back(arguments[i]);
      if (!option.hasValue && separateOptions().contains(body) && (body.size() > 1 || !dashes)) {
        if (i + 1 == arguments.size()) continue; // lld says what is missing
        option.value = arguments[++i];
        option.hasValue = true;
        result.forLld.push_back(arguments[i]);
      } else if (!dashes && body.size() > 1 && isJoinedLetter(body[0]) && !isLongOption(option.name)) {
        option.name = body.take_front(1);
        option.value = body.drop_front(1);
        option.hasValue = true;
      }
      understand(option);
    }
  }

private:
  // "-z" and "now" joined is "-znow"; "-Map=x", "-rpath" and so on only look like it.
  static bool isLongOption(StringRef name) {
    if (separateOptions().contains(name) && name.size() > 1) return true;
    return StringSwitch<bool>(name)
        .Cases({"lto", "error-unresolved-symbols", "emit-relocs", "enable-new-dtags", "export-dynamic", "eh-frame-hdr"},
               true)
        .Cases({"omagic", "optimize-bb-jumps", "undefined-version", "unique", "use-android-relr-tags",
                "merge-exidx-entries"},
               true)
        .Cases({"long-plt", "help", "relocatable"}, true)
        .Default(false);
  }

  void bad(StringRef argument, const Twine &why, StringRef help) {
    diagnostics.error("COP301", ("bad option '" + argument + "': " + why).str(), {}, help.str());
  }

  // Takes the flag out if it is ours. Ours are always "--name=value", as lld's newer ones are; clang's -Wl, and CMake
  // pass them on untouched.
  bool ours(const Option &option, StringRef argument, const char *next, size_t &index) {
    LinkOptions &o = result.options;
    if (!argument.starts_with("--")) return false;
    StringRef value = option.value;
    bool takesValue =
        StringSwitch<bool>(option.name)
            .Cases({"graph", "keep-kernel", "prefer-kernel", "target", "weights", "diagnostics", "dump-after"}, true)
            .Cases({"binding", "keep-from", "variants", "why"}, true)
            .Default(false);
    if (takesValue && !option.hasValue) {
      if (!next) {
        bad(argument, "it needs a value", ("write --" + option.name + "=VALUE").str());
        return true;
      }
      value = next;
      ++index;
    }
    if (option.name == "graph") {
      GraphArgument graph;
      auto [name, file] = value.split('=');
      if (file.empty())
        file = name;
      else
        graph.name = name.str();
      graph.file = file.str();
      if (file.empty())
        bad(argument, "no file is named", "write --graph=model.onnx or --graph=NAME=model.onnx");
      else
        o.graphs.push_back(graph);
    } else if (option.name == "keep-kernel") {
      o.keepKernels.push_back(value.str());
    } else if (option.name == "prefer-kernel") {
      auto [op, library] = value.split('=');
      if (op.empty() || library.empty())
        bad(argument, "an op and a library are wanted", "write --prefer-kernel=onnx.Conv=libfast.a");
      else
        o.preferKernels.push_back({op.str(), library.str()});
    } else if (option.name == "target") {
      std::string why;
      if (!parseTargets(value, o.cpuLevels, o.deviceTargets, why))
        bad(argument, why, "write --target=cpu:x86-64-v3 or --target=cuda:sm_90");
    } else if (option.name == "weights") {
      if (value == "embed")
        o.weightsFile.reset();
      else if (value.empty() || value == "compress")
        bad(argument, value.empty() ? "a file is wanted" : "weights are not compressed by this version",
            "write --weights=embed or --weights=model.weights");
      else
        o.weightsFile = value.str();
    } else if (option.name == "diagnostics") {
      if (value != "text" && value != "json") bad(argument, "text or json is wanted", "write --diagnostics=json");
      o.jsonDiagnostics = value == "json";
      return true; // changes nothing of the output
    } else if (option.name == "dump-after") {
      if (value != "symbols" && value != "graphs" && value != "reach" && value != "split")
        bad(argument, "a step is wanted",
            "write --dump-after=symbols, --dump-after=graphs, --dump-after=reach or --dump-after=split");
      o.dumpAfter = value.str();
    } else if (option.name == "binding") {
      o.bindingFiles.push_back(value.str());
    } else if (option.name == "keep-from") {
      o.keepFrom.push_back(value.str());
    } else if (option.name == "why") {
      o.why.push_back(value.str());
    } else if (option.name == "variants") {
      auto choice = StringSwitch<std::optional<VariantChoice>>(value)
                        .Case("all", VariantChoice::All)
                        .Case("best", VariantChoice::Best)
                        .Case("generic", VariantChoice::Generic)
                        .Default(std::nullopt);
      if (choice)
        o.variants = *choice;
      else
        bad(argument, "all, best or generic is wanted", "write --variants=generic");
    } else if (option.name == "gc-kernels") {
      SmallVector<StringRef> names;
      value.split(names, ',', -1, /*KeepEmpty=*/false);
      for (StringRef name : names) o.gcKernels.push_back(name.str());
      if (!option.hasValue) o.gcAllKernels = true;
      if (option.hasValue && names.empty())
        bad(argument, "the name of a binding is wanted", "write --gc-kernels=ncnn, or --gc-kernels for all");
    } else if (option.name == "pack") {
      if (!o.pack) o.pack.emplace();
      SmallVector<StringRef> values;
      if (option.hasValue) value.split(values, ',');
      for (StringRef part : values)
        if (!parsePackOptions(part, *o.pack))
          bad(argument, "a level of 1 to 22 or 'small' is wanted", "write --pack, --pack=19 or --pack=small");
      return true; // the link itself is as without
    } else if (!option.hasValue && option.name == "no-gc-kernels") {
      o.noGcKernels = true;
    } else if (!option.hasValue && option.name == "strip-why") {
      o.stripWhy = true;
    } else if (!option.hasValue && option.name == "hide-exports") {
      o.hideExports = true;
    } else if (!option.hasValue && option.name == "exact-target") {
      o.deviceTargets.exact = true;
    } else if (!option.hasValue && (option.name == "split-sections" || option.name == "no-split-sections")) {
      o.splitSections = option.name == "split-sections";
    } else if (option.name == "split-sections" && option.value == "all") {
      o.splitSections = o.splitAllSections = true;
    } else if (!option.hasValue && option.name == "print-kernels") {
      o.printKernels = true;
    } else if (!option.hasValue && option.name == "size-summary") {
      o.sizeSummary = true;
    } else if (!option.hasValue && option.name == "strip-graph") {
      o.stripGraph = true;
    } else {
      return false;
    }
    o.any = true;
    if (option.name != "graph")
      o.given.push_back(("--" + option.name + (takesValue || option.hasValue ? "=" : "") +
                         (takesValue || option.hasValue ? value : StringRef()))
                            .str());
    return true;
  }

  void addInput(StringRef value, bool library) {
    InputArgument input = state;
    input.value = value.str();
    input.library = library;
    result.inputs.push_back(input);
  }

  void understand(const Option &o) {
    StringRef name = o.name;
    if (name == "l" || name == "library")
      addInput(o.value, true);
    else if (name == "L" || name == "library-path")
      result.libraryPaths.push_back(o.value.str());
    else if (name == "o" || name == "output")
      result.output = o.value.str();
    else if (name == "e" || name == "entry")
      result.settings.entry = o.value.str();
    else if (name == "init")
      result.settings.init = o.value.str();
    else if (name == "fini")
      result.settings.fini = o.value.str();
    else if (name == "u" || name == "undefined")
      result.settings.undefined.push_back(o.value.str());
    else if (name == "defsym")
      namesIn(o.value, result.settings.undefined);
    else if (name == "wrap")
      result.settings.wrapped.push_back(o.value.str());
    else if (name == "E" || name == "export-dynamic")
      result.settings.exportDynamic = true;
    else if (name == "no-export-dynamic")
      result.settings.exportDynamic = false;
    else if (name == "export-dynamic-symbol")
      result.settings.exported.push_back(o.value.str());
    else if (name == "export-dynamic-symbol-list" || name == "dynamic-list")
      result.dynamicLists.push_back(o.value.str());
    else if (name == "version-script")
      result.versionScripts.push_back(o.value.str());
    else if (name == "fortran-common" || name == "no-fortran-common")
      result.settings.fortranCommon = name == "fortran-common";
    else if (name == "exclude-libs") {
      SmallVector<StringRef> names;
      o.value.split(names, o.value.contains(',') ? ',' : ':', -1, /*KeepEmpty=*/false);
      for (StringRef library : names) result.settings.excludedLibraries.push_back(library.str());
    } else if (name == "z" && (o.value == "nostart-stop-gc" || o.value == "start-stop-gc"))
      result.settings.startStopGc = o.value == "start-stop-gc";
    else if (name == "s" || name == "strip-all")
      result.stripAll = result.settings.stripDebug = true;
    else if (name == "S" || name == "strip-debug")
      result.settings.stripDebug = true;
    else if (name == "sysroot")
      result.sysroot = o.value.str();
    else if (name == "reproduce")
      result.reproduce = o.value.str();
    else if (name == "threads")
      (void)o.value.getAsInteger(10, result.threads);
    else if (name == "T" || name == "script" || name == "dT" || name == "default-script")
      result.scripts.push_back(o.value.str()); // it may name inputs too, rarely: lld reads those, we do not
    else if (name == "r" || name == "relocatable")
      result.relocatable = true;
    else if (name == "shared" || name == "Bshareable")
      result.settings.shared = true;
    else if (name == "whole-archive")
      state.wholeArchive = true;
    else if (name == "no-whole-archive")
      state.wholeArchive = false;
    else if (name == "Bstatic" || name == "static" || name == "dn" || name == "non_shared")
      state.staticOnly = true;
    else if (name == "Bdynamic" || name == "dy" || name == "call_shared")
      state.staticOnly = false;
    else if (name == "start-lib")
      state.lazy = true;
    else if (name == "end-lib")
      state.lazy = false;
    else if (name == "format" || name == "b")
      state.binary = o.value == "binary";
    else if (name == "push-state")
      saved.push_back(state);
    else if (name == "pop-state" && !saved.empty()) {
      InputArgument old = saved.pop_back_val();
      state.wholeArchive = old.wholeArchive;
      state.staticOnly = old.staticOnly;
    } else if (name == "version" || name == "v" || name == "V" || name == "help") {
      result.noGraphWork = true;
    } else if (name == "color-diagnostics") {
      if (o.value == "never")
        result.colour = false;
      else if (o.value != "auto")
        result.colour = true;
    } else if (name == "no-color-diagnostics") {
      result.colour = false;
    }
  }

  // "--defsym=a=b+4" refers to b.
  static void namesIn(StringRef expression, std::vector<std::string> &names) {
    expression = expression.split('=').second;
    while (!expression.empty()) {
      StringRef word = expression.take_while([](char c) { return isAlnum(c) || StringRef("_.$@").contains(c); });
      if (!word.empty() && !isDigit(word[0]) && word != ".") names.push_back(word.str());
      expression = expression.drop_front(std::max<size_t>(word.size(), 1));
    }
  }

  CommandLine &result;
  Diagnostics &diagnostics;
  InputArgument state;
  SmallVector<InputArgument, 4> saved;
};

} // namespace

CommandLine parseCommandLine(ArrayRef<const char *> arguments, StringSaver &saver, Diagnostics &diagnostics) {
  // As lld does it; a response file that cannot be read stays as it is, and lld names it.
  SmallVector<const char *, 256> expanded(arguments.begin(), arguments.end());
  auto quoting = cl::TokenizeGNUCommandLine;
  for (const char *a : arguments)
    if (StringRef(a) == "--rsp-quoting=windows") quoting = cl::TokenizeWindowsCommandLine;
  cl::ExpandResponseFiles(saver, quoting, expanded);
  CommandLine result;
  Parser(result, diagnostics).parse(expanded);
  return result;
}

} // namespace coppice
