// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a plan: the ops of block 0 in order; an If runs one of its blocks in between and takes over what it yields.
// After each op, memory that no later op reads goes back to the pool. Built without unwind tables: a kernel that throws
// ends the program here, with the exception's message, instead of leaving a run half done.
#include "context.h"
#include "message.h"
#include "tensor_size.h"
#include <stdlib.h>
#include <string.h>

namespace coppice::runtime {

message begin_op_message(const coppice_context &c, uint32_t op_index) {
  const coppice_plan *plan = c.plan;
  const coppice_plan_op &op = op_of(plan, op_index);
  message m;
  m.text("graph ").text(string_of(plan, plan->name)).text(": node \"").text(string_of(plan, op.name));
  m.text("\" (").text(string_of(plan, op.op)).text("): ");
  return m;
}

void put_inputs(message &m, const coppice_context &c, uint32_t op_index) {
  const coppice_plan_op &op = op_of(c.plan, op_index);
  if (op.n_inputs) m.text(", inputs");
  for (uint32_t i = 0; i < op.n_inputs; ++i) {
    const DLTensor *t = c.steps[op_index].inputs[i];
    m.text(" ");
    if (t)
      m.shape(t->shape, t->ndim);
    else
      m.text("none");
  }
}

int32_t op_error(const coppice_context &c, uint32_t op, int32_t status, const char *what) {
  message m = begin_op_message(c, op);
  m.text(what);
  put_inputs(m, c, op);
  return status;
}

namespace {

const char *default_text(int32_t status) {
  switch (status) {
  case bad_shape:
    return "the kernel cannot compute these shapes";
  case out_of_memory:
    return "out of memory";
  default:
    return "the kernel failed";
  }
}

void give_back(coppice_context &c, uint32_t v) {
  if (!c.owned[v]) return;
  c.pool.give(c.owned[v]);
  c.owned[v] = nullptr;
}

void release(coppice_context &c, const coppice_plan_op &op) {
  const uint32_t *releases = indices_of(c.plan, op.releases);
  for (uint32_t i = 0; i < op.n_releases; ++i) give_back(c, releases[i]);
}

int32_t run_kernel(coppice_context &c, uint32_t op_index) {
  const coppice_plan_op &op = op_of(c.plan, op_index);
  const step &s = c.steps[op_index];
  const bool allocates = s.kernel->flags & COPPICE_ALLOCATES;
  if (!allocates)
    for (uint32_t i = 0; i < op.n_outputs; ++i)
      if (s.outputs[i])
        if (int32_t e = define_output(c, op_index, i)) return e;
  running_call &r = c.running;
  r.call.n_inputs = op.n_inputs;
  r.call.n_outputs = op.n_outputs;
  r.call.n_attributes = op.n_attributes;
  r.call.inputs = s.inputs;
  r.call.outputs = s.outputs;
  r.call.attributes = s.attributes;
  r.call.message = nullptr;
  r.op = op_index;
  r.error = ok;
  int32_t status = s.kernel->run(&r.call);
  while (block *b = r.scratch) {
    r.scratch = b->next;
    c.pool.give(b);
  }
  if (r.error) return r.error; // whatever the kernel made of it
  if (status) return op_error(c, op_index, status, r.call.message ? r.call.message : default_text(status));
  if (allocates) {
    const uint32_t *outputs = indices_of(c.plan, op.operands) + op.n_inputs;
    for (uint32_t i = 0; i < op.n_outputs; ++i)
      if (s.outputs[i] && !c.defined[outputs[i]]) {
        begin_op_message(c, op_index).text("the kernel has not allocated output ").number(int64_t(i) + 1);
        return failed;
      }
  }
  release(c, op);
  return ok;
}

/// Is value `v` the output of an op of that block? Then nothing but the block's yields needs it at the block's end.
bool is_computed_by(const coppice_context &c, uint32_t v, uint32_t block) {
  return value_of(c.plan, v).kind == COPPICE_VALUE_INTERMEDIATE && c.home[v] == block;
}

int32_t begin_if(coppice_context &c, uint32_t op_index, frame &f) {
  const coppice_plan_op &op = op_of(c.plan, op_index);
  const uint32_t *outputs = indices_of(c.plan, op.operands) + op.n_inputs;
  const value &condition = c.values[indices_of(c.plan, op.operands)[0]];
  if (condition.bytes != 1) return op_error(c, op_index, bad_shape, "the condition must have one element");
  bool holds = *static_cast<const uint8_t *>(condition.tensor.data);
  f.block = op.attributes + (holds ? 0 : 1);
  const coppice_plan_block &b = block_of(c.plan, f.block);
  f.next_op = b.first_op;
  f.end_op = b.first_op + b.n_ops;
  const uint32_t *yields = indices_of(c.plan, b.yields);
  for (uint32_t i = 0; i < b.n_yields; ++i)
    if (outputs[i] != COPPICE_NONE && c.bound[outputs[i]] && is_computed_by(c, yields[i], f.block))
      c.bound[yields[i]] = c.bound[outputs[i]];
  return ok;
}

int32_t end_if(coppice_context &c, uint32_t op_index, const frame &f) {
  const coppice_plan_op &op = op_of(c.plan, op_index);
  const uint32_t *outputs = indices_of(c.plan, op.operands) + op.n_inputs;
  const coppice_plan_block &b = block_of(c.plan, f.block);
  const uint32_t *yields = indices_of(c.plan, b.yields);
  for (uint32_t i = 0; i < b.n_yields; ++i) {
    uint32_t v = outputs[i], y = yields[i];
    if (v == COPPICE_NONE) continue;
    const value &from = c.values[y];
    value &to = c.values[v];
    // What was computed in the block only changes its owner; of two equal yields the second finds none and is copied.
    uint32_t take_from = is_computed_by(c, y, f.block) ? y : COPPICE_NONE;
    if (int32_t e = define_output(c, op_index, i, from.dims, from.tensor.ndim, take_from)) return e;
    if (to.tensor.data != from.tensor.data && to.bytes) memcpy(to.tensor.data, from.tensor.data, to.bytes);
  }
  for (uint32_t i = 0; i < b.n_yields; ++i)
    if (is_computed_by(c, yields[i], f.block)) give_back(c, yields[i]);
  release(c, op);
  return ok;
}

void reset(coppice_context &c) {
  for (uint32_t v = 0; v < c.plan->n_values; ++v) give_back(c, v);
  for (uint32_t i = 0; i < c.plan->n_results; ++i) {
    if (c.results[i].saved) c.pool.give(c.results[i].saved);
    free(c.results[i].allocated); // still ours: the run has failed
    c.results[i] = {};
  }
  memset(c.bound, 0, c.plan->n_values * sizeof *c.bound);
  memset(c.defined, 0, c.plan->n_values);
}

} // namespace

int32_t run_blocks(coppice_context &c) {
  const coppice_plan_block &graph = block_of(c.plan, 0);
  frame *f = c.frames;
  *f = {0, graph.first_op, graph.first_op + graph.n_ops};
  for (;;) {
    if (f->next_op == f->end_op) {
      if (f == c.frames) return ok;
      const frame &ended = *f--;
      if (int32_t e = end_if(c, f->next_op++, ended)) return e;
    } else if (c.steps[f->next_op].kernel) {
      if (int32_t e = run_kernel(c, f->next_op++)) return e;
    } else {
      if (int32_t e = begin_if(c, f->next_op, f[1])) return e;
      ++f;
    }
  }
}

} // namespace coppice::runtime

using namespace coppice::runtime;

extern "C" int32_t coppice_run_in(coppice_context *c, DLTensor *const *all, uint32_t count) {
  if (!c) {
    message().text("coppice_run_in: no context, or one that belongs to another graph");
    return failed;
  }
  c->pool.begin_run();
  int32_t e = take_arguments(*c, all, count);
  if (!e) e = run_blocks(*c);
  if (!e) e = give_results(*c, all + c->plan->n_arguments);
  reset(*c);
  return e;
}

extern "C" int32_t coppice_run(const coppice_plan *plan, DLTensor *const *all, uint32_t count) {
  int32_t status;
  coppice_context *c = make_context(plan, status);
  if (!c) return status;
  status = coppice_run_in(c, all, count);
  coppice_context_destroy(c);
  return status;
}

extern "C" uint32_t coppice_argument_count(const coppice_plan *plan) { return plan->n_arguments; }

extern "C" const char *coppice_last_error(void) { return last_message(); }

extern "C" void coppice_free(void *p) { free(p); }
