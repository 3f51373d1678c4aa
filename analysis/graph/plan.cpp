// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From resolved MLIR to a plan:
//   1. ops are numbered in order, calls of functions written out, branches of conditionals put in blocks of their own;
//   2. a value dies after the last op of its block that reads it, in whatever depth;
//   3. values of static shape get places in one arena: largest first, each at the lowest place that is free while it
//   lives.
#include "analysis/graph/plan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace coppice {

std::optional<uint64_t> PlanValue::bytes() const {
  if (rank < 0) return std::nullopt;
  uint64_t n = bits / 8;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    auto product = checkedMulUnsigned(n, uint64_t(d));
    if (!product) return std::nullopt;
    n = *product;
  }
  return n;
}

namespace {

constexpr int maxRank = 8; // COPPICE_MAX_RANK

class Builder {
public:
  Builder(const ResolvedGraph &graph, Diagnostics &diagnostics) : graph(graph), diagnostics(diagnostics) {}

  std::optional<GraphPlan> build(StringRef file) {
    plan.name = graph.name;
    plan.file = file.str();
    mlir::FunctionOpInterface function = graphFunction(graph.module);
    if (!function.getFunctionBody().hasOneBlock()) return unsupported(function, "a function with several blocks");
    ValueMap values;
    mlir::Block &body = function.getFunctionBody().front();
    for (mlir::BlockArgument argument : body.getArguments()) {
      int id = addValue(argument, PlanValue::Kind::Argument);
      if (id < 0) return std::nullopt;
      values[argument] = id;
    }
    plan.argumentCount = plan.values.size();
    plan.blocks.emplace_back();
    std::vector<PlanOp> ops;
    std::vector<int> yields;
    if (!buildBlock(body, values, ops, yields)) return std::nullopt;
    plan.blocks[0].yields = yields;
    finishBlock(0, std::move(ops));
    if (failed) return std::nullopt;
    findReleases();
    placeIntermediates();
    placeConstants();
    return std::move(plan);
  }

private:
  using ValueMap = DenseMap<mlir::Value, int>;

  std::nullopt_t unsupported(mlir::Operation *op, const Twine &what) {
    diagnostics.error("COP202", ("graph '" + graph.name + "': " + what + " cannot be run yet").str(),
                      placeOf(op->getLoc()));
    failed = true;
    return std::nullopt;
  }

  int addValue(mlir::Value v, PlanValue::Kind kind) {
    PlanValue value;
    value.kind = kind;
    mlir::Operation *where = v.getDefiningOp() ? v.getDefiningOp() : v.getParentBlock()->getParentOp();
    auto tensor = dyn_cast<mlir::TensorType>(v.getType());
    std::string dtype = tensor ? dtypeName(tensor.getElementType()) : "";
    if (dtype.empty()) {
      std::string text;
      raw_string_ostream(text) << v.getType();
      unsupported(where, "a value of type " + text);
      return -1;
    }
    value.dtype = dtype;
    StringRef digits = dtype;
    digits = digits.drop_while([](char c) { return !isDigit(c); });
    unsigned bits = 0;
    digits.getAsInteger(10, bits);
    value.bits = dtype == "i1" ? 8 : uint8_t(bits);
    value.code = dtype == "i1" ? 6 : dtype == "bf16" ? 4 : dtype[0] == 'f' ? 2 : dtype[0] == 'u' ? 1 : 0; // DLPack
    if (auto ranked = dyn_cast<mlir::RankedTensorType>(tensor)) {
      value.rank = int(ranked.getRank());
      for (int64_t d : ranked.getShape()) value.dims.push_back(mlir::ShapedType::isDynamic(d) ? -1 : d);
      if (value.rank > maxRank) {
        unsupported(where, "a tensor of rank " + Twine(value.rank) + " (the limit is " + Twine(maxRank) + ")");
        return -1;
      }
      bool isStatic = ranked.hasStaticShape();
      if (isStatic && (!value.bytes() || *value.bytes() > uint64_t(1) << 40)) {
        std::string text;
        raw_string_ostream(text) << v.getType();
        diagnostics.error("COP208",
                          "graph '" + graph.name + "': a tensor of type " + text + " is larger than 2^40 bytes",
                          placeOf(where->getLoc()));
        failed = true;
        return -1;
      }
    }
    plan.values.push_back(std::move(value));
    return int(plan.values.size()) - 1;
  }

  void finishBlock(size_t block, std::vector<PlanOp> ops) {
    plan.blocks[block].firstOp = plan.ops.size();
    plan.blocks[block].opCount = ops.size();
    for (PlanOp &op : ops) plan.ops.push_back(std::move(op));
  }

  bool buildBlock(mlir::Block &block, ValueMap &values, std::vector<PlanOp> &ops, std::vector<int> &yields) {
    for (mlir::Operation &op : block) {
      StringRef name = op.getName().getStringRef();
      if (auto constant = dyn_cast<mlir::arith::ConstantOp>(op)) {
        constants[constant.getResult()] = constant.getValue(); // a value when something reads it
      } else if (isa<mlir::func::ReturnOp>(op) || name.ends_with(".Yield")) {
        for (mlir::Value v : op.getOperands()) {
          int id = valueOf(v, values, &op);
          if (id < 0) return false;
          yields.push_back(id);
        }
      } else if (name == "onnx.None") {
      } else if (auto call = dyn_cast<mlir::func::CallOp>(op)) {
        if (!buildCall(call, values, ops)) return false;
      } else if (name == "onnx.If") {
        if (!buildConditional(op, values, ops)) return false;
      } else {
        auto choice = graph.choices.find(&op);
        if (choice == graph.choices.end() || op.getNumRegions()) {
          unsupported(&op, "op '" + name + "'");
          return false;
        }
        PlanOp planOp;
        planOp.op = &op;
        planOp.choice = &choice->second;
        if (!addOperands(op, values, planOp)) return false;
        if (!addResults(op, values, planOp)) return false;
        ops.push_back(std::move(planOp));
      }
    }
    return true;
  }

  bool addOperands(mlir::Operation &op, ValueMap &values, PlanOp &planOp) {
    for (mlir::Value v : op.getOperands()) {
      if (isa<mlir::NoneType>(v.getType())) {
        planOp.inputs.push_back(-1);
        continue;
      }
      int id = valueOf(v, values, &op);
      if (id < 0) return false;
      planOp.inputs.push_back(id);
    }
    return true;
  }

  bool addResults(mlir::Operation &op, ValueMap &values, PlanOp &planOp) {
    for (mlir::Value v : op.getResults()) {
      if (isa<mlir::NoneType>(v.getType())) {
        planOp.outputs.push_back(-1);
        continue;
      }
      int id = addValue(v, PlanValue::Kind::Intermediate);
      if (id < 0) return false;
      values[v] = id;
      planOp.outputs.push_back(id);
    }
    return true;
  }

  int valueOf(mlir::Value v, ValueMap &values, mlir::Operation *user) {
    auto it = values.find(v);
    if (it != values.end()) return it->second;
    auto constant = constants.find(v);
    if (constant == constants.end()) {
      unsupported(user, "an operand that is made by an op without a kernel");
      return -1;
    }
    if (auto known = constantIds.find(v); known != constantIds.end()) return known->second;
    int id = addValue(v, PlanValue::Kind::Constant);
    if (id < 0 || !addConstant(id, constant->second, user)) return -1;
    constantIds[v] = id; // also seen by other blocks: a constant has no place in the order
    return id;
  }

  bool addConstant(int id, mlir::Attribute attribute, mlir::Operation *user) {
    PlanConstant constant;
    constant.value = id;
    const PlanValue &value = plan.values[id];
    uint64_t bytes = value.bytes().value_or(0);
    if (auto resource = dyn_cast<mlir::DenseResourceElementsAttr>(attribute)) {
      mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
      if (!blob || blob->getData().size() != bytes) {
        diagnostics.error("COP201",
                          "graph '" + graph.name + "': resource '" + resource.getRawHandle().getKey().str() + "' has " +
                              (blob ? std::to_string(blob->getData().size()) : std::string("no")) +
                              " bytes, its type wants " + std::to_string(bytes),
                          placeOf(user->getLoc()));
        failed = true;
        return false;
      }
      constant.data = blob->getData();
    } else if (auto dense = dyn_cast<mlir::DenseIntOrFPElementsAttr>(attribute)) {
      if (value.dtype == "i1") {
        for (bool b : dense.getValues<bool>()) constant.owned.push_back(b);
      } else if (dense.isSplat()) {
        ArrayRef<char> element = dense.getRawData();
        constant.owned.reserve(bytes);
        for (uint64_t i = 0; i < bytes; i += element.size())
          constant.owned.insert(constant.owned.end(), element.begin(), element.end());
      } else {
        constant.data = dense.getRawData();
      }
    } else {
      unsupported(user, "a constant that is neither dense nor a dense resource");
      return false;
    }
    plan.constants.push_back(std::move(constant));
    return true;
  }

  bool buildCall(mlir::func::CallOp call, ValueMap &values, std::vector<PlanOp> &ops) {
    auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, call.getCalleeAttr());
    if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock()) {
      unsupported(call, "a call of '" + call.getCallee() + "', which has no body of one block,");
      return false;
    }
    if (is_contained(callStack, callee.getOperation())) {
      diagnostics.error("COP207",
                        ("graph '" + graph.name + "': function '" + callee.getName() + "' calls itself").str(),
                        placeOf(call.getLoc()));
      failed = true;
      return false;
    }
    ValueMap inner;
    for (auto [argument, operand] : zip(callee.getBody().front().getArguments(), call.getOperands())) {
      int id = valueOf(operand, values, call);
      if (id < 0) return false;
      inner[argument] = id;
    }
    callStack.push_back(callee);
    std::vector<int> results;
    bool ok = buildBlock(callee.getBody().front(), inner, ops, results);
    callStack.pop_back();
    if (!ok) return false;
    for (auto [result, id] : zip(call.getResults(), results)) values[result] = id;
    return true;
  }

  bool buildConditional(mlir::Operation &op, ValueMap &values, std::vector<PlanOp> &ops) {
    if (op.getNumRegions() != 2 || op.getNumOperands() != 1 || !op.getRegion(0).hasOneBlock() ||
        !op.getRegion(1).hasOneBlock()) {
      unsupported(&op, "an onnx.If without two branches and one condition");
      return false;
    }
    PlanOp planOp;
    planOp.op = &op;
    if (!addOperands(op, values, planOp)) return false;
    if (plan.values[planOp.inputs[0]].dtype != "i1") {
      unsupported(&op, "an onnx.If whose condition is not i1");
      return false;
    }
    planOp.thenBlock = plan.blocks.size();
    plan.blocks.resize(plan.blocks.size() + 2);
    for (unsigned branch = 0; branch < 2; ++branch) {
      ValueMap inner = values;
      std::vector<PlanOp> innerOps;
      std::vector<int> yields;
      if (!buildBlock(op.getRegion(branch).front(), inner, innerOps, yields)) return false;
      if (yields.size() != op.getNumResults()) {
        unsupported(&op, "an onnx.If whose branches yield another number of values than it has results");
        return false;
      }
      // The branches live in the same flat tables; only their ops form ranges of their own.
      plan.blocks[planOp.thenBlock + branch].yields = yields;
      finishBlock(planOp.thenBlock + branch, std::move(innerOps));
    }
    if (!addResults(op, values, planOp)) return false;
    // A branch may yield another shape than the other: what is known of the result is what both have.
    for (size_t i = 0; i < planOp.outputs.size(); ++i) {
      PlanValue &result = plan.values[planOp.outputs[i]];
      for (unsigned branch = 0; branch < 2; ++branch) {
        const PlanValue &yielded = plan.values[plan.blocks[planOp.thenBlock + branch].yields[i]];
        if (yielded.dtype != result.dtype) {
          unsupported(&op, "an onnx.If whose branches yield different dtypes");
          return false;
        }
        if (yielded.rank != result.rank) {
          result.rank = -1;
          result.dims.clear();
        } else {
          for (size_t k = 0; k < result.dims.size(); ++k)
            if (yielded.dims[k] != result.dims[k]) result.dims[k] = -1;
        }
      }
    }
    ops.push_back(std::move(planOp));
    return true;
  }

  // ---- lifetimes ---------------------------------------------------------------------------------------------------

  ArrayRef<PlanOp> opsOf(size_t block) const {
    return ArrayRef(plan.ops).slice(plan.blocks[block].firstOp, plan.blocks[block].opCount);
  }

  // All values that a block reads or yields, in whatever depth.
  void collectReads(size_t block, DenseSet<int> &reads) const {
    for (const PlanOp &op : opsOf(block)) {
      for (int v : op.inputs) reads.insert(v);
      if (!op.choice)
        for (size_t inner : {op.thenBlock, op.thenBlock + 1}) collectReads(inner, reads);
    }
    for (int v : plan.blocks[block].yields) reads.insert(v);
  }

  void findReleases() {
    for (size_t b = 0; b < plan.blocks.size(); ++b) {
      const PlanBlock &block = plan.blocks[b];
      DenseSet<int> defined, later(block.yields.begin(), block.yields.end());
      for (const PlanOp &op : opsOf(b)) defined.insert(op.outputs.begin(), op.outputs.end());
      for (size_t i = block.opCount; i-- > 0;) {
        PlanOp &op = plan.ops[block.firstOp + i];
        DenseSet<int> reads;
        for (int v : op.inputs) reads.insert(v);
        if (!op.choice)
          for (size_t inner : {op.thenBlock, op.thenBlock + 1}) collectReads(inner, reads);
        for (int v : op.outputs) reads.insert(v); // what nobody reads dies at once
        for (int v : reads)
          if (v >= 0 && defined.contains(v) && later.insert(v).second) op.releases.push_back(v);
        llvm::sort(op.releases); // a set has no order
      }
    }
  }

  // ---- memory ------------------------------------------------------------------------------------------------------

  struct Placement { // values that share one place: an op computed over its operand
    uint64_t bytes = 0, from = 0, to = 0;
    std::vector<int> values;
  };

  void number(size_t block, uint64_t &time, std::vector<uint64_t> &born, std::vector<uint64_t> &dies) const {
    for (const PlanOp &op : opsOf(block)) {
      uint64_t start = time++;
      if (!op.choice)
        for (size_t inner : {op.thenBlock, op.thenBlock + 1}) number(inner, time, born, dies);
      uint64_t end = op.choice ? start : time++;
      for (int v : op.outputs)
        if (v >= 0) born[v] = end;
      for (int v : op.releases) dies[v] = end;
    }
  }

  void placeIntermediates() {
    // Results go where the caller wants them, and what a branch yields moves on: both are found at run time.
    DenseSet<int> outside;
    for (const PlanBlock &block : plan.blocks) outside.insert(block.yields.begin(), block.yields.end());
    for (const PlanOp &op : plan.ops)
      if (!op.choice) outside.insert(op.outputs.begin(), op.outputs.end());
    std::vector<uint64_t> born(plan.values.size()), dies(plan.values.size(), ~uint64_t(0));
    uint64_t time = 0;
    number(0, time, born, dies);

    std::vector<Placement> placements;
    std::vector<int> placementOf(plan.values.size(), -1);
    plan.allStatic = true;
    for (const PlanOp &op : plan.ops) { // any order: a value is an output of one op
      bool first = true;
      for (int v : op.outputs) {
        bool isFirst = first;
        first = false;
        if (v < 0) continue;
        auto bytes = plan.values[v].bytes();
        if (outside.contains(v) || !bytes) {
          plan.allStatic &= bytes.has_value();
          continue;
        }
        int place = -1;
        bool inPlace = isFirst && op.choice && all_of(op.choice->kernels, [](auto *k) {
                         return k->flags & 1; /* COPPICE_IN_PLACE */
                       });
        if (inPlace)
          for (int input : op.inputs)
            if (input >= 0 && is_contained(op.releases, input) && placementOf[input] >= 0 &&
                plan.values[input].bytes() == bytes)
              place = placementOf[input];
        if (place < 0) {
          place = int(placements.size());
          placements.push_back({alignTo(*bytes, 64), born[v], dies[v], {}});
        }
        placements[place].to = std::max(placements[place].to, dies[v]);
        placements[place].values.push_back(v);
        placementOf[v] = place;
      }
    }

    std::vector<size_t> order(placements.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    llvm::stable_sort(order, [&](size_t a, size_t b) { return placements[a].bytes > placements[b].bytes; });
    struct Placed {
      uint64_t offset, end, from, to;
    };
    std::vector<Placed> placed; // by offset
    for (size_t i : order) {
      Placement &p = placements[i];
      uint64_t offset = 0;
      for (const Placed &other : placed) {
        if (other.to < p.from || other.from > p.to) continue;
        if (offset + p.bytes <= other.offset) break;
        offset = std::max(offset, other.end);
      }
      Placed mine{offset, offset + p.bytes, p.from, p.to};
      placed.insert(upper_bound(placed, mine, [](const Placed &a, const Placed &b) { return a.offset < b.offset; }),
                    mine);
      for (int v : p.values) plan.values[v].offset = offset;
      plan.arenaBytes = std::max(plan.arenaBytes, offset + p.bytes);
    }
  }

  void placeConstants() {
    uint64_t offset = 0;
    for (PlanConstant &constant : plan.constants) {
      offset = alignTo(offset, 64);
      plan.values[constant.value].offset = offset;
      offset += constant.bytes().size();
    }
    plan.weightsBytes = offset;
  }

  const ResolvedGraph &graph;
  Diagnostics &diagnostics;
  GraphPlan plan;
  DenseMap<mlir::Value, mlir::Attribute> constants;
  DenseMap<mlir::Value, int> constantIds;
  std::vector<mlir::Operation *> callStack;
  bool failed = false;
};

} // namespace

std::optional<GraphPlan> buildPlan(const ResolvedGraph &graph, StringRef file, Diagnostics &diagnostics) {
  return Builder(graph, diagnostics).build(file);
}

} // namespace coppice
