// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MAX -> MLIR (docs/graph-form.md). The file is MLIR in generic form already; its `mo.graph` becomes a function.
#include "analysis/graph/import.h"
#include "analysis/graph/parse_mlir.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace coppice;
using llvm::StringRef;

namespace {

mlir::Attribute attributeOf(mlir::Operation *op, StringRef name) {
  if (mlir::Attribute attribute = op->getAttr(name)) return attribute;
  auto properties = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : mlir::Attribute();
}

/// One block that ends in mo.output.
bool isGraph(mlir::Operation &op) {
  return op.getNumRegions() == 1 && op.getRegion(0).hasOneBlock() && !op.getRegion(0).front().empty() &&
         op.getRegion(0).front().back().getName().getStringRef() == "mo.output" &&
         op.getRegion(0).front().back().getNumResults() == 0;
}

void makeFunction(mlir::Operation &graph, mlir::OpBuilder &b) {
  mlir::Block &block = graph.getRegion(0).front();
  mlir::Operation &output = block.back();
  auto name = llvm::dyn_cast_or_null<mlir::StringAttr>(attributeOf(&graph, "sym_name"));
  b.setInsertionPoint(&graph);
  auto function = mlir::func::FuncOp::create(b, graph.getLoc(), name ? name.getValue() : "main",
                                             b.getFunctionType(block.getArgumentTypes(), output.getOperandTypes()));
  function.getBody().takeBody(graph.getRegion(0));
  b.setInsertionPoint(&output);
  mlir::func::ReturnOp::create(b, output.getLoc(), output.getOperands());
  output.erase();
  graph.erase();
}

} // namespace

ImportedGraph coppice::importMax(llvm::MemoryBufferRef text, mlir::MLIRContext &context, Diagnostics &diagnostics) {
  StringRef contents = text.getBuffer();
  if (!contents.contains("\"mo.graph\"")) {
    diagnostics.error("COP202", "this graph of MAX is in the syntax that only MAX can read",
                      {.file = text.getBufferIdentifier().str()},
                      "write it in generic form: print(graph._module.asm(print_generic_op_form=True))");
    return {};
  }
  ImportedGraph result = parseMlir(text, context, diagnostics, nullptr);
  if (!result.module) return result;
  mlir::OpBuilder b(&context);
  bool any = false;
  for (mlir::Operation &op : llvm::make_early_inc_range(*result.module->getBody())) {
    if (op.getName().getStringRef() != "mo.graph") continue;
    if (isGraph(op)) {
      any = true;
      makeFunction(op, b);
      continue;
    }
    auto at = op.getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    diagnostics.error(
        "COP202", "a mo.graph is one block that ends in mo.output; this one is not",
        {.file = text.getBufferIdentifier().str(), .line = at ? at.getLine() : 0, .column = at ? at.getColumn() : 0});
    return {};
  }
  if (!any) {
    diagnostics.error("COP202", "the module has no mo.graph", {.file = text.getBufferIdentifier().str()});
    return {};
  }
  return result;
}
