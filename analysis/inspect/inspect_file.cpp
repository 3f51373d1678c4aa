// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/inspect/inspect_file.h"
#include "analysis/graph/graph_section.h"
#include "analysis/input_file.h"
#include "analysis/inspect/mojo_package.h"
#include "analysis/object_symbols.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace llvm;
using namespace llvm::object;

namespace coppice {
namespace {

constexpr StringLiteral kernelPrefix = "coppice.kernel.", planPrefix = "coppice.plan.",
                        planSuffix = ".needs_fuse_ld_coppice";
constexpr char whatCanBeInspected[] =
    "give a program or library that Coppice linked, an object, an archive, a model "
    "(.onnx, .mlir, .mlirbc, .param, .ops), a binding (.yaml), a Mojo package (.mojoc), or device code "
    "(a fatbin, cubin, PTX, offload bundle, AMDGPU code object, SPIR-V)";

class FileInspector {
public:
  FileInspector(StringRef path, bool withText, GraphInspector &graphs, Diagnostics &diagnostics)
      : withText(withText), graphInspector(graphs), diagnostics(diagnostics) {
    result.path = path.str();
  }

  std::optional<Inspection> run() {
    if (sys::fs::is_directory(result.path)) return fail("this is a folder", whatCanBeInspected);
    auto opened = openInputFile(result.path);
    if (!opened) return fail(toString(opened.takeError()));
    files.push_back(std::move(*opened));
    const InputFile &file = files.front();
    bool ok = true;
    if (isDeviceFile(arrayRefFromStringRef(file.buffer->getBuffer()))) {
      readDeviceFile(file.ref());
      finish();
      return std::move(result);
    }
    switch (file_magic magic = identify_magic(file.buffer->getBuffer())) {
    case file_magic::elf_relocatable:
    case file_magic::bitcode:
      result.format = magic == file_magic::bitcode ? "LLVM bitcode" : "ELF x86-64";
      result.members = 1;
      ok = readObject({0, 0, file.ref(), result.path}, "");
      break;
    case file_magic::elf_executable:
    case file_magic::elf_shared_object:
      ok = readProgram(file.ref());
      break;
    case file_magic::archive:
      readArchive(file);
      break;
    default:
      if (isMojoPackage(file.buffer->getBuffer()))
        ok = readPackage(file.buffer->getBuffer());
      else if (StringRef(result.path).ends_with(".yaml"))
        ok = readBindingFile(file.ref());
      else if (magic == file_magic::unknown && identifyGraph(file.ref()) != GraphFormat::Unknown)
        ok = readModel(file.ref());
      else
        return fail("this is " + describe(file.buffer->getBuffer()), whatCanBeInspected);
    }
    if (!ok) return std::nullopt;
    finish();
    return std::move(result);
  }

private:
  std::nullopt_t fail(std::string message, std::string help = {}) {
    diagnostics.error("COP302", "cannot inspect '" + result.path + "': " + std::move(message), {}, std::move(help));
    return std::nullopt;
  }

  bool damaged(const std::string &name, Error error) {
    diagnostics.error("COP302", toString(std::move(error)), {.file = name});
    return false;
  }

  static std::string describe(StringRef contents) {
    if (contents.empty()) return "an empty file";
    switch (identify_magic(contents)) {
    case file_magic::elf:
      return "an ELF file of a kind that is neither linked nor to be linked";
    case file_magic::elf_core:
      return "a core dump";
    case file_magic::macho_object:
    case file_magic::macho_executable:
    case file_magic::macho_dynamically_linked_shared_lib:
    case file_magic::macho_bundle:
    case file_magic::macho_universal_binary:
      return "a Mach-O file";
    case file_magic::coff_object:
    case file_magic::coff_import_library:
    case file_magic::pecoff_executable:
      return "a file for Windows";
    case file_magic::wasm_object:
      return "a WebAssembly module";
    default:
      break;
    }
    bool text = all_of(contents.take_front(4096), [](char c) { return isPrint(c) || isSpace(c) || (c & 0x80); });
    if (text && contents.starts_with("#!")) return "a script";
    if (text && contents.contains("GROUP") && contents.contains("(")) return "a linker script";
    if (text) return "text, and not MLIR";
    return "neither an object, an archive nor a model; it begins with the bytes " +
           toHex(contents.take_front(8), /*LowerCase=*/true);
  }

  bool readKernels(const ObjectRef &object, StringRef member, bool &hasPlans) {
    if (isBitcodeWithout(object)) return true;
    auto symbols = readDataSymbols(object.buffer, [](StringRef name) {
      return name.starts_with(kernelPrefix) || (name.starts_with(planPrefix) && name.ends_with(planSuffix));
    });
    if (!symbols) return damaged(object.name, symbols.takeError());
    for (const DataSymbol &symbol : *symbols) {
      if (!symbol.defined) continue;
      StringRef name = symbol.name;
      if (name.consume_front(planPrefix)) {
        hasPlans = true;
        result.graphsWithoutMlir.push_back(name.drop_back(planSuffix.size()).str());
        continue;
      }
      auto descriptor = parseKernelDescriptor(symbol.name, symbol.bytes);
      if (!descriptor) {
        diagnostics.error("COP104",
                          "kernel '" + name.drop_front(kernelPrefix.size()).str() +
                              "' cannot be used: " + toString(descriptor.takeError()),
                          {.file = object.name});
        continue;
      }
      InspectedKernel kernel;
      kernel.descriptor = std::move(*descriptor);
      kernel.bytes = symbol.bytes.size();
      kernel.member = member.str();
      result.kernels.push_back(std::move(kernel));
    }
    return true;
  }

  void readDeviceFile(MemoryBufferRef file) {
    result.kind = Inspection::Kind::DeviceFile;
    addDeviceSections(readDeviceBytes(arrayRefFromStringRef(file.getBuffer()), ""), "");
    for (const InspectedDeviceSection &section : result.device)
      if (section.container.empty())
        for (const DeviceImage &image : section.images) result.format = nameOf(image.form);
      else
        result.format = section.container;
  }

  // What is wrong with device code is said and stops nothing: linkers do not look into it.
  void readDeviceCode(MemoryBufferRef object, StringRef member) {
    auto sections = findDeviceImages(arrayRefFromStringRef(object.getBuffer()));
    if (!sections) return consumeError(sections.takeError()); // said when symbols are read
    addDeviceSections(std::move(*sections), member);
  }

  void addDeviceSections(std::vector<DeviceSection> sections, StringRef member) {
    for (DeviceSection &section : sections) {
      std::string where = member.empty() ? section.name : member.str() + ":(" + section.name + ")";
      if (!where.empty()) where += ": ";
      for (const std::string &note : section.notes) result.notes.push_back(where + note);
      for (const DeviceImage &image : section.images)
        if (!image.note.empty())
          result.notes.push_back(where + "image at offset " + std::to_string(image.offset) + ": " + image.note);
      result.device.push_back({std::move(section), member.str()});
    }
  }

  // The symbols of bitcode are cheap to read, its data is not.
  bool isBitcodeWithout(const ObjectRef &object) const {
    return identify_magic(object.buffer.getBuffer()) == file_magic::bitcode &&
           !mentionsSymbol(object.buffer, kernelPrefix);
  }

  bool readObject(const ObjectRef &object, StringRef member) {
    if (isSlimLto(object.buffer)) {
      result.notes.push_back((member.empty() ? "it" : member.str()) +
                             " holds only gcc LTO code, which linkers other than gcc's take as empty; compile it with "
                             "-ffat-lto-objects");
      return true;
    }
    bool plans = false;
    if (!readKernels(object, member, plans)) return false;
    if (identify_magic(object.buffer.getBuffer()) == file_magic::elf_relocatable) readDeviceCode(object.buffer, member);
    GraphRecords records;
    if (Error error = readGraphRecords(object, records)) {
      diagnostics.error("COP302", toString(std::move(error)));
      return false;
    }
    llvm::append_range(result.sources, records.graphs);
    llvm::append_range(result.imports, records.imports);
    return true;
  }

  void readArchive(const InputFile &file) {
    result.kind = Inspection::Kind::Archive;
    if (file.archive->isThin()) result.format = "thin";
    size_t others = 0;
    Error error = Error::success();
    for (const Archive::Child &child : file.archive->children(error)) {
      auto object = memberObject(files, 0, child);
      if (!object) {
        auto name = child.getName();
        std::string member = name ? name->str() : std::string("?");
        if (!name) consumeError(name.takeError());
        damaged(result.path + "(" + member + ")", object.takeError());
        continue;
      }
      file_magic magic = identify_magic(object->buffer.getBuffer());
      if (magic != file_magic::elf_relocatable && magic != file_magic::bitcode) {
        ++others;
        continue;
      }
      ++result.members;
      StringRef member = object->name;
      member = member.drop_front(result.path.size() + 1).drop_back();
      (void)readObject(*object, member); // reported
    }
    if (error) damaged(result.path, std::move(error));
    if (others)
      result.notes.push_back(std::to_string(others) +
                             (others == 1 ? " member is no object" : " members are no objects"));
  }

  bool readProgram(MemoryBufferRef file) {
    bool hasPlans = false;
    if (!readKernels({0, 0, file, result.path}, "", hasPlans)) return false;
    auto elf = ELFFile<ELF64LE>::create(file.getBuffer());
    if (!elf) return damaged(result.path, elf.takeError());
    auto sections = elf->sections();
    if (!sections) return damaged(result.path, sections.takeError());
    auto segments = elf->program_headers();
    if (!segments) return damaged(result.path, segments.takeError());
    result.format = "ELF x86-64";
    result.kind = elf->getHeader().e_type == ELF::ET_EXEC || isPie(*elf, *segments) ? Inspection::Kind::Executable
                                                                                    : Inspection::Kind::SharedLibrary;
    result.hasSymbols = any_of(*sections, [](auto &s) { return s.sh_type == ELF::SHT_SYMTAB; });

    bool found = false;
    for (const auto &section : *sections) {
      auto name = elf->getSectionName(section);
      if (!name) return damaged(result.path, name.takeError());
      if (*name != graphSectionName || section.sh_type == ELF::SHT_NOBITS) continue;
      found = true;
      if (section.sh_flags & ELF::SHF_COMPRESSED) {
        diagnostics.error("COP302", std::string("section '") + graphSectionName + "' is compressed",
                          {.file = result.path},
                          std::string("objcopy --decompress-section=") + graphSectionName + " undoes it");
        continue;
      }
      auto contents = elf->getSectionContents(section);
      if (!contents) return damaged(result.path, contents.takeError());
      readGraphSection(toStringRef(*contents), section.sh_offset);
    }
    if (!found) explainMissingGraphs(hasPlans);
    readDeviceCode(file, "");
    return true;
  }

  static bool isPie(const ELFFile<ELF64LE> &elf, ELF64LE::PhdrRange segments) {
    if (any_of(segments, [](auto &s) { return s.p_type == ELF::PT_INTERP; })) return true;
    auto dynamic = elf.dynamicEntries();
    if (!dynamic) {
      consumeError(dynamic.takeError());
      return false;
    }
    return any_of(*dynamic, [](auto &d) { return d.d_tag == ELF::DT_FLAGS_1 && (d.getVal() & ELF::DF_1_PIE); });
  }

  void readGraphSection(StringRef contents, uint64_t fileOffset) {
    GraphSection section = parseGraphSection(contents);
    for (const GraphSectionRecord &record : section.records) {
      std::string name = record.name.str();
      if (!record.bytecode.starts_with("ML\xEFR")) {
        diagnostics.error("COP302", "graph '" + name + "': this is not MLIR bytecode",
                          {.file = result.path, .offset = fileOffset + record.bytecodeOffset},
                          "link the program again");
        continue;
      }
      Diagnostics own;
      MemoryBufferRef bytecode(record.bytecode, result.path);
      auto graph = graphInspector.inspect(bytecode, GraphFormat::MlirBytecode, withText, own);
      for (Diagnostic d : own.all()) {
        d.message = "graph '" + name + "': " + d.message;
        // Offsets are in the bytecode so far.
        if (d.place.file == result.path && !d.place.line)
          d.place.offset = d.place.offset.value_or(0) + fileOffset + record.bytecodeOffset;
        diagnostics.report(std::move(d));
      }
      if (!graph) continue;
      llvm::erase(result.graphsWithoutMlir, name);
      graph->form = InspectedGraph::Form::Compiled;
      graph->name = name; // the function may have another name
      result.graphs.push_back(std::move(*graph));
    }
    if (section.error)
      diagnostics.error("COP302",
                        std::string("section '") + graphSectionName + "' is damaged: " + section.error->message,
                        {.file = result.path, .offset = fileOffset + section.error->offset}, "link the program again");
  }

  void explainMissingGraphs(bool hasPlans) {
    if (hasPlans)
      result.notes.push_back(
          "it has no section .coppice.graph: it was linked with --strip-graph, or the section was removed "
          "later (llvm-strip does that, strip does not)");
    else if (result.hasSymbols)
      result.notes.push_back("it has no graph: it was not linked by Coppice, or no graph of its sources is used");
    else
      result.notes.push_back(
          "it has neither a section .coppice.graph nor symbols: it was not linked by Coppice, or it has no "
          "graph, or it was linked with --strip-graph or stripped by llvm-strip");
  }

  static StringRef formatName(GraphFormat format) {
    switch (format) {
    case GraphFormat::Unknown:
      break;
    case GraphFormat::MlirText:
      return "MLIR text";
    case GraphFormat::MlirBytecode:
      return "MLIR bytecode";
    case GraphFormat::Onnx:
      return "ONNX";
    case GraphFormat::NcnnParam:
      return "ncnn .param";
    case GraphFormat::NcnnParamBinary:
      return "ncnn .param.bin";
    case GraphFormat::OpList:
      return "list of ops";
    case GraphFormat::Max:
      return "MAX";
    }
    return "";
  }

  bool readPackage(StringRef contents) {
    result.kind = Inspection::Kind::MojoPackage;
    MojoPackage package;
    if (auto error = readMojoPackage(contents, package)) {
      Place place{.file = result.path, .offset = error->offset};
      std::string message = error->message;
      if (error->isInsideFrame) {
        message += " (byte " + std::to_string(error->offset) + " of its bytecode)";
        place.offset.reset();
      }
      diagnostics.error("COP302", "this Mojo package cannot be read: " + message, std::move(place));
      return false;
    }
    result.registeredOps = std::move(package.ops);
    result.format = "compiler " + package.compiler.substr(0, 12);
    return true;
  }

  bool readBindingFile(MemoryBufferRef file) {
    result.kind = Inspection::Kind::Binding;
    result.binding = readBinding(file, diagnostics);
    return result.binding.has_value();
  }

  bool readModel(MemoryBufferRef file) {
    result.kind = Inspection::Kind::Model;
    GraphFormat format = identifyGraph(file);
    result.format = formatName(format);
    auto graph = graphInspector.inspect(file, format, withText, diagnostics);
    if (!graph) return false;
    result.graphs.push_back(std::move(*graph));
    return true;
  }

  void finish() {
    llvm::stable_sort(result.kernels, [](auto &a, auto &b) { return a.descriptor.symbol < b.descriptor.symbol; });
    llvm::sort(result.graphsWithoutMlir);
    for (InspectedKernel &kernel : result.kernels)
      for (const InspectedGraph &graph : result.graphs)
        if (any_of(graph.ops, [&](const InspectedOp &op) { return is_contained(op.kernels, kernel.name()); }))
          kernel.graphs.push_back(graph.name);
  }

  bool withText;
  GraphInspector &graphInspector;
  Diagnostics &diagnostics;
  std::vector<InputFile> files; // one; memberObject wants a list
  Inspection result;
};

} // namespace

std::optional<Inspection> inspectFile(StringRef path, bool withText, GraphInspector &graphs, Diagnostics &diagnostics) {
  return FileInspector(path, withText, graphs, diagnostics).run();
}

} // namespace coppice
