// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A list of ops, one key a line -> MLIR (docs/graph-form.md): for frameworks whose graphs have no reader, and for what
// a run recorded.
#include "analysis/graph/import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace coppice;
using llvm::StringRef;

namespace {

constexpr size_t longestKey = 1024;

struct Line {
  StringRef text; ///< without comment and blanks around it
  unsigned number = 0, column = 0;
};

Line splitLine(StringRef line, unsigned number) {
  Line result{{}, number, 0};
  size_t hash = line.find('#');
  while (hash != StringRef::npos && hash && !llvm::isSpace(line[hash - 1])) hash = line.find('#', hash + 1);
  StringRef text = line.take_front(hash);
  result.text = text.trim();
  result.column = static_cast<unsigned>(text.size() - text.ltrim().size() + 1);
  return result;
}

} // namespace

ImportedGraph coppice::importOpList(llvm::MemoryBufferRef list, mlir::MLIRContext &context, Diagnostics &diagnostics) {
  ImportedGraph result;
  StringRef file = list.getBufferIdentifier();
  mlir::OpBuilder b(&context);
  context.loadDialect<mlir::func::FuncDialect>();
  auto top = mlir::FileLineColLoc::get(&context, file, 0, 0);
  result.module = mlir::ModuleOp::create(top);
  b.setInsertionPointToEnd(result.module->getBody());
  auto function = mlir::func::FuncOp::create(b, top, graphNameOf(file), b.getFunctionType({}, {}));
  b.setInsertionPointToEnd(function.addEntryBlock());

  bool ok = true;
  auto fail = [&](std::string message, const Line &line, StringRef snippet, std::string help = {}) {
    Place place{.file = file.str(), .line = line.number, .column = line.column};
    place.snippet = snippet.take_front(200).str();
    diagnostics.error("COP211", std::move(message), std::move(place), std::move(help));
    ok = false;
  };
  StringRef rest = list.getBuffer();
  bool any = false;
  for (unsigned number = 1; !rest.empty(); ++number) {
    StringRef text;
    std::tie(text, rest) = rest.split('\n');
    Line line = splitLine(text, number);
    if (line.text.empty()) continue;
    any = true;
    if (line.text.find_first_of(" \t") != StringRef::npos)
      fail("one op a line is expected, without blanks: '" + line.text.take_front(80).str() + "'", line, text,
           "write what belongs to no name behind a #");
    else if (line.text.size() > longestKey)
      fail(llvm::formatv("the name of an op has {0} characters; {1} are allowed", line.text.size(), longestKey), line,
           text);
    else if (!llvm::all_of(line.text, [](unsigned char c) { return c > 0x20 && c != 0x7f; }))
      fail("the name of an op has a control character", line, text);
    else
      b.create(mlir::OperationState(mlir::FileLineColLoc::get(&context, file, line.number, line.column),
                                    ("op_list." + line.text).str()));
    if (diagnostics.all().size() >= 50) break; // it is something else
  }
  if (ok && !any) {
    diagnostics.error("COP211", "the list has no op", {.file = file.str()});
    ok = false;
  }
  mlir::func::ReturnOp::create(b, top);
  if (!ok) result.module = {};
  return result;
}
