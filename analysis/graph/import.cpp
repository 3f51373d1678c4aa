// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/import.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace coppice;
using llvm::StringRef;

StringRef coppice::bindingFormat(GraphFormat format) {
  switch (format) {
  case GraphFormat::Unknown:
    return {};
  case GraphFormat::MlirText:
  case GraphFormat::MlirBytecode:
    return "mlir";
  case GraphFormat::Onnx:
    return "onnx";
  case GraphFormat::NcnnParam:
  case GraphFormat::NcnnParamBinary:
    return "ncnn-param";
  case GraphFormat::OpList:
    return "op-list";
  case GraphFormat::Max:
    return "max";
  }
  return {};
}

ImportedGraph coppice::importGraph(llvm::MemoryBufferRef file, GraphFormat format, mlir::MLIRContext &context,
                                   Diagnostics &diagnostics) {
  switch (format) {
  case GraphFormat::Unknown:
    break;
  case GraphFormat::MlirText:
  case GraphFormat::MlirBytecode:
    return importMlir(file, context, diagnostics);
  case GraphFormat::Onnx:
    return importOnnx(file, context, diagnostics);
  case GraphFormat::NcnnParam:
  case GraphFormat::NcnnParamBinary:
    return importNcnn(file, context, diagnostics);
  case GraphFormat::OpList:
    return importOpList(file, context, diagnostics);
  case GraphFormat::Max:
    return importMax(file, context, diagnostics);
  }
  diagnostics.error("COP201", "this is not a graph", {.file = file.getBufferIdentifier().str()});
  return {};
}

std::string coppice::graphNameOf(StringRef path) {
  StringRef stem = llvm::sys::path::stem(path);
  stem.consume_back(".param"); // of .param.bin
  std::string name = stem.str();
  for (char &c : name)
    if (!llvm::isAlnum(c)) c = '_';
  if (name.empty()) return "main";
  return llvm::isDigit(name[0]) ? "_" + name : name;
}
