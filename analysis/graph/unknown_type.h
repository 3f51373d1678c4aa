// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element type of a tensor whose dtype the graph's file does not say: `tensor<*x!coppice.unknown>`, or with a shape
// when only that is known. Resolution replaces it by what the picked kernel's signature gives.
#pragma once
#include "mlir/IR/BuiltinTypes.h"

namespace coppice {

inline mlir::Type unknownElementType(mlir::MLIRContext *context) {
  return mlir::OpaqueType::get(mlir::StringAttr::get(context, "coppice"), "unknown");
}

/// True for a tensor of unknown dtype. `none` and sequences are not unknown: they are something else.
inline bool hasUnknownElementType(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::TensorType>(type);
  auto element = tensor ? llvm::dyn_cast<mlir::OpaqueType>(tensor.getElementType()) : mlir::OpaqueType();
  return element && element.getDialectNamespace() == "coppice" && element.getTypeData() == "unknown";
}

} // namespace coppice
