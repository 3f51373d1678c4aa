// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Overload resolution: for each op of a graph the one best kernel for each wanted CPU level. Types that the graph
// leaves open are taken from the kernels that were chosen, in order.
#pragma once
#include "analysis/diagnostic.h"
#include "analysis/graph/kernel_index.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include <string>
#include <vector>

namespace coppice {

/// The value of one attribute parameter, in the type that the signature wants.
struct AttributeValue {
  Parameter::AttributeType type = Parameter::AttributeType::I64;
  int64_t integer = 0; ///< I64, I1
  double number = 0;   ///< F64
  std::string text;    ///< String
  std::vector<int64_t> integers;
  std::vector<float> numbers;
};

struct KernelChoice {
  std::vector<const KernelDescriptor *> kernels; ///< one signature, highest CPU level first
  std::vector<AttributeValue> attributes;        ///< in the order of the signature
};

struct ResolveOptions {
  std::vector<unsigned> cpuLevels; ///< empty: baseline must be there, higher levels are welcome
  std::vector<std::pair<std::string, std::string>> preferKernels; ///< op, library
};

struct ResolvedGraph {
  std::string name;
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Operation *, KernelChoice> choices{};
};

/// "f32", "ui8", "i1": MLIR's name of an element type that kernels know; empty if it is none or not known yet.
std::string dtypeName(mlir::Type elementType);

/// Where an op is, from its location.
Place placeOf(mlir::Location location);

/// The function that is the graph: the first public one, or null.
mlir::FunctionOpInterface graphFunction(mlir::ModuleOp module);

/// Is this op no work at run time: constants, calls, returns, conditionals, absent operands?
bool isStructural(mlir::Operation *op);

/// Sets open result types in the module. All ops that have no kernel are reported in one diagnostic each (COP101 to
/// COP103, COP107); returns false if there was one.
bool resolveKernels(ResolvedGraph &graph, KernelIndex &index, const ResolveOptions &options, Diagnostics &diagnostics);

} // namespace coppice
