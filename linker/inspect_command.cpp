// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/inspect_command.h"
#include "analysis/inspect/inspect_file.h"
#include "linker/inspect_print.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {
namespace {

/// Is this the graph that --graph=NAME speaks of? A model is also known by its file's name.
bool isWanted(StringRef wanted, StringRef name, const Inspection &inspection) {
  return wanted.empty() || wanted == name ||
         (inspection.kind == Inspection::Kind::Model && wanted == sys::path::stem(inspection.path));
}

void keepGraph(Inspection &inspection, StringRef wanted) {
  llvm::erase_if(inspection.graphs, [&](auto &g) { return !isWanted(wanted, g.name, inspection); });
  llvm::erase_if(inspection.sources, [&](auto &g) { return !isWanted(wanted, g.name, inspection); });
}

// Several graphs in one file are split as mlir-opt --split-input-file wants it.
void printMlir(raw_ostream &os, ArrayRef<Inspection> inspections) {
  bool first = true;
  auto print = [&](StringRef text) {
    if (!first) os << "// -----\n";
    first = false;
    os << text << (text.ends_with("\n") ? "" : "\n");
  };
  for (const Inspection &inspection : inspections) {
    for (const InspectedGraph &graph : inspection.graphs) print(graph.text);
    for (const GraphRecord &graph : inspection.sources) print(StringRef(graph.text).ltrim('\n').rtrim());
  }
}

void reportNoGraph(StringRef wanted, ArrayRef<Inspection> inspections, ArrayRef<std::string> known,
                   Diagnostics &diagnostics) {
  std::string files;
  for (const Inspection &inspection : inspections) files += (files.empty() ? "'" : ", '") + inspection.path + "'";
  Diagnostic d;
  d.code = "COP301";
  d.message = (wanted.empty() ? "no MLIR of a graph" : "no MLIR of a graph '" + wanted.str() + "'") + " in " + files;
  for (const Inspection &inspection : inspections)
    for (const std::string &note : inspection.notes) d.notes.push_back({note, {.file = inspection.path}});
  if (!known.empty()) d.help = "there is --graph=" + join(known, ", --graph=");
  diagnostics.report(std::move(d));
}

} // namespace

int inspectCommand(const InspectOptions &options, raw_ostream &out, raw_ostream &err) {
  Diagnostics diagnostics;
  GraphInspector graphs;
  std::vector<Inspection> inspections;
  for (const std::string &file : options.files)
    if (auto inspection = inspectFile(file, options.graph.has_value(), graphs, diagnostics))
      inspections.push_back(std::move(*inspection));

  if (options.graph) {
    std::vector<std::string> known;
    for (const Inspection &inspection : inspections) {
      for (const InspectedGraph &graph : inspection.graphs) known.push_back(graph.name);
      for (const GraphRecord &graph : inspection.sources) known.push_back(graph.name);
    }
    for (Inspection &inspection : inspections) keepGraph(inspection, *options.graph);
    if (!inspections.empty() && all_of(inspections, [](auto &i) { return i.graphs.empty() && i.sources.empty(); }))
      reportNoGraph(*options.graph, inspections, known, diagnostics);
  }

  if (options.json) {
    printInspectionsAsJson(out, inspections);
  } else if (options.graph) {
    printMlir(out, inspections);
  } else {
    for (size_t i = 0; i < inspections.size(); ++i) {
      if (i) out << '\n';
      printInspection(out, inspections[i]);
    }
  }
  out.flush(); // before what is wrong is said
  printText(err, diagnostics.all(), "coppice", err.has_colors());
  return diagnostics.hasErrors();
}

} // namespace coppice
