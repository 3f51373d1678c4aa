// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `coppice inspect` knows about one file, before it is printed.
#pragma once
#include "analysis/device/find_device_images.h"
#include "analysis/graph/graph_record.h"
#include "analysis/graph/kernel_index.h"
#include "analysis/reach/binding.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coppice {

struct InspectedValue {
  std::string name;              ///< empty where the format keeps none
  std::string type;              ///< MLIR's spelling
  std::vector<std::string> dims; ///< names of dimensions, empty where one has none; or no names at all
};

/// Ops of one name, version and choice of kernels.
struct InspectedOp {
  std::string op;
  std::optional<int64_t> version;   ///< of its operator set
  std::vector<std::string> kernels; ///< "onnx.MatMul$f32_v3", highest CPU level first; empty if it was not compiled
  uint64_t uses = 0;                ///< those of a function count at each call, those of a branch always
};

struct InspectedFunction {
  std::string name, type;
  uint64_t ops = 0; ///< in its own text
};

struct InspectedGraph {
  enum class Form { Compiled, Model };
  Form form = Form::Model;
  std::string name;
  std::string place; ///< "demo.cpp:10:3", "model.onnx"
  std::vector<InspectedValue> arguments, results;
  std::vector<InspectedOp> ops; ///< most used first
  uint64_t opCount = 0;
  uint64_t constants = 0, constantBytes = 0;
  std::vector<InspectedFunction> functions; ///< besides the graph itself
  std::string text;                         ///< MLIR without weights; only if it was asked for
};

struct InspectedKernel {
  KernelDescriptor descriptor;
  uint64_t bytes = 0;              ///< size of the descriptor
  std::string member;              ///< of an archive
  std::vector<std::string> graphs; ///< of a program: those that use it
  std::string name() const { return descriptor.symbol.substr(std::string("coppice.kernel.").size()); }
};

/// Device images of one section, or of the file.
struct InspectedDeviceSection : DeviceSection {
  std::string member; ///< of an archive
};

struct Inspection {
  enum class Kind { Executable, SharedLibrary, Object, Archive, Model, Binding, DeviceFile, MojoPackage };
  Kind kind = Kind::Object;
  std::string path;
  std::string format; ///< "ELF x86-64", "LLVM bitcode", "thin", "ONNX", …
  bool isProgram() const { return kind == Kind::Executable || kind == Kind::SharedLibrary; }

  std::vector<InspectedGraph> graphs;
  std::vector<std::string> graphsWithoutMlir; ///< of a program: known from symbols only
  std::vector<GraphRecord> sources;           ///< COPPICE_GRAPH, not linked yet
  std::vector<ImportRecord> imports;          ///< COPPICE_IMPORT_GRAPH
  std::vector<InspectedKernel> kernels;       ///< by name
  bool hasSymbols = true;                     ///< else kernels of a program are known from its graphs only
  size_t members = 0;                         ///< objects in an archive
  std::optional<Binding> binding;
  std::vector<std::string> registeredOps;     ///< of a Mojo package
  std::vector<InspectedDeviceSection> device; ///< in the order of the file
  std::vector<std::string> notes;
};

} // namespace coppice
