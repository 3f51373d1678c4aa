// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/graph_keys.h"
#include "analysis/graph/resolve_kernels.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallString.h"
#include <map>

using namespace coppice;
using llvm::StringRef;

namespace {

/// Empty for what is no key: functions, terminators, constants of the importer's own.
std::string keyOf(mlir::Operation *op, GraphFormat format) {
  StringRef name = op->getName().getStringRef();
  switch (format) {
  case GraphFormat::NcnnParam:
  case GraphFormat::NcnnParamBinary:
    return name.consume_front("ncnn.") ? name.str() : "";
  case GraphFormat::OpList:
    return name.consume_front("op_list.") ? name.str() : "";
  case GraphFormat::Max: {
    if (name == "mo.custom") {
      auto symbol = op->getAttrOfType<mlir::StringAttr>("symbol");
      return symbol ? symbol.str() : "";
    }
    // rmo.matmul and rmo.mo.relu are lowered to ops that are registered as mo.matmul and mo.relu.
    if (name.consume_front("rmo.")) return (name.starts_with("mo.") ? "" : "mo.") + name.str();
    return name.starts_with("mo.") ? name.str() : "";
  }
  case GraphFormat::Onnx:
    if (name == "onnx.None" || name.ends_with(".Yield") || op->getDialect()) return ""; // arith.constant, func.func
    (void)name.consume_front("onnx.");
    return name.str();
  case GraphFormat::MlirText:
  case GraphFormat::MlirBytecode:
  case GraphFormat::Unknown:
    break;
  }
  // onnx.If of MLIR text is a key as well: whoever has a binding for it has an implementation of it.
  return name != "onnx.If" && isStructural(op) ? "" : name.str();
}

void addAttributes(UsedKey &key, mlir::DictionaryAttr attributes) {
  for (mlir::NamedAttribute named : attributes) {
    StringRef name = named.getName().strref();
    if (name.starts_with("coppice.")) continue;
    UsedKey::Attribute &attribute = key.attributes[name.str()];
    ++attribute.uses;
    if (auto text = llvm::dyn_cast<mlir::StringAttr>(named.getValue())) {
      attribute.values.insert(text.str());
    } else if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(named.getValue())) {
      bool isUnsigned = integer.getType().isUnsignedInteger() || integer.getType().isInteger(1);
      llvm::SmallString<24> digits;
      integer.getValue().toString(digits, 10, !isUnsigned);
      attribute.values.insert(std::string(digits));
    } else {
      attribute.isUnknown = true;
    }
  }
}

} // namespace

std::vector<UsedKey> coppice::keysOf(mlir::ModuleOp module, GraphFormat format, StringRef graphName) {
  std::map<std::string, UsedKey> keys;
  module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    std::string name = keyOf(op, format);
    if (name.empty()) return;
    auto [it, isNew] = keys.try_emplace(name);
    UsedKey &key = it->second;
    if (isNew) {
      key.key = name;
      key.graph = graphName.str();
      key.place = placeOf(op->getLoc());
      key.count = 0;
      key.attributesKnown = format != GraphFormat::OpList;
    }
    ++key.count;
    addAttributes(key, op->getDiscardableAttrDictionary());
    // Of ops that MLIR does not know, what is written in <{…}> is none of them.
    if (auto properties = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(op->getPropertiesAsAttribute()))
      addAttributes(key, properties);
  });
  std::vector<UsedKey> result;
  for (auto &[name, key] : keys) result.push_back(std::move(key));
  return result;
}
