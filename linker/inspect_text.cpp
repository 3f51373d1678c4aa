// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "coppice/kernel.h"
#include "linker/inspect_print.h"
#include "linker/text_table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace llvm;

namespace coppice {
namespace {

std::string counted(uint64_t n, StringRef singular) {
  return withCommas(n) + " " + singular.str() + (n == 1 ? "" : "s");
}

StringRef kindName(Inspection::Kind kind) {
  switch (kind) {
  case Inspection::Kind::Executable:
    return "executable";
  case Inspection::Kind::SharedLibrary:
    return "shared library";
  case Inspection::Kind::Object:
    return "object";
  case Inspection::Kind::Archive:
    return "archive";
  case Inspection::Kind::Model:
    return "model";
  case Inspection::Kind::Binding:
    return "binding";
  case Inspection::Kind::MojoPackage:
    return "Mojo package";
  case Inspection::Kind::DeviceFile:
    return "device code";
  }
  return "file";
}

void addValues(TextTable &table, StringRef what, ArrayRef<InspectedValue> values) {
  for (const InspectedValue &value : values) {
    std::string dims;
    if (!value.dims.empty()) {
      for (StringRef dim : value.dims) dims += (dims.empty() ? "" : ", ") + (dim.empty() ? "-" : visible(dim));
      dims = "dimensions " + dims;
    }
    table.addRow({what.str(), visible(value.name), visible(value.type), dims});
  }
}

void printGraph(raw_ostream &os, const InspectedGraph &graph) {
  os << "graph " << visible(graph.name);
  if (!graph.place.empty()) os << "  " << visible(graph.place);
  os << '\n';
  TextTable values({{""}, {""}, {""}, {""}});
  addValues(values, "argument", graph.arguments);
  addValues(values, "result", graph.results);
  values.print(os, 2);

  if (!graph.functions.empty()) {
    TextTable functions({{""}, {""}, {""}, {""}});
    for (const InspectedFunction &f : graph.functions)
      functions.addRow({"function", visible(f.name), counted(f.ops, "op"), visible(f.type)});
    functions.print(os, 2);
  }
  if (graph.constants)
    os << "  " << counted(graph.constants, "constant") << ", " << counted(graph.constantBytes, "byte") << '\n';

  TextTable ops({{"uses", TextTable::Right}, {"op"}, {"version", TextTable::Right}, {"kernels"}});
  for (const InspectedOp &op : graph.ops)
    ops.addRow({withCommas(op.uses), visible(op.op), op.version ? std::to_string(*op.version) : "",
                visible(join(op.kernels, " "))});
  if (!ops.empty()) os << '\n';
  ops.print(os, 2);
}

std::string flagsOf(uint32_t flags) {
  std::string text;
  for (auto [bit, name] : {std::pair(COPPICE_IN_PLACE, "in-place"), std::pair(COPPICE_ALLOCATES, "allocates")})
    if (flags & bit) text += (text.empty() ? "" : ",") + std::string(name);
  return text;
}

void printKernels(raw_ostream &os, const Inspection &inspection) {
  TextTable table({{"kernel"},
                   {"versions"},
                   {"target"},
                   {"flags"},
                   {"bytes", TextTable::Right},
                   {"member"},
                   {"graphs"},
                   {"signature"}});
  for (const InspectedKernel &k : inspection.kernels) {
    const KernelDescriptor &d = k.descriptor;
    std::string graphs = !inspection.isProgram() || inspection.graphs.empty() ? ""
                         : k.graphs.empty()                                   ? "-"
                                                                              : join(k.graphs, ",");
    table.addRow({visible(k.name()), d.versionsText.empty() ? "any" : visible(d.versionsText), visible(d.target),
                  flagsOf(d.flags), withCommas(k.bytes), visible(k.member), visible(graphs),
                  visible(d.signature.text)});
  }
  table.print(os, 0);
}

void printSources(raw_ostream &os, const Inspection &inspection) {
  auto memberOf = [&](StringRef object) { // "libk.a(conv.o)" -> "conv.o"
    return inspection.kind == Inspection::Kind::Archive ? object.drop_front(inspection.path.size() + 1).drop_back()
                                                        : StringRef();
  };
  TextTable table({{""}, {""}, {""}, {""}, {""}});
  for (const GraphRecord &g : inspection.sources)
    table.addRow({"graph", visible(g.name), visible(g.file) + ":" + std::to_string(g.line), visible(memberOf(g.object)),
                  withCommas(g.text.size()) + " bytes of MLIR"});
  for (const ImportRecord &i : inspection.imports)
    table.addRow({"import", visible(i.name), visible(i.file) + ":" + std::to_string(i.line),
                  visible(memberOf(i.object)), visible(i.types)});
  table.print(os, 0);
}

struct EdgeColumns {
  std::string shape, references, key;
};

EdgeColumns columnsOf(const BindingEdge &edge) {
  auto list = [](ArrayRef<SymbolPattern> patterns) {
    return patterns.front().str().str() + (patterns.size() > 1 ? ", …" : "");
  };
  auto argument = [](unsigned position) { return "argument " + std::to_string(position); };
  if (auto *table = std::get_if<TableEdge>(&edge.shape))
    return {"table", table->from.str().str(), table->record ? "string in the record" : list(table->to)};
  if (auto *call = std::get_if<CallEdge>(&edge.shape))
    return {"calls", call->call.str().str(),
            call->array ? "string in records, " + argument(call->array->position) : argument(call->key)};
  if (auto *symbol = std::get_if<SymbolEdge>(&edge.shape))
    return {"symbols", symbol->symbol.str().str(), "in the name"};
  auto &object = std::get<ObjectEdge>(edge.shape);
  std::vector<std::string> keys;
  if (object.object.hasKey()) keys.push_back("in the name");
  if (!object.strings.empty()) keys.push_back("string " + list(object.strings));
  if (!object.symbols.empty()) keys.push_back(list(object.symbols));
  return {"objects", object.object.str().str(), join(keys, " or ")};
}

StringRef droppedOf(const BindingEdge &edge) {
  switch (edge.dropped.kind) {
  case Dropped::Keep:
    return "-";
  case Dropped::Null:
    return "null";
  case Dropped::Trap:
    return "trap";
  case Dropped::Symbol:
    return edge.dropped.symbol;
  }
  return "";
}

void printBinding(raw_ostream &os, const Binding &binding) {
  os << "binding " << visible(binding.name) << "  reads " << visible(join(binding.graphs, ", ")) << "\n\n";
  TextTable table({{"shape"}, {"references"}, {"key"}, {"dropped"}, {"variant"}});
  for (const BindingEdge &edge : binding.edges) {
    EdgeColumns columns = columnsOf(edge);
    table.addRow({columns.shape, visible(columns.references), visible(columns.key), visible(droppedOf(edge)),
                  visible(edge.variant)});
  }
  table.print(os, 2);
  os << '\n';
}

std::map<StringRef, std::vector<StringRef>> targetsOfDeviceKernels(const Inspection &inspection) {
  std::map<StringRef, std::vector<StringRef>> targets;
  for (const InspectedDeviceSection &section : inspection.device)
    for (const DeviceImage &image : section.images)
      for (const DeviceFunction &function : image.functions)
        if (function.isKernel)
          if (auto &list = targets[function.name]; !is_contained(list, image.target.name))
            list.push_back(image.target.name);
  return targets;
}

void printDeviceCode(raw_ostream &os, const Inspection &inspection) {
  bool inArchive = inspection.kind == Inspection::Kind::Archive;
  TextTable table(
      {{"device code"}, {"target"}, {"form"}, {"packed"}, {"bytes", TextTable::Right}, {"kernels", TextTable::Right}});
  for (const InspectedDeviceSection &section : inspection.device) {
    std::string where = section.name.empty() ? "-" : section.name;
    if (inArchive) where = section.member + ":(" + where + ")";
    for (const DeviceImage &image : section.images) {
      auto kernels = count_if(image.functions, [](const DeviceFunction &f) { return f.isKernel; });
      bool isReadable =
          image.note.empty() && image.form != DeviceImage::Form::LtoIr && image.form != DeviceImage::Form::Bitcode;
      table.addRow({visible(where), visible(image.target.str()), nameOf(image.form).str(),
                    nameOf(image.compression).str(), withCommas(image.size),
                    isReadable ? withCommas(uint64_t(kernels)) : "?"});
    }
  }
  table.print(os, 0);
  auto kernels = targetsOfDeviceKernels(inspection);
  if (kernels.empty()) return;
  os << '\n';
  TextTable names({{"device kernel"}, {"targets"}});
  for (const auto &[name, targets] : kernels) names.addRow({visible(name), visible(join(targets, ", "))});
  names.print(os, 0);
}

/// What is in a program is counted once, however many graphs use it.
size_t kernelCount(const Inspection &inspection) {
  StringSet<> names;
  for (const InspectedKernel &k : inspection.kernels) names.insert(k.name());
  for (const InspectedGraph &graph : inspection.graphs)
    for (const InspectedOp &op : graph.ops)
      for (const std::string &kernel : op.kernels) names.insert(kernel);
  return names.size();
}

void printCounts(raw_ostream &os, const Inspection &inspection) {
  std::vector<std::string> parts;
  uint64_t ops = 0;
  StringSet<> opNames;
  for (const InspectedGraph &graph : inspection.graphs) {
    ops += graph.opCount;
    for (const InspectedOp &op : graph.ops) opNames.insert(op.op);
  }
  if (inspection.kind == Inspection::Kind::MojoPackage) {
    parts = {counted(inspection.registeredOps.size(), "op")};
  } else if (inspection.binding) {
    const Binding &binding = *inspection.binding;
    parts = {counted(binding.edges.size(), "edge"), counted(binding.implies.size(), "rule")};
  } else if (inspection.kind == Inspection::Kind::Model) {
    parts = {counted(ops, "op") + " of " + counted(opNames.size(), "kind")};
  } else if (inspection.isProgram()) {
    parts = {counted(inspection.graphs.size() + inspection.graphsWithoutMlir.size(), "graph"), counted(ops, "op"),
             counted(kernelCount(inspection), "kernel")};
  } else {
    for (const InspectedKernel &k : inspection.kernels) opNames.insert(k.descriptor.op);
    std::string kernels = counted(inspection.kernels.size(), "kernel") + " for " + counted(opNames.size(), "op");
    if (inspection.kind == Inspection::Kind::Archive) kernels += " in " + counted(inspection.members, "member");
    parts = {kernels};
    if (!inspection.sources.empty()) parts.push_back(counted(inspection.sources.size(), "graph"));
    if (!inspection.imports.empty()) parts.push_back(counted(inspection.imports.size(), "import"));
  }
  uint64_t images = 0;
  for (const InspectedDeviceSection &section : inspection.device) images += section.images.size();
  if (inspection.kind == Inspection::Kind::DeviceFile) parts.clear();
  if (!inspection.device.empty())
    parts.push_back(counted(images, "device image") + " with " +
                    counted(targetsOfDeviceKernels(inspection).size(), "kernel"));
  os << join(parts, ", ") << '\n';
}

} // namespace

void printInspection(raw_ostream &os, const Inspection &inspection) {
  os << visible(inspection.path) << ": " << kindName(inspection.kind);
  if (!inspection.format.empty()) os << ", " << inspection.format;
  os << "\n\n";
  if (inspection.binding) printBinding(os, *inspection.binding);
  for (StringRef op : inspection.registeredOps) os << "  " << visible(op) << '\n';
  if (!inspection.registeredOps.empty()) os << '\n';
  for (const InspectedGraph &graph : inspection.graphs) {
    printGraph(os, graph);
    os << '\n';
  }
  for (StringRef name : inspection.graphsWithoutMlir) os << "graph " << visible(name) << "  (without its MLIR)\n";
  if (!inspection.graphsWithoutMlir.empty()) os << '\n';
  if (!inspection.sources.empty() || !inspection.imports.empty()) {
    printSources(os, inspection);
    os << '\n';
  }
  if (!inspection.kernels.empty()) {
    printKernels(os, inspection);
    os << '\n';
  }
  if (!inspection.device.empty()) {
    printDeviceCode(os, inspection);
    os << '\n';
  }
  for (StringRef note : inspection.notes) os << "note: " << visible(note) << '\n';
  printCounts(os, inspection);
}

} // namespace coppice
