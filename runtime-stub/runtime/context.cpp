// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "context.h"
#include "cpu_level.h"
#include "message.h"
#include "tensor_size.h"
#include <stdlib.h>
#include <string.h>

namespace coppice::runtime {
namespace {

/// Lays out tables one after the other: once to add up their sizes, once to hand out the memory.
struct layout {
  uint8_t *memory; // null: only count
  uint64_t used;
  template <class T> void table(T *&pointer, uint64_t count) {
    used = (used + alignof(T) - 1) / alignof(T) * alignof(T);
    if (memory) pointer = reinterpret_cast<T *>(memory + used);
    used += count * sizeof(T); // count < 2^48 (a plan is < 4 GB, an op has < 2^17 operands): no overflow
  }
};

struct tables {
  DLTensor **operands;
  coppice_attribute *attributes;
};

struct counts {
  uint64_t operands, attributes;
};
counts count_of(const coppice_plan *plan) {
  counts c{0, 0};
  for (uint32_t i = 0; i < plan->n_ops; ++i) {
    const coppice_plan_op &op = op_of(plan, i);
    c.operands += uint64_t(op.n_inputs) + op.n_outputs;
    if (op.slot != COPPICE_OP_IF) c.attributes += op.n_attributes;
  }
  return c;
}

void lay_out(layout &l, coppice_context &c, tables &t, counts n) {
  const coppice_plan *plan = c.plan;
  l.table(c.values, plan->n_values);
  l.table(c.home, plan->n_values);
  l.table(c.owned, plan->n_values);
  l.table(c.bound, plan->n_values);
  l.table(c.defined, plan->n_values);
  l.table(c.steps, plan->n_ops);
  l.table(c.frames, plan->n_blocks);
  l.table(c.results, plan->n_results);
  l.table(c.overwritten, plan->n_arguments);
  l.table(t.operands, n.operands);
  l.table(t.attributes, n.attributes);
}

coppice_attribute decode(const coppice_plan *plan, const coppice_plan_attribute &a) {
  coppice_attribute out{};
  switch (a.kind) {
  case COPPICE_ATTRIBUTE_I64:
    out.i = a.value.i;
    break;
  case COPPICE_ATTRIBUTE_F64:
    out.f = a.value.f;
    break;
  default:
    out.list = {reinterpret_cast<const char *>(plan) + a.value.offset, a.count};
  }
  return out;
}

void set_up_values(coppice_context &c) {
  const coppice_plan *plan = c.plan;
  for (uint32_t i = 0; i < plan->n_values; ++i) {
    const coppice_plan_value &from = value_of(plan, i);
    value &to = c.values[i];
    to.element_bytes = from.bits / 8u;
    to.tensor = {nullptr, {1, 0}, 0, {from.code, from.bits, 1}, to.dims, nullptr, 0};
    if (from.rank >= 0) {
      to.tensor.ndim = from.rank;
      to.is_static = true;
      const int64_t *dims = shape_of(plan, from);
      for (int32_t d = 0; d < from.rank; ++d) {
        to.dims[d] = dims[d];
        if (dims[d] < 0) to.is_static = false;
      }
    }
    if (from.kind == COPPICE_VALUE_CONSTANT) {
      to.tensor.data = const_cast<uint8_t *>(c.weights) + from.offset;
      tensor_bytes(to.dims, to.tensor.ndim, to.element_bytes, to.bytes); // the linker has stored so many
    }
    c.home[i] = COPPICE_NONE;
  }
}

/// The first kernel that the CPU can run; they are sorted, best first.
const coppice_kernel *choose(const coppice_plan *plan, const coppice_plan_op &op, int &level) {
  const coppice_plan_slot &slot = at<coppice_plan_slot>(plan, plan->slots)[op.slot];
  const uint8_t *levels = at<uint8_t>(plan, plan->levels) + slot.first;
  for (uint32_t i = 0; i < slot.count; ++i) {
    if (levels[i] > 1 && level < 0) level = cpu_level(); // not asked for where it does not matter
    if (levels[i] <= 1 || levels[i] <= level) return at<const coppice_kernel *>(plan, plan->kernels)[slot.first + i];
  }
  return nullptr;
}

int32_t no_kernel(const coppice_context &c, const coppice_plan_op &op, int level) {
  const coppice_plan *plan = c.plan;
  const coppice_plan_slot &slot = at<coppice_plan_slot>(plan, plan->slots)[op.slot];
  const uint8_t *levels = at<uint8_t>(plan, plan->levels) + slot.first;
  int lowest = 0;
  for (uint32_t i = 0; i < slot.count; ++i)
    if (!lowest || levels[i] < lowest) lowest = levels[i];
  message m;
  m.text("graph ").text(string_of(plan, plan->name)).text(": node \"").text(string_of(plan, op.name)).text("\" (");
  m.text(string_of(plan, op.op)).text("): the kernel needs a CPU of level x86-64-v").number(lowest);
  m.text(", this one is x86-64-v").number(level).text(": link with --target=cpu:x86-64");
  if (level > 1) m.text("-v").number(level);
  return failed;
}

int32_t set_up_ops(coppice_context &c, tables t) {
  const coppice_plan *plan = c.plan;
  int level = -1;
  for (uint32_t i = 0; i < plan->n_ops; ++i) {
    const coppice_plan_op &op = op_of(plan, i);
    step &s = c.steps[i];
    const uint32_t *operands = indices_of(plan, op.operands);
    s.inputs = t.operands;
    s.outputs = t.operands + op.n_inputs;
    for (uint32_t j = 0; j < uint32_t(op.n_inputs) + op.n_outputs; ++j)
      *t.operands++ = operands[j] == COPPICE_NONE ? nullptr : &c.values[operands[j]].tensor;
    if (op.slot == COPPICE_OP_IF) continue;
    s.attributes = t.attributes;
    for (uint32_t j = 0; j < op.n_attributes; ++j)
      *t.attributes++ = decode(plan, at<coppice_plan_attribute>(plan, plan->attributes)[op.attributes + j]);
    s.kernel = choose(plan, op, level);
    if (!s.kernel) return no_kernel(c, op, level);
  }
  for (uint32_t b = 0; b < plan->n_blocks; ++b) {
    const coppice_plan_block &block = block_of(plan, b);
    for (uint32_t i = block.first_op; i < block.first_op + block.n_ops; ++i) {
      const coppice_plan_op &op = op_of(plan, i);
      const uint32_t *outputs = indices_of(plan, op.operands) + op.n_inputs;
      for (uint32_t j = 0; j < op.n_outputs; ++j)
        if (outputs[j] != COPPICE_NONE) c.home[outputs[j]] = b;
    }
  }
  return ok;
}

int32_t set_up(coppice_context &c, tables t) {
  const coppice_plan *plan = c.plan;
  c.weights = plan->weights;
  if (!c.weights && plan->open_weights) {
    c.weights = plan->open_weights(plan);
    if (!c.weights) return failed; // it has said why
  }
  if (plan->arena_bytes) {
    if (plan->arena_bytes <= uint64_t(1) << 62)
      c.arena = static_cast<uint8_t *>(aligned_alloc(64, (plan->arena_bytes + 63) / 64 * 64));
    if (!c.arena) {
      message()
          .text("graph ")
          .text(string_of(plan, plan->name))
          .text(": out of memory: its intermediate values need ")
          .number(int64_t(plan->arena_bytes))
          .text(" bytes");
      return out_of_memory;
    }
  }
  set_up_values(c);
  running_call &r = c.running;
  r.call.size = sizeof(coppice_call);
  r.call.allocate_output = allocate_output;
  r.call.scratch = allocate_scratch;
  r.context = &c;
  return set_up_ops(c, t);
}

} // namespace

coppice_context *make_context(const coppice_plan *plan, int32_t &status) {
  if (plan->abi != COPPICE_PLAN_ABI || plan->header_size != sizeof(coppice_plan)) {
    message()
        .text("the plan of a graph has version ")
        .number(plan->abi)
        .text(", this runtime reads version ")
        .number(COPPICE_PLAN_ABI)
        .text(": link with the coppice that libcoppice.a came with");
    status = failed;
    return nullptr;
  }
  counts n = count_of(plan);
  coppice_context head{};
  head.plan = plan;
  tables t{};
  layout l{nullptr, sizeof(coppice_context)};
  lay_out(l, head, t, n);
  coppice_context *c = static_cast<coppice_context *>(calloc(1, l.used)); // zero is the state of everything unused
  if (!c) {
    message()
        .text("graph ")
        .text(string_of(plan, plan->name))
        .text(": out of memory: its tables need ")
        .number(int64_t(l.used))
        .text(" bytes");
    status = out_of_memory;
    return nullptr;
  }
  c->plan = plan;
  l = {reinterpret_cast<uint8_t *>(c), sizeof(coppice_context)};
  lay_out(l, *c, t, n);
  status = set_up(*c, t);
  if (status == ok) return c;
  coppice_context_destroy(c);
  return nullptr;
}

} // namespace coppice::runtime

extern "C" coppice_context *coppice_context_create(const coppice_plan *plan) {
  int32_t status;
  return coppice::runtime::make_context(plan, status);
}

extern "C" void coppice_context_destroy(coppice_context *c) {
  if (!c) return;
  c->pool.destroy();
  free(c->arena);
  free(c);
}
