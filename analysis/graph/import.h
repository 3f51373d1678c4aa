// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graph importers: every format becomes the same thing, an MLIR module (docs/graph-form.md):
//   - one or more `func.func`; the first public one is the graph;
//   - ops named `dialect.op` ("onnx.Conv", "com.microsoft.Gelu", "my.vector_add"), in generic form unless the dialect
//   is
//     an upstream one, with tensor-typed operands and results; `none` is an absent optional operand ("onnx.None" makes
//     it);
//   - constants are `arith.constant` (elements or dense_resource; resources may point into a mapped file);
//   - the version of an op's operator set is its i64 attribute `coppice.version`, where the format has versions;
//   - attributes: i64, f32/f64, string, dense i64/f32 arrays, elements, types; subgraphs are regions whose names stand
//   in
//     the array attribute `coppice.regions`, in order, each one block that ends in "<dialect>.Yield";
//   - every op has a location: FileLineColLoc, or NameLoc(node name, FileLineColLoc(file, 0, 0)).
#pragma once
#include "analysis/diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <memory>
#include <string>
#include <vector>

namespace coppice {

struct ImportedGraph {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null when the import failed (then something was reported)
  std::vector<std::string> filesRead;       ///< besides the model itself: external data, for dependency files
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> keepAlive; ///< what dense_resource blobs point into
};

/// A context that knows the upstream dialects that graphs are written in and allows unregistered ones.
std::unique_ptr<mlir::MLIRContext> makeGraphContext();

/// Where a text begins inside another file: a graph in a C++ source. `line` is that of the first character, from 1.
struct TextOrigin {
  std::string file;
  unsigned line = 1, column = 1;
};

/// MLIR text or bytecode. For text inside a C++ file, `origin` maps places back to it. Not null-terminated input is
/// fine. Bytecode must outlive the result, as a model must: its resources stay where they are.
ImportedGraph importMlir(llvm::MemoryBufferRef text, mlir::MLIRContext &context, Diagnostics &diagnostics,
                         const TextOrigin *origin = nullptr);

/// An ONNX ModelProto. `model` must outlive the result: weights stay where they are. External data is looked for beside
/// the model (`model.getBufferIdentifier()` is its path).
ImportedGraph importOnnx(llvm::MemoryBufferRef model, mlir::MLIRContext &context, Diagnostics &diagnostics);

/// ncnn's .param or .param.bin. Both must only live as long as the call.
ImportedGraph importNcnn(llvm::MemoryBufferRef model, mlir::MLIRContext &context, Diagnostics &diagnostics);

/// One key a line, `#` begins a comment.
ImportedGraph importOpList(llvm::MemoryBufferRef list, mlir::MLIRContext &context, Diagnostics &diagnostics);

/// A graph of Modular's MAX in generic form: what graph._module.asm(print_generic_op_form=True) prints.
ImportedGraph importMax(llvm::MemoryBufferRef text, mlir::MLIRContext &context, Diagnostics &diagnostics);

enum class GraphFormat { Unknown, MlirText, MlirBytecode, Onnx, NcnnParam, NcnnParamBinary, OpList, Max };
/// By content first (magic numbers, text, protobuf fields), then by the extension of the file's name.
GraphFormat identifyGraph(llvm::MemoryBufferRef file);
/// As bindings name it: "onnx", "mlir", "ncnn-param", "op-list", "max"; empty for Unknown.
llvm::StringRef bindingFormat(GraphFormat format);
/// With the importer of its format, which is not Unknown.
ImportedGraph importGraph(llvm::MemoryBufferRef file, GraphFormat format, mlir::MLIRContext &context,
                          Diagnostics &diagnostics);
/// The name of a graph whose file has none inside: that of the file, as an identifier.
std::string graphNameOf(llvm::StringRef path);

} // namespace coppice
