// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/graphs.h"
#include "analysis/graph/check_types.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace llvm;

namespace coppice {

std::string planSymbol(StringRef graph) { return ("coppice.plan." + graph + ".needs_fuse_ld_coppice").str(); }

namespace {

bool isName(StringRef name) {
  return !name.empty() && !isDigit(name[0]) && all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

class Compiler {
public:
  Compiler(const LinkOptions &options, ArrayRef<char> isKeyGraph, SymbolResolution &resolution, KernelIndex &index,
           Diagnostics &diagnostics)
      : options(options), isKeyGraph(isKeyGraph), resolution(resolution), index(index), diagnostics(diagnostics) {}

  CompiledGraphs run() {
    // Each round may extract members with further graphs; a graph is compiled once, so this ends.
    bool changed = true;
    while (changed && !stopped) {
      changed = readNewRecords();
      if (stopped || !bindFlags()) break;
      for (size_t i = 0; i < records.graphs.size(); ++i) {
        const GraphRecord &record = records.graphs[i];
        if (done.contains(record.name) || !resolution.isReferenced(planSymbol(record.name))) continue;
        if (flagGraphs.count(record.name)) continue; // reported below
        changed = true;
        done.insert(record.name);
        compileText(record);
      }
      for (auto &[name, argument] : flagGraphs) {
        if (done.contains(name) || !resolution.isReferenced(planSymbol(name))) continue;
        changed = true;
        done.insert(name);
        compileFile(name, *argument);
      }
    }
    reportLeftovers();
    for (CompiledGraph &graph : result.graphs)
      for (const PlanOp &op : graph.plan.ops)
        if (op.choice)
          for (const KernelDescriptor *k : op.choice->kernels) addUsed(*k, op);
    llvm::sort(result.descriptors, [](auto *a, auto *b) { return a->symbol < b->symbol; });
    for (const KernelDescriptor *k : result.descriptors) result.usedKernels.push_back(k->symbol);
    return std::move(result);
  }

private:
  bool readNewRecords() {
    bool any = false;
    // linked() may grow while plans are added, never here.
    for (; objectsRead < resolution.linked().size(); ++objectsRead) {
      const LinkedObject &object = resolution.linked()[objectsRead];
      any = true;
      if (!object.mentionsCoppice) continue;
      if (isSlimLto(object.buffer)) {
        diagnostics.error("COP105", object.name + " has only gcc's LTO code, which no other linker can read", {},
                          "compile it with -ffat-lto-objects, or without -flto");
        stopped = true;
        continue;
      }
      size_t before = records.graphs.size();
      if (Error error = readGraphRecords(object, records)) {
        diagnostics.error("COP302", toString(std::move(error)));
        stopped = true;
        return false;
      }
      for (size_t i = before; i < records.graphs.size(); ++i) {
        auto [it, isNew] = graphOwner.try_emplace(records.graphs[i].name, i);
        if (!isNew && records.graphs[it->second].object != records.graphs[i].object) {
          const GraphRecord &first = records.graphs[it->second], &second = records.graphs[i];
          Diagnostic d;
          d.code = "COP210";
          d.message = "two graphs have the name '" + first.name + "'";
          d.place = {.file = first.file, .line = first.line};
          d.notes.push_back({"the other one is here", {.file = second.file, .line = second.line}});
          d.help = "give one of them another name";
          diagnostics.report(std::move(d));
          stopped = true;
        }
      }
    }
    return any;
  }

  // --graph=FILE without a name is for the one import that no other flag names, else for the file's stem.
  bool bindFlags() {
    for (const GraphArgument &argument : options.graphs) {
      if (bound.count(&argument)) continue;
      std::string name = argument.name;
      if (name.empty()) {
        StringSet<> open;
        for (const ImportRecord &record : records.imports)
          if (!graphOwner.count(record.name) &&
              none_of(options.graphs, [&](const GraphArgument &a) { return a.name == record.name; }))
            open.insert(record.name);
        std::string stem = sys::path::stem(argument.file).str();
        for (char &c : stem)
          if (!isAlnum(c)) c = '_';
        if (open.size() == 1 && options.graphs.size() == 1)
          name = open.begin()->getKey().str();
        else if (open.contains(stem))
          name = stem;
        else
          continue; // perhaps a later round extracts the import
      }
      if (!isName(name)) {
        diagnostics.error("COP301",
                          "bad option '--graph=" + name + "=" + argument.file + "': '" + name +
                              "' is not a name that COPPICE_IMPORT_GRAPH can have",
                          {}, "write a C++ identifier before the '='");
        return false;
      }
      auto [it, isNew] = flagGraphs.try_emplace(name, &argument);
      auto owner = graphOwner.find(name);
      if (!isNew || owner != graphOwner.end()) {
        Diagnostic d;
        d.code = "COP210";
        d.message = "two graphs have the name '" + name + "'";
        d.place = {.file = argument.file};
        if (isNew) {
          const GraphRecord &record = records.graphs[owner->second];
          d.notes.push_back({"the other one is here", {.file = record.file, .line = record.line}});
        } else {
          d.notes.push_back({"the other one is here", {.file = it->second->file}});
        }
        d.help = "give one of them another name: --graph=NAME=" + argument.file;
        diagnostics.report(std::move(d));
        return false;
      }
      bound.insert(&argument);
    }
    return true;
  }

  // Chosen by signature, linked by symbol: a symbol that two libraries define with two signatures cannot stand for
  // both.
  void addUsed(const KernelDescriptor &kernel, const PlanOp &op) {
    auto [it, isNew] = used.try_emplace(kernel.symbol, &kernel);
    if (isNew) {
      result.descriptors.push_back(&kernel);
      return;
    }
    const KernelDescriptor &first = *it->second;
    bool isSame = first.object.file == kernel.object.file && first.object.member == kernel.object.member;
    if (isSame || !clashes.insert(kernel.symbol).second) return;
    Diagnostic d;
    d.code = "COP103";
    d.message = "the graphs need two kernels that have one name: '" + kernel.symbol + "'";
    d.place = placeOf(op.op->getLoc());
    for (const KernelDescriptor *both : {&first, &kernel})
      d.notes.push_back(
          {both->object.name + " has " + both->symbol.substr(strlen("coppice.kernel.")) + ": " + both->signature.text,
           {}});
    d.help = "give one of them another variant name: COPPICE_VARIANT(\"" + kernel.op + "\", \"NAME\", ...)";
    diagnostics.report(std::move(d));
  }

  mlir::MLIRContext &context() {
    if (!result.context) result.context = makeGraphContext();
    return *result.context;
  }

  void compileText(const GraphRecord &record) {
    // Before the first newline the text shares a line with the macro; where that begins only the source file says.
    TextOrigin origin{record.file, record.line, columnOfText(record)};
    auto buffer = MemoryBuffer::getMemBufferCopy(record.text, record.file);
    ImportedGraph imported = importMlir(buffer->getMemBufferRef(), context(), diagnostics, &origin);
    result.files.push_back(std::move(buffer));
    compile(record.name, record.file, false, std::move(imported));
  }

  static unsigned columnOfText(const GraphRecord &record) {
    auto file = MemoryBuffer::getFile(record.file);
    if (!file) return 1;
    StringRef rest = (*file)->getBuffer();
    for (unsigned line = 1; line < record.line; ++line) rest = rest.split('\n').second;
    StringRef line = rest.split('\n').first;
    size_t raw = line.find("R\""), open = raw == StringRef::npos ? raw : line.find('(', raw);
    return open == StringRef::npos ? 1 : unsigned(open) + 2;
  }

  void compileFile(const std::string &name, const GraphArgument &argument) {
    auto buffer = MemoryBuffer::getFile(argument.file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer) {
      diagnostics.error("COP302", "cannot open graph '" + argument.file + "': " + buffer.getError().message(), {},
                        "check the path given to --graph");
      return;
    }
    ImportedGraph imported;
    GraphFormat format = identifyGraph((*buffer)->getMemBufferRef());
    if (format == GraphFormat::Unknown)
      diagnostics.error("COP201",
                        (*buffer)->getBufferSize()
                            ? "this is not a graph: neither MLIR text, MLIR bytecode nor an ONNX model"
                            : "this graph is empty: the file has 0 bytes",
                        {.file = argument.file}, "give an .onnx, .mlir or .mlirbc file to --graph");
    else
      imported = importGraph((*buffer)->getMemBufferRef(), format, context(), diagnostics);
    result.files.push_back(std::move(*buffer));
    compile(name, argument.file, true, std::move(imported));
  }

  void compile(const std::string &name, const std::string &file, bool fromFlag, ImportedGraph imported) {
    if (!imported.module) return; // reported
    result.imported.push_back(std::move(imported));
    mlir::ModuleOp module = *result.imported.back().module;
    mlir::FunctionOpInterface function = graphFunction(module);
    if (!function) {
      diagnostics.error("COP202", "graph '" + name + "' has no public function with a body", {.file = file},
                        "write the graph as func.func @" + name + "(...)");
      return;
    }
    result.resolved.push_back({name, module});
    ResolvedGraph &resolved = result.resolved.back();
    ResolveOptions resolveOptions{options.cpuLevels, options.preferKernels};
    bool ok = resolveKernels(resolved, index, resolveOptions, diagnostics);
    size_t before = diagnostics.all().size();
    checkTypes(name, function, records, diagnostics);
    if (!ok || diagnostics.all().size() != before) return;
    auto plan = buildPlan(resolved, file, diagnostics);
    if (!plan) return;
    for (const PlanOp &op : plan->ops)
      if (op.choice)
        for (const KernelDescriptor *k : op.choice->kernels)
          if (Error error = resolution.require(k->symbol)) {
            diagnostics.error("COP302", toString(std::move(error)));
            stopped = true;
            return;
          }
    PlanObjectOptions objectOptions{options.stripGraph, options.weightsFile.value_or("")};
    auto object = writePlanObject(*plan, module, objectOptions);
    if (!object) {
      diagnostics.error("COP202", toString(object.takeError()), {.file = file});
      return;
    }
    CompiledGraph compiled;
    compiled.name = name;
    compiled.file = file;
    compiled.fromFlag = fromFlag;
    compiled.filesRead = result.imported.back().filesRead;
    compiled.plan = std::move(*plan);
    compiled.object = std::move(*object);
    result.graphs.push_back(std::move(compiled));
  }

  void reportLeftovers() {
    if (stopped || diagnostics.hasErrors()) return;
    StringSet<> said; // two files may import one graph
    for (const ImportRecord &record : records.imports) {
      if (done.contains(record.name) || !resolution.isReferenced(planSymbol(record.name))) continue;
      if (!said.insert(record.name).second) continue;
      Diagnostic d;
      d.code = "COP209";
      d.message = "the program imports graph '" + record.name + "', and no --graph gives it";
      d.place = {.file = record.file, .line = record.line};
      d.help = "add --graph=" + record.name + "=FILE (through a compiler: -Wl,--graph=" + record.name + "=FILE)";
      diagnostics.report(std::move(d));
    }
    for (const GraphArgument &argument : options.graphs) {
      auto used = find_if(flagGraphs, [&](auto &entry) { return entry.second == &argument; });
      if (used != flagGraphs.end() && done.contains(used->first)) continue;
      if (isKeyGraph[size_t(&argument - options.graphs.data())]) continue;
      Diagnostic d;
      d.code = "COP203";
      d.message = "nothing refers to the graph '" + (argument.name.empty() ? argument.file : argument.name) + "'";
      d.place = {.file = argument.file};
      std::string imports;
      bool isImported = false;
      StringSet<> seen;
      for (const ImportRecord &record : records.imports) {
        if (!seen.insert(record.name).second) continue;
        imports += (imports.empty() ? "" : ", ") + record.name;
        isImported |= used != flagGraphs.end() && record.name == used->first;
      }
      std::string name = isName(argument.name) ? argument.name : "NAME";
      if (isImported) {
        d.notes.push_back({"the program imports " + used->first + ", and nothing that is linked calls it", {}});
        d.help = "call it, or leave the flag out";
      } else if (imports.empty()) {
        d.notes.push_back({"the program imports no graph", {}});
        d.help = "write COPPICE_IMPORT_GRAPH(" + name +
                 ", void(coppice::in<float, 2>, coppice::out<float, 2>)); in the program and call it";
      } else {
        d.notes.push_back({"the program imports " + imports, {}});
        d.help = "write --graph=" + records.imports.front().name + "=" + argument.file + ", or leave the flag out";
      }
      diagnostics.report(std::move(d));
    }
  }

  const LinkOptions &options;
  ArrayRef<char> isKeyGraph;
  SymbolResolution &resolution;
  KernelIndex &index;
  Diagnostics &diagnostics;
  CompiledGraphs result;
  GraphRecords records;
  size_t objectsRead = 0;
  StringSet<> done, clashes;
  StringMap<const KernelDescriptor *> used;
  std::map<std::string, const GraphArgument *> flagGraphs; // sorted: graphs are compiled in this order
  std::set<const GraphArgument *> bound;
  std::map<std::string, size_t> graphOwner;
  bool stopped = false;
};

} // namespace

CompiledGraphs compileGraphs(const LinkOptions &options, ArrayRef<char> isKeyGraph, SymbolResolution &resolution,
                             KernelIndex &index, Diagnostics &diagnostics) {
  return Compiler(options, isKeyGraph, resolution, index, diagnostics).run();
}

} // namespace coppice
