// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types and tensor contents of ONNX as MLIR types and attributes (docs/graph-form.md, "Types" and "Constants").
#pragma once
#include "analysis/graph/import.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "onnx-ml.pb.h"
#include "llvm/ADT/StringMap.h"

namespace coppice {

/// What all parts of one import share: the file, and where diagnostics and side files go.
struct OnnxFile {
  llvm::MemoryBufferRef model;
  mlir::MLIRContext &context;
  Diagnostics &diagnostics;
  ImportedGraph &result;

  std::string path() const { return model.getBufferIdentifier().str(); }
  Place place(std::string node = {}) const;
  /// Errors after the first fifty are counted only, since a broken model may have one for each of its nodes.
  void error(llvm::StringRef code, std::string message, std::string node = {}, std::string help = {});
  unsigned errors = 0;
};

class OnnxTypes {
public:
  explicit OnnxTypes(OnnxFile &file) : file(file) {}

  /// The element type for a TensorProto.DataType, unknown for UNDEFINED; null for a number that onnx 1.23 does not
  /// define.
  mlir::Type element(int32_t dataType) const;
  /// The type of a value; `tensor<*x!coppice.unknown>` when `type` says nothing. Null when it was reported as an error;
  /// `subject` ("input 'x'") and `node` say where.
  mlir::Type value(const onnx::TypeProto &type, const std::string &subject, const std::string &node = {}) const;
  mlir::Type unknown() const;

private:
  mlir::Type tensor(int32_t dataType, const onnx::TensorShapeProto *shape, const std::string &subject,
                    const std::string &node) const;
  OnnxFile &file;
};

/// No tensor is larger; more is a damaged or malicious model.
constexpr uint64_t maxTensorBytes = uint64_t(1) << 40;

class OnnxTensors {
public:
  OnnxTensors(OnnxFile &file, const OnnxTypes &types) : file(file), types(types) {}

  /// Up to 64 elements as a DenseElementsAttr, else a DenseResourceElementsAttr whose blob points into the model or the
  /// external file, unless the data had to be converted. Null when it was reported. `key` names the resource.
  mlir::ElementsAttr read(const onnx::TensorProto &tensor, llvm::StringRef key, const std::string &subject,
                          const std::string &node = {});

private:
  struct Source; // `subject` and `node` of the tensor that is being read
  std::optional<llvm::StringRef> external(const onnx::TensorProto &tensor, uint64_t bytes, const Source &source);
  const llvm::MemoryBuffer *open(llvm::StringRef location, const Source &source);

  OnnxFile &file;
  const OnnxTypes &types;
  llvm::StringMap<const llvm::MemoryBuffer *> opened;
};

} // namespace coppice
