// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/inspect/inspect_graph.h"
#include "analysis/graph/resolve_kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <tuple>

using namespace llvm;
using mlir::FunctionOpInterface;
using mlir::Operation;

namespace coppice {
namespace {

template <class T> std::string textOf(const T &printable) {
  std::string text;
  raw_string_ostream(text) << printable;
  return text;
}

std::string signatureOf(FunctionOpInterface function) {
  std::string text = "(";
  raw_string_ostream os(text);
  interleaveComma(function.getArgumentTypes(), os);
  os << ") -> ";
  if (function.getNumResults() != 1) os << "(";
  interleaveComma(function.getResultTypes(), os);
  if (function.getNumResults() != 1) os << ")";
  return text;
}

std::vector<std::string> stringsOf(mlir::Attribute attribute) {
  std::vector<std::string> result;
  if (auto array = dyn_cast_or_null<mlir::ArrayAttr>(attribute))
    for (mlir::Attribute element : array) {
      auto s = dyn_cast<mlir::StringAttr>(element);
      result.push_back(s ? s.str() : std::string());
    }
  return result;
}

// The names that importers keep in attributes of arguments and results.
InspectedValue valueOf(mlir::Type type, mlir::DictionaryAttr attributes) {
  InspectedValue value;
  value.type = textOf(type);
  if (!attributes) return value;
  if (auto name = attributes.getAs<mlir::StringAttr>("coppice.name")) value.name = name.str();
  value.dims = stringsOf(attributes.get("coppice.dims"));
  return value;
}

uint64_t bytesOf(mlir::Type type) {
  auto elementBytes = [](mlir::Type element) -> uint64_t {
    return element.isIntOrFloat() ? divideCeil(element.getIntOrFloatBitWidth(), 8) : 0;
  };
  auto shaped = dyn_cast<mlir::ShapedType>(type);
  if (!shaped) return elementBytes(type);
  if (!shaped.hasStaticShape()) return 0;
  uint64_t bytes = elementBytes(shaped.getElementType());
  for (int64_t dim : shaped.getShape()) bytes = SaturatingMultiply(bytes, uint64_t(dim));
  return bytes;
}

using OpKey = std::tuple<std::string, std::optional<int64_t>, std::vector<std::string>>;

struct FunctionContents {
  MapVector<StringRef, uint64_t> calls; // callee -> how often
  std::map<OpKey, uint64_t> ops;
};

// Conditionals count although they have no kernel. What only holds the form together does not.
bool isCounted(Operation *op) {
  if (op->getName().getStringRef() == "onnx.If") return true;
  return !isStructural(op) && !op->hasTrait<mlir::OpTrait::IsTerminator>();
}

class Summary {
public:
  explicit Summary(mlir::ModuleOp module, FunctionOpInterface graph) : module(module), graph(graph) {}

  InspectedGraph run() {
    readFunctions();
    std::map<StringRef, uint64_t> times = callCounts();
    std::map<OpKey, uint64_t> ops;
    for (auto &[name, contents] : functions)
      for (auto &[key, uses] : contents.ops) {
        uint64_t &total = ops[key];
        total = SaturatingMultiplyAdd(uses, times[name], total);
      }
    for (auto &[key, uses] : ops) {
      if (!uses) continue; // in functions that nobody calls
      result.ops.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), uses});
      result.opCount = SaturatingAdd(result.opCount, uses);
    }
    llvm::stable_sort(result.ops, [](auto &a, auto &b) { return a.uses > b.uses; });

    result.name = graph.getName().str();
    Place place = placeOf(graph.getLoc());
    place.node.clear();
    if (!place.line) place.column = 0;
    result.place = place.str();
    for (unsigned i = 0; i < graph.getNumArguments(); ++i)
      result.arguments.push_back(valueOf(graph.getArgumentTypes()[i], graph.getArgAttrDict(i)));
    for (unsigned i = 0; i < graph.getNumResults(); ++i)
      result.results.push_back(valueOf(graph.getResultTypes()[i], graph.getResultAttrDict(i)));
    return std::move(result);
  }

private:
  void readFunctions() {
    for (auto function : module.getOps<FunctionOpInterface>()) {
      if (function.isExternal()) continue;
      FunctionContents &contents = functions[function.getName()];
      uint64_t own = 0;
      function->walk([&](Operation *op) {
        if (op == function.getOperation()) return;
        if (auto call = dyn_cast<mlir::func::CallOp>(op)) ++contents.calls[call.getCallee()];
        if (auto constant = dyn_cast<mlir::arith::ConstantOp>(op)) addConstant(constant);
        if (!isCounted(op)) return;
        ++own;
        OpKey key;
        std::get<0>(key) = op->getName().getStringRef().str();
        if (auto symbol = op->getAttrOfType<mlir::StringAttr>("symbol"); symbol && std::get<0>(key) == "mo.custom")
          std::get<0>(key) += " " + symbol.str(); // of MAX: the op that it stands for
        if (auto version = op->getAttrOfType<mlir::IntegerAttr>("coppice.version");
            version && version.getValue().getBitWidth() <= 64)
          std::get<1>(key) = version.getValue().getSExtValue();
        std::get<2>(key) = stringsOf(op->getAttr("coppice.kernel"));
        ++contents.ops[key];
      });
      if (function != graph) result.functions.push_back({function.getName().str(), signatureOf(function), own});
    }
  }

  void addConstant(mlir::arith::ConstantOp constant) {
    ++result.constants;
    // Equal constants are one attribute.
    if (constantValues.insert(constant.getValue()).second)
      result.constantBytes = SaturatingAdd(result.constantBytes, bytesOf(constant.getType()));
  }

  // How often each function is executed, callers before callees. Functions in a cycle, and those behind one, cannot be
  // compiled; they count nothing.
  std::map<StringRef, uint64_t> callCounts() {
    std::map<StringRef, unsigned> callers;
    StringSet<> reached;
    std::vector<StringRef> stack = {graph.getName()};
    reached.insert(graph.getName());
    while (!stack.empty()) {
      StringRef name = stack.back();
      stack.pop_back();
      for (auto &[callee, count] : functions[name].calls) {
        if (!functions.count(callee)) continue;
        ++callers[callee];
        if (reached.insert(callee).second) stack.push_back(callee);
      }
    }
    std::map<StringRef, uint64_t> times;
    if (callers[graph.getName()]) return times;
    times[graph.getName()] = 1;
    stack = {graph.getName()};
    while (!stack.empty()) {
      StringRef name = stack.back();
      stack.pop_back();
      for (auto &[callee, count] : functions[name].calls) {
        if (!functions.count(callee)) continue;
        times[callee] = SaturatingMultiplyAdd(count, times[name], times[callee]);
        if (--callers[callee] == 0) stack.push_back(callee);
      }
    }
    for (auto &[name, open] : callers)
      if (open) times[name] = 0;
    return times;
  }

  mlir::ModuleOp module;
  FunctionOpInterface graph;
  InspectedGraph result;
  std::map<StringRef, FunctionContents> functions;
  DenseSet<mlir::Attribute> constantValues;
};

} // namespace

std::optional<InspectedGraph> GraphInspector::inspect(MemoryBufferRef file, GraphFormat format, bool withText,
                                                      Diagnostics &diagnostics) {
  if (!context) context = makeGraphContext();
  ImportedGraph imported = importGraph(file, format, *context, diagnostics);
  if (!imported.module) return std::nullopt;
  FunctionOpInterface graph = graphFunction(*imported.module);
  if (!graph) {
    diagnostics.error("COP202", "there is no public function with a body, so no graph",
                      {.file = file.getBufferIdentifier().str()});
    return std::nullopt;
  }
  InspectedGraph result = Summary(*imported.module, graph).run();
  if (withText) {
    raw_string_ostream os(result.text);
    imported.module->print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(0));
    if (!StringRef(result.text).ends_with("\n")) os << "\n";
  }
  return result;
}

} // namespace coppice
