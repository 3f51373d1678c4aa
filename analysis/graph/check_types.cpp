// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/check_types.h"
#include "analysis/graph/resolve_kernels.h"
#include "analysis/graph/signature.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace llvm;

namespace coppice {
namespace {

struct CxxType {
  StringRef spec;         // "?xf32"; "*" is not known before run time
  bool readOnly = false;  // const data, or declared as an argument
  bool writeOnly = false; // declared as a result
};

// Empty if the type fits.
std::string mismatch(const CxxType &cxx, mlir::Type type, bool isResult) {
  if (isResult && cxx.readOnly) return "it is a result, and the program gives read-only data";
  if (!isResult && cxx.writeOnly) return "it is an argument, and the program declares it as out<>";
  if (cxx.spec == "*") return {};
  auto spec = parseTensorSpec(cxx.spec);
  if (!spec) {
    consumeError(spec.takeError());
    return "'" + cxx.spec.str() + "' is no tensor type";
  }
  auto tensor = dyn_cast<mlir::TensorType>(type);
  std::string want;
  raw_string_ostream(want) << type;
  std::string dtype = tensor ? dtypeName(tensor.getElementType()) : "";
  if (!dtype.empty() && !spec->isAny() && dtype != spec->dtype)
    return "the program has " + spec->str() + ", the graph has " + want;
  if (tensor && tensor.hasRank() && spec->rank >= 0 && tensor.getRank() != spec->rank)
    return "the program has " + spec->str() + ", the graph has " + want;
  return {};
}

void check(StringRef graphName, mlir::FunctionOpInterface function, ArrayRef<CxxType> types, const Place &place,
           StringRef what, Diagnostics &diagnostics) {
  unsigned arguments = function.getNumArguments(), results = function.getNumResults();
  std::string why;
  if (types.size() != arguments + results) {
    why = ("it has " + Twine(types.size()) + " operands, the graph has " + Twine(arguments) + " arguments and " +
           Twine(results) + " results")
              .str();
  } else {
    for (unsigned i = 0; i < types.size() && why.empty(); ++i) {
      bool isResult = i >= arguments;
      std::string m = mismatch(
          types[i], isResult ? function.getResultTypes()[i - arguments] : function.getArgumentTypes()[i], isResult);
      if (!m.empty())
        why = ((isResult ? "result " : "argument ") + Twine(isResult ? i - arguments + 1 : i + 1) + ": " + m).str();
    }
  }
  if (why.empty()) return;
  Diagnostic d;
  d.code = "COP204";
  d.message = (what + " graph '" + graphName + "' does not fit: " + why).str();
  d.place = place;
  d.notes.push_back({"the graph is here", placeOf(function.getLoc())});
  std::string declaration;
  raw_string_ostream os(declaration);
  unsigned n = 0;
  auto add = [&](mlir::Type type, StringRef kind) {
    auto tensor = dyn_cast<mlir::TensorType>(type);
    std::string dtype = tensor ? dtypeName(tensor.getElementType()) : "";
    StringRef element = dtype == "f32"   ? "float"
                        : dtype == "f64" ? "double"
                        : dtype == "i1"  ? "bool"
                        : dtype == "i64" ? "int64_t"
                        : dtype == "i32" ? "int32_t"
                        : dtype == "ui8" ? "uint8_t"
                        : dtype == "i8"  ? "int8_t"
                                         : "coppice::any_dtype";
    os << (n++ ? ", " : "") << "coppice::" << kind << "<" << element;
    if (tensor && tensor.hasRank()) os << ", " << tensor.getRank();
    os << ">";
  };
  for (mlir::Type type : function.getArgumentTypes()) add(type, "in");
  for (mlir::Type type : function.getResultTypes()) add(type, "out");
  d.help = "the graph's types in C++ are void(" + declaration + ")";
  diagnostics.report(std::move(d));
}

} // namespace

void checkTypes(StringRef graphName, mlir::FunctionOpInterface function, const GraphRecords &records,
                Diagnostics &diagnostics) {
  for (const ImportRecord &record : records.imports) {
    if (record.name != graphName) continue;
    std::vector<CxxType> types;
    SmallVector<StringRef> items;
    StringRef(record.types).split(items, ',', -1, /*KeepEmpty=*/false);
    for (StringRef item : items) {
      auto [kind, spec] = item.trim().split(' ');
      types.push_back({spec.trim(), kind == "in" || kind == "in?", kind == "out" || kind == "out?"});
    }
    check(graphName, function, types, {.file = record.file, .line = record.line}, "the declaration of", diagnostics);
  }
  for (const CallRecord &record : records.calls) {
    if (record.name != graphName) continue;
    std::vector<CxxType> types;
    SmallVector<StringRef> items;
    StringRef(record.types).split(items, ',', -1, /*KeepEmpty=*/false);
    for (StringRef item : items) {
      item = item.trim();
      bool isConst = item.consume_front("const ");
      types.push_back({item, isConst, false});
    }
    check(graphName, function, types, {.file = record.object}, "a call of", diagnostics);
  }
}

} // namespace coppice
