// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans made by hand, for tests of the executor: what the linker writes (runtime-stub/runtime/plan.h), without a
// linker.
#pragma once
#include "plan.h"
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct DType {
  uint8_t code, bits;
};
inline constexpr DType f32{2, 32}, f64{2, 64}, i64{0, 64}, i32{0, 32}, i1{6, 8};

/// A finished plan: one block of memory, as in an executable.
class Plan {
public:
  explicit Plan(const std::vector<uint8_t> &bytes) : size(bytes.size()) {
    memory.reset(new (std::align_val_t(64)) uint8_t[size]);
    std::memcpy(memory.get(), bytes.data(), size);
  }
  const coppice_plan *get() const { return reinterpret_cast<const coppice_plan *>(memory.get()); }
  operator const coppice_plan *() const { return get(); }
  coppice_plan &header() { return *reinterpret_cast<coppice_plan *>(memory.get()); }

private:
  struct Free {
    void operator()(uint8_t *p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  size_t size;
  std::unique_ptr<uint8_t[], Free> memory;
};

class PlanBuilder {
public:
  using Value = uint32_t;
  using Shape = std::initializer_list<int64_t>;
  /// In a Shape's place: the rank is not known.
  static constexpr int8_t anyRank = -1;

  explicit PlanBuilder(std::string graphName) : name(std::move(graphName)), blocks(1) {}

  Value argument(DType t, Shape s) {
    ++nArguments;
    return add(COPPICE_VALUE_ARGUMENT, t, s, 0);
  }
  Value argumentOfAnyRank(DType t) {
    ++nArguments;
    return addAnyRank(COPPICE_VALUE_ARGUMENT, t);
  }
  /// In the pool.
  Value dynamic(DType t, Shape s) { return add(COPPICE_VALUE_INTERMEDIATE, t, s, COPPICE_DYNAMIC); }
  Value dynamicOfAnyRank(DType t) { return addAnyRank(COPPICE_VALUE_INTERMEDIATE, t); }
  /// At an offset of the arena.
  Value planned(DType t, Shape s, uint64_t offset, uint64_t size) {
    arena = std::max(arena, offset + size);
    return add(COPPICE_VALUE_INTERMEDIATE, t, s, offset);
  }
  Value constant(DType t, Shape s, uint64_t offsetInWeights) {
    return add(COPPICE_VALUE_CONSTANT, t, s, offsetInWeights);
  }

  struct Attributes {
    std::vector<coppice_plan_attribute> list;
    std::vector<std::string> lists; // of those that are lists, in order
    Attributes &integer(int64_t i) {
      coppice_plan_attribute a{COPPICE_ATTRIBUTE_I64, 0, {}};
      a.value.i = i;
      list.push_back(a);
      return *this;
    }
    Attributes &number(double d) {
      coppice_plan_attribute a{COPPICE_ATTRIBUTE_F64, 0, {}};
      a.value.f = d;
      list.push_back(a);
      return *this;
    }
    Attributes &integers(std::vector<int64_t> v) {
      list.push_back({COPPICE_ATTRIBUTE_LIST, uint32_t(v.size()), {}});
      lists.emplace_back(reinterpret_cast<const char *>(v.data()), v.size() * sizeof(int64_t));
      return *this;
    }
    Attributes &string(std::string s) {
      list.push_back({COPPICE_ATTRIBUTE_LIST, uint32_t(s.size()), {}});
      lists.push_back(s);
      return *this;
    }
  };
  struct Level {
    int level; // of x86-64, 0: any
    const coppice_kernel *kernel;
  };
  struct Op {
    std::vector<Level> kernels; // none: an If
    uint32_t thenBlock = 0;
    std::string node, op;
    std::vector<Value> inputs, outputs, releases;
    Attributes attributes;
  };
  /// `b.op({.kernels = {{0, &add}}, .node = "sum", .op = "my.add", .inputs = {x, y}, .outputs = {z}});`
  void op(Op o, uint32_t block = 0) { blocks[block].ops.push_back(std::move(o)); }
  /// Two new blocks for an If: the number of the first, taken when the condition holds; the next one is the other.
  uint32_t branches() {
    blocks.resize(blocks.size() + 2);
    return uint32_t(blocks.size() - 2);
  }
  void branch(Value condition, uint32_t thenBlock, std::vector<Value> outputs, std::vector<Value> releases = {},
              uint32_t block = 0) {
    op({.kernels = {},
        .thenBlock = thenBlock,
        .node = "if",
        .op = "onnx.If",
        .inputs = {condition},
        .outputs = outputs,
        .releases = releases,
        .attributes = {}},
       block);
  }
  void yields(std::vector<Value> v, uint32_t block = 0) { blocks[block].yields = std::move(v); }

  const uint8_t *weights = nullptr;
  std::string weightsFile; // instead of weights
  uint64_t weightsBytes = 0, weightsHash = 0;

  Plan build() {
    coppice_plan h{};
    h.abi = COPPICE_PLAN_ABI;
    h.header_size = sizeof h;
    bytes.assign(sizeof h, 0);
    h.weights = weights;
    h.weights_bytes = weightsBytes;
    h.weights_hash = weightsHash;
    h.weights_file = COPPICE_NONE;
    if (!weightsFile.empty()) {
      h.open_weights = coppice_open_weights;
      h.weights_file = put(weightsFile);
    }
    h.arena_bytes = arena;
    h.name = put(name);
    h.file = put("by_hand.mlir");
    std::vector<const coppice_kernel *> kernels;
    std::vector<uint8_t> levels;
    std::vector<coppice_plan_slot> slots;
    std::vector<coppice_plan_op> ops;
    std::vector<coppice_plan_block> planBlocks;
    std::vector<uint32_t> indices;
    std::vector<coppice_plan_attribute> attributes;
    auto list = [&](const std::vector<Value> &v) {
      indices.insert(indices.end(), v.begin(), v.end());
      return uint32_t(indices.size() - v.size());
    };
    for (Block &b : blocks) {
      planBlocks.push_back({uint32_t(ops.size()), uint32_t(b.ops.size()), list(b.yields), uint32_t(b.yields.size())});
      for (Op &o : b.ops) {
        coppice_plan_op p{};
        p.slot = o.kernels.empty() ? COPPICE_OP_IF : uint32_t(slots.size());
        if (!o.kernels.empty()) slots.push_back({uint32_t(kernels.size()), uint32_t(o.kernels.size())});
        for (Level l : o.kernels) {
          kernels.push_back(l.kernel);
          levels.push_back(uint8_t(l.level));
        }
        p.n_inputs = uint16_t(o.inputs.size());
        p.n_outputs = uint16_t(o.outputs.size());
        p.operands = list(o.inputs);
        list(o.outputs);
        p.n_releases = uint16_t(o.releases.size());
        p.releases = list(o.releases);
        p.attributes = o.kernels.empty() ? o.thenBlock : uint32_t(attributes.size());
        p.n_attributes = uint16_t(o.attributes.list.size());
        size_t next = 0;
        for (coppice_plan_attribute a : o.attributes.list) {
          if (a.kind == COPPICE_ATTRIBUTE_LIST) a.value.offset = put(o.attributes.lists[next++]);
          attributes.push_back(a);
        }
        p.name = put(o.node);
        p.op = put(o.op);
        ops.push_back(p);
      }
    }
    h.kernels = table(kernels);
    h.levels = table(levels);
    h.slots = table(slots);
    h.values = table(values);
    h.shapes = table(shapes);
    h.ops = table(ops);
    h.blocks = table(planBlocks);
    h.indices = table(indices);
    h.attributes = table(attributes);
    h.n_kernels = uint32_t(kernels.size());
    h.n_values = uint32_t(values.size());
    h.n_ops = uint32_t(ops.size());
    h.n_blocks = uint32_t(planBlocks.size());
    h.n_arguments = nArguments;
    h.n_results = uint32_t(blocks[0].yields.size());
    h.total_size = uint32_t(bytes.size());
    std::memcpy(bytes.data(), &h, sizeof h);
    return Plan(bytes);
  }

private:
  struct Block {
    std::vector<Op> ops;
    std::vector<Value> yields;
  };
  Value add(uint8_t kind, DType t, Shape s, uint64_t offset) {
    values.push_back({kind, t.code, t.bits, int8_t(s.size()), uint32_t(shapes.size()), offset});
    shapes.insert(shapes.end(), s.begin(), s.end());
    return Value(values.size() - 1);
  }
  Value addAnyRank(uint8_t kind, DType t) {
    values.push_back(
        {kind, t.code, t.bits, anyRank, COPPICE_NONE, kind == COPPICE_VALUE_ARGUMENT ? 0 : COPPICE_DYNAMIC});
    return Value(values.size() - 1);
  }
  void align() { bytes.resize((bytes.size() + 7) / 8 * 8); }
  uint32_t put(const std::string &s) {
    align();
    bytes.insert(bytes.end(), s.begin(), s.end());
    bytes.push_back(0);
    return uint32_t(bytes.size() - s.size() - 1);
  }
  template <class T> uint32_t table(const std::vector<T> &v) {
    align();
    size_t at = bytes.size();
    bytes.resize(at + v.size() * sizeof(T));
    if (!v.empty()) std::memcpy(bytes.data() + at, v.data(), v.size() * sizeof(T));
    return uint32_t(at);
  }

  std::string name;
  std::vector<Block> blocks;
  std::vector<coppice_plan_value> values;
  std::vector<int64_t> shapes;
  std::vector<uint8_t> bytes;
  uint32_t nArguments = 0;
  uint64_t arena = 0;
};
