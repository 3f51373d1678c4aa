// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph as it will run: values, ops in order, lifetimes, memory. Encoded by linker/plan_object.cpp in the form of
// runtime-stub/runtime/plan.h.
#pragma once
#include "analysis/graph/resolve_kernels.h"
#include "mlir/IR/Attributes.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace coppice {

struct PlanValue {
  enum class Kind { Argument, Constant, Intermediate } kind = Kind::Intermediate;
  std::string dtype;
  uint8_t code = 0, bits = 0;     ///< as in DLDataType
  int rank = -1;                  ///< -1: unknown
  std::vector<int64_t> dims;      ///< -1: dynamic
  uint64_t offset = ~uint64_t(0); ///< constant: in the weights; intermediate: in the arena; all ones: dynamic
  /// Bytes if all dimensions are known.
  std::optional<uint64_t> bytes() const;
};

struct PlanOp {
  mlir::Operation *op = nullptr;
  const KernelChoice *choice = nullptr; ///< null: a conditional, whose blocks are `thenBlock` and `thenBlock` + 1
  std::vector<int> inputs, outputs;     ///< values; -1 absent
  std::vector<int> releases;
  size_t thenBlock = 0;
};

struct PlanBlock {
  size_t firstOp = 0, opCount = 0;
  std::vector<int> yields;
};

struct PlanConstant {
  int value = -1;
  llvm::ArrayRef<char> data; ///< where the importer has it
  std::vector<char> owned;   ///< or a converted copy
  llvm::ArrayRef<char> bytes() const { return owned.empty() ? data : llvm::ArrayRef<char>(owned); }
};

struct GraphPlan {
  std::string name, file;
  std::vector<PlanValue> values; ///< arguments first
  std::vector<PlanOp> ops;
  std::vector<PlanBlock> blocks;       ///< block 0 is the graph
  std::vector<PlanConstant> constants; ///< in the order of their offsets, which are multiples of 64
  size_t argumentCount = 0;
  uint64_t weightsBytes = 0, arenaBytes = 0;
  bool allStatic = false; ///< every intermediate has its place in the arena: its size is the peak
};

/// What cannot run yet is reported (COP202), and recursion (COP207); then the result is empty.
std::optional<GraphPlan> buildPlan(const ResolvedGraph &graph, llvm::StringRef file, Diagnostics &diagnostics);

} // namespace coppice
