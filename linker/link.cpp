// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/link.h"
#include "analysis/graph/kernel_index.h"
#include "analysis/reach/resolve_symbols.h"
#include "analysis/reach/section_graph.h"
#include "linker/bindings.h"
#include "linker/command_line.h"
#include "linker/dropped_kernels.h"
#include "linker/graphs.h"
#include "linker/inputs.h"
#include "linker/installation.h"
#include "linker/link_reasons.h"
#include "linker/link_report.h"
#include "linker/link_settings.h"
#include "linker/lld.h"
#include "linker/prune_device_code.h"
#include "linker/recorded_kernels.h"
#include "linker/reproduce.h"
#include "linker/shake_edits.h"
#include "linker/text_table.h"
#include "linker/weaken_symbol.h"
#include "linker/why_print.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace llvm;

namespace coppice {
namespace {

// Does anything on the command line have to do with graphs? String tables only: a link without a graph starts at once.
bool mentionsGraphs(const std::vector<InputFile> &inputs) {
  return any_of(inputs, [](const InputFile &input) {
    return input.kind != InputKind::Shared && input.kind != InputKind::Other &&
           (mentionsSymbol(input.ref(), "coppice.graph.") || mentionsSymbol(input.ref(), "coppice.import.") ||
            mentionsSymbol(input.ref(), "coppice.plan."));
  });
}

/// What lld gets besides the user's own arguments.
struct Additions {
  std::vector<std::string> arguments; // after the user's
  std::vector<std::string> first;     // before them
  std::vector<MemoryInput> memory;
  std::map<size_t, std::unique_ptr<WritableMemoryBuffer>> edited; // private mappings of inputs, by index
};

// Plans of graphs in source files are lazy: the object that holds the graph decides by being extracted or not.
void addPlans(CompiledGraphs &graphs, Additions &additions) {
  StringSet<> names;
  std::vector<std::string> lazy;
  for (CompiledGraph &graph : graphs.graphs) {
    MemoryInput input;
    input.isFile = graph.fromFlag && names.insert(graph.file).second;
    graph.objectName = input.isFile ? graph.file : graph.file + ":(graph " + graph.name + ")";
    input.name = graph.objectName;
    input.contents = graph.object.object->getBuffer();
    if (input.isFile) input.alsoReads = graph.filesRead;
    additions.memory.push_back(input);
    (graph.fromFlag ? additions.arguments : lazy).push_back(graph.objectName);
  }
  // Behind everything else gigabytes are out of the way of absolute addresses too, which code that is not
  // position-independent has.
  if (any_of(graphs.graphs, [](const CompiledGraph &graph) { return graph.object.largeWeights; }))
    additions.arguments.insert(additions.arguments.end(), {"-z", "lrodata-after-bss"});
  if (!lazy.empty()) {
    additions.arguments.push_back("--start-lib");
    additions.arguments.insert(additions.arguments.end(), lazy.begin(), lazy.end());
    additions.arguments.push_back("--end-lib");
  }
}

// Where two archives define a chosen kernel under one symbol, the first on the command line would win. The chosen
// member goes in front as an object of its own; its archive has then nothing left to add.
void addPreferredMembers(const CompiledGraphs &graphs, const KernelIndex &index, Additions &additions) {
  StringSet<> added;
  for (const KernelDescriptor *k : graphs.descriptors) {
    if (!k->inArchive || index.definitions(k->symbol).size() < 2 || !added.insert(k->object.name).second) continue;
    additions.memory.push_back({k->object.name, k->object.buffer.getBuffer(), false, {}});
    additions.first.push_back(k->object.name);
  }
}

// A member may be needed for other things than its kernel that was not chosen, and define that again. There the symbol
// becomes weak, in a private mapping of the archive that lld is given in its place. (Members of thin archives are
// opened elsewhere, and bitcode has no symbol table to edit: lld then reports the two definitions.)
void weakenOtherDefinitions(const CompiledGraphs &graphs, const KernelIndex &index,
                            const std::vector<InputFile> &inputs, Additions &additions) {
  for (const KernelDescriptor *k : graphs.descriptors)
    for (const ObjectRef *other : index.definitions(k->symbol)) {
      const InputFile &input = inputs[other->file];
      bool isChosen = other->file == k->object.file && other->member == k->object.member;
      if (isChosen || input.kind != InputKind::Archive || input.archive->isThin()) continue;
      auto &copy = additions.edited[other->file];
      if (!copy) {
        auto mapped = WritableMemoryBuffer::getFile(input.path);
        if (!mapped || (*mapped)->getBufferSize() != input.buffer->getBufferSize()) continue;
        copy = std::move(*mapped);
      }
      size_t offset = size_t(other->buffer.getBufferStart() - input.buffer->getBufferStart());
      weakenDefinition(copy->getBuffer().slice(offset, other->buffer.getBufferSize()), k->symbol);
    }
}

// The inputs as lld will see them, with our objects; and in which order.
std::vector<size_t> addMemoryInputs(std::vector<InputFile> &inputs, const Additions &additions) {
  size_t runtime = inputs.size() - 1; // opened last, linked last
  std::vector<size_t> order;
  auto add = [&](const std::string &name, bool lazy) {
    auto memory = find_if(additions.memory, [&](const MemoryInput &m) { return m.name == name; });
    if (memory == additions.memory.end()) return;
    auto file = classifyInput(name, MemoryBuffer::getMemBuffer(memory->contents, name, false));
    if (!file) return consumeError(file.takeError()); // we wrote it
    file->lazy = lazy;
    order.push_back(inputs.size());
    inputs.push_back(std::move(*file));
  };
  for (const std::string &name : additions.first) add(name, false);
  for (size_t i = 0; i < runtime; ++i) order.push_back(i);
  bool lazy = false;
  for (const std::string &argument : additions.arguments) {
    if (argument == "--start-lib") lazy = true;
    add(argument, lazy);
  }
  order.push_back(runtime);
  return order;
}

void keepByHand(const LinkOptions &options, const KernelIndex &index, const Registrations &registrations,
                LinkSettings &settings, Additions &additions, Diagnostics &diagnostics) {
  for (const std::string &glob : options.keepKernels) {
    std::vector<std::string> symbols = index.matching(glob);
    if (symbols.empty() && none_of(registrations.list, [&](const Registration &r) { return matchesGlob(glob, r); }))
      diagnostics.error("COP108", "--keep-kernel=" + glob + " matches no kernel of this link", {},
                        "coppice inspect LIBRARY lists the kernels of a library");
    for (const std::string &symbol : symbols) {
      additions.arguments.push_back("-u");
      additions.arguments.push_back(symbol);
      settings.undefined.push_back(symbol);
    }
  }
  for (const auto &[op, library] : options.preferKernels) {
    bool known = any_of(index.libraries(), [&](const KernelLibrary &l) {
      return l.path == library || sys::path::filename(l.path) == library;
    });
    if (!known)
      diagnostics.error("COP108",
                        "--prefer-kernel=" + op + "=" + library + ": no library of this link has kernels and that name",
                        {}, "name an archive as it stands on the command line, or its file name: lib….a");
  }
}

ResponseFileEdits reproduceEdits(const LinkOptions &options, const CompiledGraphs &graphs, const Additions &additions) {
  ResponseFileEdits edits;
  for (const std::string &member : additions.first) edits.replace.push_back({member, ""});
  for (const CompiledGraph &graph : graphs.graphs) {
    edits.replace.push_back({graph.objectName, ""});
    if (graph.fromFlag) edits.append.push_back("--graph=" + graph.name + "=" + pathInReproduceArchive(graph.file));
  }
  for (const MemoryInput &input : additions.memory)
    if (!input.isFile) edits.replace.push_back({input.name, ""});
  edits.append.insert(edits.append.end(), options.given.begin(), options.given.end());
  return edits;
}

SplitSections splitMode(const LinkOptions &options, const LinkSettings &settings) {
  if (options.splitAllSections) return SplitSections::All;
  if (options.splitSections) return *options.splitSections ? SplitSections::Always : SplitSections::Never;
  return settings.stripDebug ? SplitSections::Always : SplitSections::WithoutDebugInfo;
}

bool hasCoppiceLibrary(const CommandLine &commandLine) {
  return any_of(commandLine.inputs,
                [](const InputArgument &i) { return i.library && StringRef(i.value).starts_with("coppice"); });
}

// As --print-gc-sections does it.
void printDead(raw_ostream &out, const SectionGraph &graph) {
  std::vector<char> live = markLive(graph);
  const auto &objects = graph.symbols().linked();
  for (SectionGraph::Node node = 1; graph.isSection(node); ++node) {
    if (live[node] || !graph.isPresent(node) || graph.isEhFrame(node)) continue;
    const LinkedObject &object = objects[graph.objectOf(node)];
    out << object.name << ":(" << object.elf->sectionName(graph.sectionOf(node)) << ")\n";
  }
  for (SectionGraph::Node node = 1; node < graph.size(); ++node)
    if (graph.isCommon(node) && !live[node]) out << objects[graph.objectOf(node)].name << ":(COMMON)\n";
}

class Printer {
public:
  Printer(const CommandLine &commandLine, raw_ostream &err) : commandLine(commandLine), err(err) {}
  void print(const Diagnostics &diagnostics) {
    if (commandLine.options.jsonDiagnostics)
      printJson(err, diagnostics.all());
    else
      printText(err, diagnostics.all(), "ld.coppice", commandLine.colour.value_or(err.has_colors()));
  }

private:
  const CommandLine &commandLine;
  raw_ostream &err;
};

// The linked program, packed, in its own place. What cannot be packed is not left behind unpacked.
bool packOutput(const CommandLine &commandLine, Diagnostics &diagnostics) {
  const std::string &path = commandLine.output;
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    diagnostics.error("COP303", "cannot read '" + path + "' to pack it: " + file.getError().message());
    return false;
  }
  auto packed = pack((*file)->getBuffer(), *commandLine.options.pack);
  if (!packed) {
    diagnostics.error("COP501", "cannot pack '" + path + "': " + toString(packed.takeError()), {},
                      "link it without --pack");
  } else if (Error error = writeExecutable(path, packed->bytes, path)) {
    diagnostics.error("COP303", "cannot write '" + path + "': " + toString(std::move(error)));
  } else {
    return true;
  }
  (void)sys::fs::remove(path);
  return false;
}

int linkUnpacked(ArrayRef<const char *> arguments, CommandLine &commandLine, Diagnostics diagnostics,
                 const Installation &installation, raw_ostream &out, raw_ostream &err, function_ref<void(int)> leave) {
  Printer printer(commandLine, err);
  const LinkOptions &options = commandLine.options;

  // --version and --help are lld's. -r compiles nothing: what is relocatable stays so, graphs included.
  if (commandLine.noGraphWork || commandLine.relocatable) {
    int code = runLld(commandLine.forLld, {}, out, err);
    if (is_contained(map_range(arguments, [](const char *a) { return StringRef(a); }), "--help"))
      out << "\n" << linkFlagsHelp;
    return code;
  }

  // Our libraries are found as if their folder were on every command line that names one of them.
  std::string ownLibraries = "-L" + installation.libraryDirectory;
  if (hasCoppiceLibrary(commandLine)) {
    commandLine.libraryPaths.push_back(installation.libraryDirectory);
    commandLine.forLld.push_back(ownLibraries.c_str());
  }

  std::vector<InputFile> inputs = openInputs(commandLine, diagnostics);
  if (!options.any && !mentionsGraphs(inputs)) // what openInputs did not like, lld likes no better
    return runLld(commandLine.forLld, {}, out, err);

  // The runtime is there for whoever calls a graph; an archive of which nothing is used adds nothing.
  std::string runtime = installation.libraryDirectory + "/libcoppice.a";
  if (auto file = openInputFile(runtime)) {
    inputs.push_back(std::move(*file));
  } else {
    consumeError(file.takeError());
    diagnostics.error("COP302", "Coppice's own runtime is missing: " + runtime, {},
                      "install Coppice again, or build the target coppice_runtime");
  }
  if (diagnostics.hasErrors()) {
    printer.print(diagnostics);
    return 1;
  }

  // Beyond this point the inputs do not change.
  LinkSettings settings = readLinkSettings(commandLine);
  settings.hideExports = options.hideExports;
  SymbolResolution resolution(inputs, settings);
  if (Error error = resolution.run()) diagnostics.error("COP302", toString(std::move(error)));
  KernelIndex index(inputs, diagnostics);

  // Kernels that register themselves: what do graphs and flags want of them?
  std::vector<Binding> bindings;
  if (mayUseBindings(options)) bindings = loadBindings(options, diagnostics);
  Registrations registrations = findRegistrations(resolution, bindings);
  size_t objectsScanned = resolution.linked().size();
  KeyGraphs keys = readKeyGraphs(options, bindings, registrations, diagnostics);
  if (Error error = requireSymbolsOfKeys(resolution, bindings, keys.uses))
    diagnostics.error("COP302", toString(std::move(error)));
  reportKeysOfSeveralArchives(resolution, bindings, keys.uses, diagnostics);
  reportMissingKeys(resolution, bindings, registrations, keys.uses, diagnostics);

  CompiledGraphs graphs;
  if (!diagnostics.hasErrors()) graphs = compileGraphs(options, keys.isKeyGraph, resolution, index, diagnostics);
  if (options.dumpAfter == "symbols")
    for (const ObjectRef &object : resolution.linked()) out << object.name << "\n";
  if (options.dumpAfter == "reach") printDead(out, SectionGraph(resolution, settings));
  if (options.dumpAfter == "graphs")
    for (ResolvedGraph &graph : graphs.resolved) graph.module.print(out);
  Additions additions;
  if (!diagnostics.hasErrors()) {
    addPlans(graphs, additions);
    addPreferredMembers(graphs, index, additions);
    weakenOtherDefinitions(graphs, index, inputs, additions);
    keepByHand(options, index, registrations, settings, additions, diagnostics);
    warnSharedSections(graphs, index, diagnostics);
  }

  // What is alive, now that all that is linked is known; and the edits by which lld drops the rest.
  std::vector<EditedInput> edited;
  std::vector<std::string> notSplit; // sections, and why
  std::optional<Shaken> shaken;
  std::optional<SymbolResolution> whole; // with plans and what is kept by hand, where there are such
  std::unique_ptr<MemoryBuffer> dropped, recordedObject, why;
  std::optional<WhyRecord> reasons;
  PrunedDeviceCode deviceCode;
  std::vector<PlanUse> plans; // what the reasons point into
  if (!diagnostics.hasErrors()) {
    ShakeEdits edits;
    SymbolResolution *program = &resolution;
    bool mayDrop = options.hideExports || any_of(keys.uses, [](const BindingUse &use) { return use.isConditional; });
    bool keepReasons = !options.stripWhy && !commandLine.stripAll && (mayDrop || !graphs.graphs.empty());
    bool wantsReasons = keepReasons || !options.why.empty();
    if (mayDrop || wantsReasons) {
      if (!additions.arguments.empty() || !additions.first.empty()) {
        std::vector<size_t> order = addMemoryInputs(inputs, additions);
        program = &whole.emplace(inputs, settings, std::move(order));
        if (Error error = program->run()) diagnostics.error("COP302", toString(std::move(error)));
      }
      if (program != &resolution || resolution.linked().size() != objectsScanned)
        registrations = findRegistrations(*program, bindings);
      ShakeOptions shakeOptions;
      shakeOptions.keepKernels = options.keepKernels;
      shakeOptions.variants = options.variants;
      shakeOptions.splitFunctions = mayDrop;
      if (!options.cpuLevels.empty()) shakeOptions.cpuLevel = options.cpuLevels.front();
      shaken = shake(*program, settings, bindings, std::move(registrations), std::move(keys.uses), shakeOptions);
      edits = editsFor(*shaken, bindings, splitMode(options, settings), diagnostics);
      warnKept(*shaken, bindings, diagnostics);
      if (!edits.droppedKernels.empty()) {
        dropped = droppedKernelsObject(edits.droppedKernels, sys::path::filename(commandLine.output).str());
        additions.memory.push_back({dropped->getBufferIdentifier().str(), dropped->getBuffer(), false, {}});
        additions.arguments.push_back(additions.memory.back().name);
      }
      for (const std::string &symbol : edits.undefined)
        additions.arguments.insert(additions.arguments.end(), {"-u", symbol});
      if (!shaken->cutsAnything && graphs.graphs.empty()) keepReasons = false; // then it is as any linker would have it
      if (keepReasons || !options.why.empty()) {
        plans = planUses(graphs);
        reasons = findReasons(*shaken, bindings, plans, {.unreferenced = !options.why.empty()});
      }
      if (keepReasons) why = whyObject(*reasons);
      if (why) {
        additions.memory.push_back({why->getBufferIdentifier().str(), why->getBuffer(), false, {}});
        additions.arguments.push_back(additions.memory.back().name);
      }
    }
    if (options.noGcKernels && !mayDrop) {
      RecordedKernels recorded = recordKernels(*program, bindings, shaken ? shaken->registrations : registrations);
      edits.objects = std::move(recorded.objects);
      recordedObject = std::move(recorded.object);
      if (recordedObject) {
        additions.memory.push_back(
            {recordedObject->getBufferIdentifier().str(), recordedObject->getBuffer(), false, {}});
        additions.arguments.push_back(additions.memory.back().name);
      }
    }
    if (options.deviceTargets.any())
      deviceCode = pruneDeviceCode(*program, options.deviceTargets, edits.objects, diagnostics);
    auto applied = applyEdits(*program, edits.objects, std::move(additions.edited), notSplit);
    if (applied)
      edited = std::move(*applied);
    else
      diagnostics.error("COP303", toString(applied.takeError()));
    if (options.dumpAfter == "split")
      for (const std::string &why : notSplit) out << why << "\n";
    // lld reads what we have mapped already, edited or not: each page is brought in once.
    std::vector<MemoryInput> mapped; // what comes after them wins
    for (const InputFile &input : inputs)
      if (input.kind != InputKind::Other) mapped.push_back({input.path, input.buffer->getBuffer(), true, {}});
    additions.memory.insert(additions.memory.begin(), mapped.begin(), mapped.end());
    for (const EditedInput &input : edited)
      additions.memory.push_back({inputs[input.file].path, input.contents->getBuffer(), true, {}});
  }
  std::unique_ptr<FileOutputBuffer> weights;
  auto cannotWrite = [&](Error error) {
    return "cannot write '" + *options.weightsFile + "': " + toString(std::move(error));
  };
  if (options.weightsFile && !diagnostics.hasErrors()) {
    if (graphs.graphs.size() != 1)
      diagnostics.error("COP301",
                        "--weights=FILE is for one graph, this program has " + std::to_string(graphs.graphs.size()), {},
                        "link the graphs into programs of their own, or embed the weights");
    else if (auto file =
                 writeWeightsFile(graphs.graphs[0].plan, graphs.graphs[0].object.weightsHash, *options.weightsFile))
      weights = std::move(*file);
    else
      diagnostics.error("COP303", cannotWrite(file.takeError()));
  }
  printer.print(diagnostics);
  if (diagnostics.hasErrors()) return 1; // before anything is written

  // Beyond this point nothing of ours can fail but a last rename: lld writes the output, or says why not.
  std::vector<const char *> lldArguments;
  for (const std::string &a : additions.first) lldArguments.push_back(a.c_str());
  lldArguments.insert(lldArguments.end(), commandLine.forLld.begin(), commandLine.forLld.end());
  for (const char *a : {"--gc-sections", "--push-state", "--no-whole-archive", "--format=default"})
    lldArguments.push_back(a);
  for (const std::string &a : additions.arguments) lldArguments.push_back(a.c_str());
  lldArguments.push_back(runtime.c_str());
  lldArguments.push_back("--pop-state");
  int code = runLld(lldArguments, additions.memory, out, err);
  if (!commandLine.reproduce.empty())
    if (Error error = editReproduceArchive(commandLine.reproduce, reproduceEdits(options, graphs, additions)))
      err << "ld.coppice: warning: " << commandLine.reproduce
          << " lacks the graphs of this link: " << toString(std::move(error)) << "\n";
  if (code) return code;
  if (weights)
    if (Error error = weights->commit()) {
      (void)sys::fs::remove(commandLine.output); // of no use without
      Diagnostics last;
      last.error("COP303", cannotWrite(std::move(error)));
      printer.print(last);
      return 1;
    }

  if (why) makeRecordStrippable(commandLine.output);
  if (options.printKernels) printKernels(out, graphs);
  if (options.sizeSummary) {
    printSizeSummary(out, graphs, index, commandLine.output);
    if (deviceCode.bytesBefore)
      out << "  device code: " << withCommas(deviceCode.bytesAfter) << " of " << withCommas(deviceCode.bytesBefore)
          << " bytes, what --target leaves\n";
    // NOLINTNEXTLINE(bugprone-use-after-move): moved only into `shaken`
    printRegistrations(out, bindings, shaken ? shaken->registrations : registrations, shaken ? &*shaken : nullptr);
  }
  for (const std::string &name : options.why) printWhyAsText(out, *reasons, name, findInRecord(*reasons, name));
  if (!options.pack) leave(0);
  return 0;
}

} // namespace

int link(ArrayRef<const char *> arguments, const Installation &installation, raw_ostream &out, raw_ostream &err,
         function_ref<void(int)> leave) {
  BumpPtrAllocator allocator;
  StringSaver saver(allocator);
  Diagnostics diagnostics;
  CommandLine commandLine = parseCommandLine(arguments, saver, diagnostics);
  Printer printer(commandLine, err);
  if (diagnostics.hasErrors()) {
    printer.print(diagnostics);
    return 1;
  }
  int code = linkUnpacked(arguments, commandLine, std::move(diagnostics), installation, out, err, leave);
  if (code || !commandLine.options.pack || commandLine.noGraphWork) return code;
  Diagnostics last;
  bool isPacked = packOutput(commandLine, last);
  printer.print(last);
  return isPacked ? 0 : 1;
}

} // namespace coppice
