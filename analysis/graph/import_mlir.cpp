// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's own parser and bytecode reader; what they say becomes our diagnostics.
#include "analysis/graph/bytecode_check.h"
#include "analysis/graph/child_trial.h"
#include "analysis/graph/parse_mlir.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace coppice;
using llvm::formatv;
using llvm::MemoryBuffer;
using llvm::StringRef;

namespace {

/// Turns MLIR's diagnostics into ours, with the line that they speak of.
class DiagnosticReader {
public:
  DiagnosticReader(StringRef name, StringRef text, Diagnostics &diagnostics)
      : name(name), text(text), diagnostics(diagnostics) {}

  void operator()(const mlir::Diagnostic &d) {
    if (d.getSeverity() != mlir::DiagnosticSeverity::Error) return; // what is odd but works is no matter of the link
    Diagnostic out;
    out.code = "COP201";
    out.message = StringRef(d.str()).trim().str();
    out.place = place(d.getLocation());
    for (const mlir::Diagnostic &note : d.getNotes()) {
      std::string message = StringRef(note.str()).trim().str();
      // Flags of mlir-opt, and what every message of the bytecode reader has.
      if (StringRef(message).starts_with("in bytecode version") ||
          StringRef(message).contains("-allow-unregistered-dialect") ||
          StringRef(message).starts_with("Registered dialects"))
        continue;
      message.resize(std::min(message.find(" ; for more info"), message.size())); // an address of a FAQ
      out.notes.push_back({std::move(message), place(note.getLocation())});
    }
    if (StringRef(out.message).contains("not found for custom op"))
      out.help =
          "write ops of other dialects in generic form: \"dialect.op\"(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> "
          "tensor<?xf32>";
    diagnostics.report(std::move(out));
  }

  Place place(mlir::Location location) const {
    Place place;
    place.file = name.str();
    auto at = location->findInstanceOf<mlir::FileLineColLoc>();
    if (!at) return place;
    place.file = at.getFilename().str();
    place.line = at.getLine();
    place.column = at.getLine() ? at.getColumn() : 0;
    if (place.file == name) place.snippet = line(place.line).str();
    return place;
  }

private:
  StringRef line(unsigned number) const {
    if (!number) return {};
    StringRef rest = text;
    for (unsigned i = 1; i < number && !rest.empty(); ++i) rest = rest.split('\n').second;
    return rest.split('\n').first;
  }

  StringRef name, text;
  Diagnostics &diagnostics;
};

/// MLIR's lexer needs a null after the text. Blanks in front of it make MLIR count lines and columns as the file that
/// the text is from does, in diagnostics and in the locations of ops alike.
std::unique_ptr<MemoryBuffer> paddedCopy(StringRef text, StringRef name, const TextOrigin *origin) {
  constexpr unsigned limit = 1 << 24; // a wrong origin is worth no more memory
  unsigned lines = origin && origin->line && origin->line < limit ? origin->line - 1 : 0;
  unsigned columns = origin && origin->column && origin->column < limit ? origin->column - 1 : 0;
  auto copy = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(lines + columns + text.size(), name);
  char *p = copy->getBufferStart();
  memset(p, '\n', lines);
  memset(p + lines, ' ', columns);
  memcpy(p + lines + columns, text.data(), text.size());
  return copy;
}

/// Alignments in bytecode are those of the buffer's addresses. A mapped file begins at a page and stays where it is;
/// other buffers are copied to a page.
std::unique_ptr<MemoryBuffer> pageAligned(llvm::MemoryBufferRef bytes) {
  constexpr uint64_t page = 4096;
  if (reinterpret_cast<uintptr_t>(bytes.getBufferStart()) % page == 0)
    return MemoryBuffer::getMemBuffer(bytes, /*RequiresNullTerminator=*/false);
  auto copy = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(bytes.getBufferSize(), bytes.getBufferIdentifier(),
                                                                llvm::Align(page));
  memcpy(copy->getBufferStart(), bytes.getBufferStart(), bytes.getBufferSize());
  return copy;
}

bool hasGraph(mlir::ModuleOp module) {
  return llvm::any_of(module.getOps<mlir::func::FuncOp>(), [](auto f) { return f.isPublic() && !f.isDeclaration(); });
}

} // namespace

ImportedGraph coppice::parseMlir(llvm::MemoryBufferRef input, mlir::MLIRContext &context, Diagnostics &diagnostics,
                                 const TextOrigin *origin) {
  ImportedGraph result;
  StringRef name = origin ? StringRef(origin->file) : input.getBufferIdentifier();
  StringRef contents = input.getBuffer();
  bool isBytecode = contents.starts_with("ML\xEFR");
  auto fail = [&](StringRef code, std::string message, Place place = {}, std::string help = {}) {
    place.file = name.str();
    if (origin && !place.line) place.line = origin->line, place.column = origin->column;
    diagnostics.error(code, std::move(message), std::move(place), std::move(help));
    return ImportedGraph();
  };
  if (contents.trim().empty()) return fail("COP201", "not MLIR: the text is empty");
  if (isBytecode) {
    if (auto error = checkBytecode(contents)) {
      Place place;
      place.offset = error->offset;
      return fail("COP201", "damaged MLIR bytecode: " + error->message, std::move(place));
    }
  }

  std::unique_ptr<MemoryBuffer> buffer = isBytecode ? pageAligned(input) : paddedCopy(contents, name, origin);
  StringRef text = isBytecode ? StringRef() : buffer->getBuffer();
  DiagnosticReader reader(name, text, diagnostics);

  // The source manager is shared with the resources of the module that stay in the buffer.
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  context.loadDialect<mlir::func::FuncDialect>();
  auto parse = [&] { return mlir::parseSourceFile<mlir::ModuleOp>(sources, mlir::ParserConfig(&context)); };
  auto parseAndPrint = [&] { // printing descends into attributes, which by way of aliases nest deeper than the text
    if (auto module = parse())
      module->print(llvm::nulls(), mlir::OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(0));
  };
  if (std::optional<std::string> crash = tryInChild(contents.size(), parseAndPrint))
    return fail("COP201", formatv("MLIR's {0} crashes on it: {1}", isBytecode ? "bytecode reader" : "parser", *crash),
                {},
                isBytecode ? "write the file again: it is damaged" : "is something in it nested thousands of times?");

  unsigned errors = 0;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    errors += d.getSeverity() == mlir::DiagnosticSeverity::Error;
    reader(d);
    return mlir::success();
  });
  result.module = parse();
  if (!result.module && !errors) return fail("COP201", "MLIR cannot read it and does not say why");
  if (errors) return {};
  return result;
}

ImportedGraph coppice::importMlir(llvm::MemoryBufferRef input, mlir::MLIRContext &context, Diagnostics &diagnostics,
                                  const TextOrigin *origin) {
  ImportedGraph result = parseMlir(input, context, diagnostics, origin);
  if (!result.module || hasGraph(*result.module)) return result;
  Place place{.file = origin ? origin->file : input.getBufferIdentifier().str()};
  if (origin) place.line = origin->line, place.column = origin->column;
  diagnostics.error("COP202", "the module has no public func.func with a body, so there is no graph in it",
                    std::move(place),
                    "write the graph as a function: func.func @name(%x: tensor<?xf32>) -> tensor<?xf32> { … }");
  return {};
}
