// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "coppice/kernel.h"
#include "linker/inspect_print.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {
namespace {

class Writer {
public:
  explicit Writer(raw_ostream &os) : json(os, /*IndentSize=*/2) {}

  void write(ArrayRef<Inspection> inspections) {
    json.object([&] {
      json.attributeArray("files", [&] {
        for (const Inspection &inspection : inspections) json.object([&] { write(inspection); });
      });
    });
  }

private:
  void text(StringRef key, StringRef value) { json.attribute(key, json::fixUTF8(value)); }
  void number(StringRef key, uint64_t value) { json.attribute(key, int64_t(std::min<uint64_t>(value, INT64_MAX))); }

  void texts(StringRef key, ArrayRef<std::string> values) {
    json.attributeArray(key, [&] {
      for (StringRef value : values) json.value(json::fixUTF8(value));
    });
  }

  static StringRef kindName(Inspection::Kind kind) {
    switch (kind) {
    case Inspection::Kind::Executable:
      return "executable";
    case Inspection::Kind::SharedLibrary:
      return "shared-library";
    case Inspection::Kind::Object:
      return "object";
    case Inspection::Kind::Archive:
      return "archive";
    case Inspection::Kind::Model:
      return "model";
    case Inspection::Kind::Binding:
      return "binding";
    case Inspection::Kind::MojoPackage:
      return "mojo-package";
    case Inspection::Kind::DeviceFile:
      return "device-code";
    }
    return "";
  }

  void write(const Inspection &inspection) {
    text("path", inspection.path);
    text("kind", kindName(inspection.kind));
    if (!inspection.format.empty()) text("format", inspection.format);
    if (inspection.kind == Inspection::Kind::Archive) number("members", inspection.members);
    if (inspection.kind == Inspection::Kind::MojoPackage) texts("registeredOps", inspection.registeredOps);
    if (inspection.binding)
      json.attributeObject("binding", [&] {
        text("name", inspection.binding->name);
        texts("graphs", inspection.binding->graphs);
        number("edges", inspection.binding->edges.size());
        number("rules", inspection.binding->implies.size());
      });
    json.attributeArray("graphs", [&] {
      for (const InspectedGraph &graph : inspection.graphs) json.object([&] { write(graph); });
      for (const GraphRecord &graph : inspection.sources)
        json.object([&] {
          text("name", graph.name);
          text("form", "source");
          text("place", graph.file + ":" + std::to_string(graph.line));
          text("object", graph.object);
          text("mlir", graph.text);
        });
      for (StringRef name : inspection.graphsWithoutMlir)
        json.object([&] {
          text("name", name);
          text("form", "stripped");
        });
    });
    json.attributeArray("imports", [&] {
      for (const ImportRecord &import : inspection.imports)
        json.object([&] {
          text("name", import.name);
          text("place", import.file + ":" + std::to_string(import.line));
          text("object", import.object);
          text("types", import.types);
        });
    });
    json.attributeArray("kernels", [&] {
      for (const InspectedKernel &kernel : inspection.kernels)
        json.object([&] { write(kernel, inspection.isProgram()); });
    });
    if (!inspection.device.empty())
      json.attributeArray("deviceImages", [&] {
        for (const InspectedDeviceSection &section : inspection.device)
          for (const DeviceImage &image : section.images) json.object([&] { write(section, image); });
      });
    texts("notes", inspection.notes);
  }

  void write(const InspectedDeviceSection &section, const DeviceImage &image) {
    text("target", image.target.str());
    text("form", nameOf(image.form));
    if (!section.container.empty()) text("container", section.container);
    if (!section.name.empty()) text("section", section.name);
    if (!section.member.empty()) text("member", section.member);
    if (image.compression != DeviceImage::Compression::None) text("compression", nameOf(image.compression));
    number("offset", image.offset);
    number("bytes", image.size);
    number("unpackedBytes", image.unpackedSize);
    json.attributeArray("functions", [&] {
      for (const DeviceFunction &function : image.functions)
        json.object([&] {
          text("name", function.name);
          json.attribute("kernel", function.isKernel);
          number("bytes", function.bytes);
          json.attributeArray("references", [&] {
            for (uint32_t r : function.references) json.value(json::fixUTF8(image.functions[r].name));
          });
        });
    });
    if (!image.note.empty()) text("note", image.note);
  }

  void write(StringRef key, ArrayRef<InspectedValue> values) {
    json.attributeArray(key, [&] {
      for (const InspectedValue &value : values)
        json.object([&] {
          if (!value.name.empty()) text("name", value.name);
          text("type", value.type);
          if (!value.dims.empty()) texts("dimensions", value.dims);
        });
    });
  }

  void write(const InspectedGraph &graph) {
    text("name", graph.name);
    text("form", graph.form == InspectedGraph::Form::Compiled ? "compiled" : "model");
    text("place", graph.place);
    write("arguments", graph.arguments);
    write("results", graph.results);
    number("opCount", graph.opCount);
    json.attributeArray("ops", [&] {
      for (const InspectedOp &op : graph.ops)
        json.object([&] {
          text("op", op.op);
          if (op.version) json.attribute("version", *op.version);
          number("uses", op.uses);
          texts("kernels", op.kernels);
        });
    });
    number("constants", graph.constants);
    number("constantBytes", graph.constantBytes);
    json.attributeArray("functions", [&] {
      for (const InspectedFunction &function : graph.functions)
        json.object([&] {
          text("name", function.name);
          text("type", function.type);
          number("opCount", function.ops);
        });
    });
    if (!graph.text.empty()) text("mlir", graph.text);
  }

  void write(const InspectedKernel &kernel, bool inProgram) {
    const KernelDescriptor &d = kernel.descriptor;
    text("name", kernel.name());
    text("op", d.op);
    text("variant", d.variant);
    text("target", d.target);
    text("versions", d.versionsText);
    text("signature", d.signature.text);
    json.attribute("inPlace", (d.flags & COPPICE_IN_PLACE) != 0);
    json.attribute("allocates", (d.flags & COPPICE_ALLOCATES) != 0);
    number("bytes", kernel.bytes);
    if (!kernel.member.empty()) text("member", kernel.member);
    if (inProgram) texts("graphs", kernel.graphs);
  }

  json::OStream json;
};

} // namespace

void printInspectionsAsJson(raw_ostream &os, ArrayRef<Inspection> inspections) {
  Writer(os).write(inspections);
  os << '\n';
}

} // namespace coppice
