// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's own parser and bytecode reader; what they say becomes our diagnostics.
#include "analysis/graph/import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include <cstring>

using namespace coppice;
using llvm::formatv;
using llvm::StringRef;

namespace {

/// Turns MLIR's diagnostics into ours, with the line that they speak of.
class DiagnosticReader {
public:
  DiagnosticReader(StringRef name, StringRef text, Diagnostics &diagnostics)
      : name(name), text(text), diagnostics(diagnostics) {}

  void operator()(mlir::Diagnostic &d) {
    // Remarks and warnings of a parser say nothing about the link.
    if (d.getSeverity() != mlir::DiagnosticSeverity::Error) return;
    Diagnostic out;
    out.code = "COP201";
    out.message = StringRef(d.str()).trim().str();
    out.place = place(d.getLocation());
    for (mlir::Diagnostic &note : d.getNotes()) {
      std::string message = StringRef(note.str()).trim().str();
      if (isAboutMlirOpt(message)) continue;
      out.notes.push_back({std::move(message), place(note.getLocation())});
    }
    if (StringRef(out.message).contains("not found for custom op"))
      out.help =
          "write ops of other dialects in generic form: \"dialect.op\"(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> "
          "tensor<?xf32>";
    diagnostics.report(std::move(out));
  }

private:
  /// Lists of dialects and flags of mlir-opt.
  static bool isAboutMlirOpt(StringRef message) {
    return message.contains("-allow-unregistered-dialect") || message.starts_with("Registered dialects:");
  }

  Place place(mlir::Location location) const {
    Place place;
    place.file = name.str();
    auto at = location->findInstanceOf<mlir::FileLineColLoc>();
    if (!at) return place;
    place.file = at.getFilename().str();
    place.line = at.getLine();
    place.column = at.getColumn();
    if (place.file == name && place.line) place.snippet = line(place.line).str();
    return place;
  }

  StringRef line(unsigned number) const {
    StringRef rest = text;
    for (unsigned i = 1; i < number && !rest.empty(); ++i) rest = rest.split('\n').second;
    return rest.split('\n').first;
  }

  StringRef name, text;
  Diagnostics &diagnostics;
};

} // namespace

ImportedGraph coppice::importMlir(llvm::MemoryBufferRef input, mlir::MLIRContext &context, Diagnostics &diagnostics,
                                  const TextOrigin *origin) {
  (void)origin;
  ImportedGraph result;
  auto sources = std::make_shared<llvm::SourceMgr>();
  auto copy = llvm::MemoryBuffer::getMemBufferCopy(input.getBuffer(), input.getBufferIdentifier());
  DiagnosticReader reader(copy->getBufferIdentifier(), copy->getBuffer(), diagnostics);
  sources->AddNewSourceBuffer(std::move(copy), llvm::SMLoc());
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    reader(d);
    return mlir::success();
  });
  result.module = mlir::parseSourceFile<mlir::ModuleOp>(sources, mlir::ParserConfig(&context));
  return result;
}
