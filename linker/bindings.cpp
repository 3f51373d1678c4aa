// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/bindings.h"
#include "analysis/graph/graph_keys.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace coppice {

bool mayUseBindings(const LinkOptions &options) {
  return !options.graphs.empty() || options.gcAllKernels || !options.gcKernels.empty() || !options.keepFrom.empty() ||
         !options.bindingFiles.empty() || !options.keepKernels.empty() || options.noGcKernels;
}

// Looking for registrations takes time in large programs: only bindings that this link may ask something of.
static bool mayMatter(const Binding &binding, const LinkOptions &options, ArrayRef<std::string> formats) {
  if (options.gcAllKernels || !options.keepFrom.empty() || !options.keepKernels.empty() || options.noGcKernels ||
      options.sizeSummary)
    return true;
  return is_contained(options.gcKernels, binding.name) ||
         any_of(formats, [&](const std::string &format) { return binding.reads(format); });
}

std::vector<Binding> loadBindings(const LinkOptions &options, Diagnostics &diagnostics) {
  std::vector<Binding> result = builtinBindings();
  std::vector<std::string> formats;
  for (const GraphArgument &graph : options.graphs)
    if (auto file = MemoryBuffer::getFile(graph.file, /*IsText=*/false, /*RequiresNullTerminator=*/false))
      formats.push_back(bindingFormat(identifyGraph((*file)->getMemBufferRef())).str());
  auto isBuiltIn = [&](const std::string &name) { return any_of(result, [&](auto &b) { return b.name == name; }); };
  bool isUnknown = options.bindingFiles.empty() && !all_of(options.gcKernels, isBuiltIn); // the message lists all
  if (!isUnknown) erase_if(result, [&](const Binding &binding) { return !mayMatter(binding, options, formats); });
  for (const std::string &path : options.bindingFiles) {
    auto file = MemoryBuffer::getFile(path);
    if (!file) {
      diagnostics.error("COP302", "cannot open binding '" + path + "': " + file.getError().message(), {},
                        "check the path given to --binding");
      continue;
    }
    std::optional<Binding> binding = readBinding((*file)->getMemBufferRef(), diagnostics);
    if (!binding) continue;
    erase_if(result, [&](const Binding &b) { return b.name == binding->name; });
    result.push_back(std::move(*binding));
  }
  return result;
}

namespace {

class Reader {
public:
  Reader(const LinkOptions &options, ArrayRef<Binding> bindings, const Registrations &registrations,
         Diagnostics &diagnostics)
      : options(options), bindings(bindings), registrations(registrations), diagnostics(diagnostics) {}

  KeyGraphs run() {
    result.isKeyGraph.resize(options.graphs.size());
    result.uses.resize(bindings.size());
    for (size_t i = 0; i < options.graphs.size(); ++i) readGraph(i);
    for (const std::string &path : options.keepFrom) readKeepList(path);
    for (const std::string &name : options.gcKernels) {
      auto b = indexOf(name);
      if (b)
        makeConditional(*b);
      else
        unknownBinding("--gc-kernels=" + name, name);
    }
    if (options.gcAllKernels)
      for (size_t b = 0; b < bindings.size(); ++b)
        if (registrations.present[b]) makeConditional(b);
    if (options.noGcKernels)
      for (BindingUse &use : result.uses) use.isConditional = false;
    return std::move(result);
  }

private:
  std::optional<size_t> indexOf(StringRef name) const {
    for (size_t b = 0; b < bindings.size(); ++b)
      if (bindings[b].name == name) return b;
    return std::nullopt;
  }
  void makeConditional(size_t b) { result.uses[b].isConditional = true; }
  void unknownBinding(const Twine &argument, StringRef name) {
    std::string known;
    for (const Binding &b : bindings) known += (known.empty() ? "" : ", ") + b.name;
    diagnostics.error("COP301", ("bad option '" + argument + "': there is no binding '" + name + "'").str(), {},
                      "known are " + known + "; --binding=FILE adds one");
  }

  void readGraph(size_t index) {
    const GraphArgument &argument = options.graphs[index];
    auto buffer = MemoryBuffer::getFile(argument.file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer) return; // reported where graphs are compiled
    GraphFormat format = identifyGraph((*buffer)->getMemBufferRef());
    StringRef name = bindingFormat(format);
    std::vector<size_t> readers, linked;
    for (size_t b = 0; b < bindings.size(); ++b)
      if (bindings[b].reads(name) &&
          (argument.name.empty() || !hasOwnName(format) || bindings[b].name == argument.name)) {
        readers.push_back(b);
        if (registrations.present[b]) linked.push_back(b);
      }
    if (readers.empty()) {
      if (hasOwnName(format) && !argument.name.empty())
        unknownBinding("--graph=" + argument.name + "=" + argument.file, argument.name);
      return;
    }
    bool isForBindingsOnly =
        format != GraphFormat::Onnx && format != GraphFormat::MlirText && format != GraphFormat::MlirBytecode;
    if (linked.empty()) {
      if (!isForBindingsOnly) return;
      std::string names;
      for (size_t b : readers) names += (names.empty() ? "" : " or ") + bindings[b].name;
      diagnostics.error("COP203", "this graph is for " + names + ", and nothing of that is linked",
                        {.file = argument.file},
                        "put the framework's library on the command line, or leave the graph out");
      result.isKeyGraph[index] = true;
      return;
    }
    if (hasOwnName(format) && linked.size() > 1) {
      std::string names;
      for (size_t b : linked) names += (names.empty() ? "" : ", ") + bindings[b].name;
      diagnostics.error("COP203", "this list of ops could be for any of " + names, {.file = argument.file},
                        "say which: --graph=" + bindings[linked[0]].name + "=" + argument.file);
      result.isKeyGraph[index] = true;
      return;
    }
    auto keys = readKeys(format, (*buffer)->getMemBufferRef(), argument);
    result.isKeyGraph[index] = true;
    result.filesRead.push_back(argument.file);
    if (!keys) return; // reported
    for (size_t b : linked) {
      makeConditional(b);
      append_range(result.uses[b].keys, *keys);
    }
  }

  /// Of such a graph NAME in --graph=NAME=FILE is the binding.
  static bool hasOwnName(GraphFormat format) { return format == GraphFormat::OpList; }

  std::optional<std::vector<UsedKey>> readKeys(GraphFormat format, MemoryBufferRef file,
                                               const GraphArgument &argument) {
    if (!context) context = makeGraphContext();
    ImportedGraph graph = importGraph(file, format, *context, diagnostics);
    if (!graph.module) return std::nullopt;
    append_range(result.filesRead, graph.filesRead);
    return keysOf(*graph.module, format, argument.name.empty() ? graphNameOf(argument.file) : argument.name);
  }

  // One a line: "Convolution", or "ncnn:Convolution" for one binding; '#' begins a comment. What a recorded run wrote
  // begins with "# coppice kernels" and is complete: rules add nothing to it.
  void readKeepList(const std::string &path) {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!buffer) {
      diagnostics.error("COP302", "cannot open '" + path + "': " + buffer.getError().message(), {},
                        "check the path given to --keep-from");
      return;
    }
    result.filesRead.push_back(path);
    StringRef rest = (*buffer)->getBuffer();
    bool isRecord = rest.starts_with("# coppice kernels");
    for (unsigned line = 1; !rest.empty(); ++line) {
      StringRef text;
      std::tie(text, rest) = rest.split('\n');
      text = text.split('#').first.trim();
      if (text.empty()) continue;
      UsedKey key;
      key.graph = path;
      key.place = {.file = path, .line = line};
      key.attributesKnown = false;
      key.isByHand = true;
      key.isExact = isRecord;
      size_t colon = text.find(':');
      auto binding = colon == StringRef::npos ? std::nullopt : indexOf(text.take_front(colon));
      key.key = (binding ? text.drop_front(colon + 1) : text).str();
      bool any = false;
      for (size_t b = 0; b < bindings.size(); ++b) {
        if (binding ? b != *binding : !registrations.present[b]) continue;
        any = true;
        makeConditional(b);
        result.uses[b].keys.push_back(key);
      }
      if (!any)
        diagnostics.warning("COP404", "nothing in this link registers kernels: '" + key.key + "' has no effect",
                            key.place, "leave --keep-from out");
    }
  }

  const LinkOptions &options;
  ArrayRef<Binding> bindings;
  const Registrations &registrations;
  Diagnostics &diagnostics;
  KeyGraphs result;
  std::unique_ptr<mlir::MLIRContext> context; // made with the first graph
};

} // namespace

KeyGraphs readKeyGraphs(const LinkOptions &options, ArrayRef<Binding> bindings, const Registrations &registrations,
                        Diagnostics &diagnostics) {
  return Reader(options, bindings, registrations, diagnostics).run();
}

Error requireSymbolsOfKeys(SymbolResolution &resolution, ArrayRef<Binding> bindings,
                           const std::vector<BindingUse> &uses) {
  for (size_t b = 0; b < bindings.size(); ++b) {
    if (!uses[b].isConditional) continue;
    KeyClosure closure(bindings[b], uses[b].keys);
    for (const BindingEdge &edge : bindings[b].edges)
      if (auto *symbols = std::get_if<SymbolEdge>(&edge.shape); symbols && symbols->symbol.hasKey())
        for (const KeyClosure::Key &key : closure.keys())
          if (std::string name = symbols->symbol.symbolFor(key.key); resolution.find(name))
            if (Error error = resolution.require(name)) return error;
  }
  return Error::success();
}

void reportKeysOfSeveralArchives(const SymbolResolution &resolution, ArrayRef<Binding> bindings,
                                 const std::vector<BindingUse> &uses, Diagnostics &diagnostics) {
  std::map<std::string, std::pair<size_t, const UsedKey *>, std::less<>> wanted; // symbol -> binding, key
  for (size_t b = 0; b < bindings.size(); ++b) {
    if (!uses[b].isConditional) continue;
    for (const BindingEdge &edge : bindings[b].edges)
      if (auto *symbols = std::get_if<SymbolEdge>(&edge.shape))
        for (const UsedKey &key : uses[b].keys) {
          std::string name = symbols->symbol.symbolFor(key.key);
          const GlobalSymbol *symbol = resolution.find(name);
          if (symbol && symbol->kind == GlobalSymbol::Defined && resolution.linked()[symbol->object].member)
            wanted.try_emplace(name, b, &key);
        }
  }
  if (wanted.empty()) return;
  std::map<std::string, std::vector<std::string>> definitions; // symbol -> "libk.a(add.o)"
  std::set<std::string> paths;
  for (size_t file = 0; file < resolution.files().size(); ++file) {
    const InputFile &input = resolution.files()[file];
    if (input.kind != InputKind::Archive || !paths.insert(input.path).second) continue;
    for (const object::Archive::Symbol &symbol : input.archive->symbols()) {
      auto use = wanted.find(symbol.getName());
      if (use == wanted.end()) continue;
      auto member = symbol.getMember();
      auto object = member ? memberObject(resolution.files(), file, *member) : member.takeError();
      auto elf = object ? ObjectFile::parse(object->buffer) : object.takeError();
      if (!elf) { // bitcode; what is damaged is reported where it is linked
        consumeError(elf.takeError());
        continue;
      }
      for (uint32_t i = 1; i < elf->symbols().size(); ++i)
        if (elf->symbols()[i].getBinding() == ELF::STB_GLOBAL && elf->sectionOf(i) && elf->symbolName(i) == use->first)
          definitions[use->first].push_back(object->name);
    }
  }
  for (const auto &[name, objects] : definitions) {
    if (objects.size() < 2) continue;
    auto [b, key] = wanted.find(name)->second;
    Diagnostic d;
    d.code = "COP103";
    d.message = "several libraries define the kernel '" + key->key + "' of " + bindings[b].name;
    d.place = key->place;
    for (const std::string &object : objects) d.notes.push_back({object + " has " + name, {}});
    d.help = "leave one of the libraries out, or put the object that is meant on the command line";
    diagnostics.report(std::move(d));
  }
}

void reportMissingKeys(const SymbolResolution &resolution, ArrayRef<Binding> bindings,
                       const Registrations &registrations, const std::vector<BindingUse> &uses,
                       Diagnostics &diagnostics) {
  for (size_t b = 0; b < bindings.size(); ++b) {
    if (!uses[b].isConditional) continue;
    StringSet<> known;
    for (const Registration &r : registrations.list)
      if (r.binding == b) known.insert(identifierForm(r.key));
    for (const auto &object : registrations.objects)
      if (object.binding == b)
        for (const std::string &key : object.keys) known.insert(identifierForm(key));
    auto isMissing = [&](const UsedKey &key) { return !known.contains(identifierForm(key.key)); };
    if (none_of(uses[b].keys, isMissing)) continue;
    std::map<std::string, std::string> where; // key -> object
    std::map<std::string, size_t> libraries;
    for (const Registration &r : registrations.list) {
      if (r.binding != b) continue;
      bool isLinked = r.object != Registration::none;
      size_t file = isLinked ? resolution.linked()[r.object].file : resolution.symbols()[r.symbol].object;
      const std::string &path = resolution.files()[file].path;
      where.try_emplace(r.key, isLinked ? resolution.linked()[r.object].name : path);
      ++libraries[path];
    }
    StringSet<> said;
    for (const UsedKey &key : uses[b].keys) {
      if (!isMissing(key) || !said.insert(key.key).second) continue;
      Diagnostic d;
      bool isList = key.isByHand;
      d.severity = isList ? Severity::Warning : Severity::Error;
      d.code = isList ? "COP404" : "COP101";
      d.message = isList ? "no kernel of " + bindings[b].name + " that is linked is called '" + key.key + "'"
                         : "no kernel for op '" + key.key + "': nothing of " + bindings[b].name +
                               " that is linked registers it";
      d.place = key.place;
      if (key.count > 1) d.notes.push_back({"the graph uses it " + std::to_string(key.count) + " times", {}});
      std::vector<std::pair<unsigned, std::string>> near;
      std::string wanted = StringRef(key.key).lower();
      unsigned limit = std::max<unsigned>(1, unsigned(wanted.size() / 3));
      for (const auto &[name, object] : where)
        if (unsigned distance = StringRef(wanted).edit_distance(StringRef(name).lower(), true, limit);
            distance <= limit)
          near.push_back({distance, name});
      llvm::stable_sort(near, less_first());
      if (!near.empty())
        d.notes.push_back({"did you mean '" + near[0].second + "'? " + where[near[0].second] + " registers it", {}});
      for (const auto &[library, count] : libraries)
        d.notes.push_back(
            {"searched " + library + " (" + std::to_string(count) + (count == 1 ? " registration)" : " registrations)"),
             {}});
      for (const UnclearRegistration &unclear : registrations.unclear)
        if (unclear.binding == b) d.notes.push_back({"not understood: " + unclear.place + ": " + unclear.why, {}});
      d.help = isList ? "correct the name, or take the line out"
                      : "link a library of " + bindings[b].name +
                            " that has it; if the program registers it in a way "
                            "that the binding does not describe, link with --no-gc-kernels";
      diagnostics.report(std::move(d));
    }
  }
}

} // namespace coppice
