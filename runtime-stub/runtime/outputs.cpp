// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shape and memory of what ops compute. Memory is, in this order: that of a result of the graph, the place in the arena
// that the linker has planned, that of an input which nobody reads any more (COPPICE_IN_PLACE), a block of the pool.
#include "context.h"
#include "message.h"
#include "tensor_size.h"
#include <stdlib.h>
#include <string.h>

namespace coppice::runtime {
namespace {

/// `graph m: node "/conv1" (onnx.Conv): output 1 has shape (2, 3)`
message begin_shape_error(const coppice_context &c, uint32_t op, uint32_t i, const int64_t *dims, int32_t rank) {
  message m = begin_op_message(c, op);
  m.text("output ").number(int64_t(i) + 1).text(" has shape ").shape(dims, rank);
  return m;
}

/// An input of so many bytes whose memory nobody needs after the op, or COPPICE_NONE.
uint32_t dying_input(const coppice_context &c, const coppice_plan_op &op, uint64_t bytes) {
  const uint32_t *inputs = indices_of(c.plan, op.operands), *releases = indices_of(c.plan, op.releases);
  for (uint32_t i = 0; i < op.n_inputs; ++i) {
    uint32_t in = inputs[i];
    if (in == COPPICE_NONE || !c.owned[in] || c.values[in].bytes != bytes) continue;
    for (uint32_t j = 0; j < op.n_releases; ++j)
      if (releases[j] == in) return in;
  }
  return COPPICE_NONE;
}

int32_t no_memory(const coppice_context &c, uint32_t op, uint32_t i, const value &x) {
  message m = begin_op_message(c, op);
  m.text("out of memory: output ")
      .number(int64_t(i) + 1)
      .text(" of shape ")
      .shape(x.dims, x.tensor.ndim)
      .text(" needs ");
  m.number(int64_t(x.bytes)).text(" bytes");
  put_inputs(m, c, op);
  return out_of_memory;
}

} // namespace

void *allocate_result(uint64_t bytes) {
  return bytes > uint64_t(1) << 62 ? nullptr : aligned_alloc(64, bytes ? (bytes + 63) / 64 * 64 : 64);
}

int32_t define_output(coppice_context &c, uint32_t op_index, uint32_t i, const int64_t *dims, int32_t rank,
                      uint32_t from) {
  const coppice_plan_op &op = op_of(c.plan, op_index);
  uint32_t v = indices_of(c.plan, op.operands)[op.n_inputs + i];
  const coppice_plan_value &planned = value_of(c.plan, v);
  value &x = c.values[v];
  if (dims != x.dims) {
    if (rank < 0 || rank > COPPICE_MAX_RANK) {
      message m = begin_op_message(c, op_index);
      m.text("output ")
          .number(int64_t(i) + 1)
          .text(" has rank ")
          .number(rank)
          .text(", a rank is 0 to ")
          .number(COPPICE_MAX_RANK);
      return bad_shape;
    }
    const int64_t *want = planned.rank < 0 ? nullptr : shape_of(c.plan, planned);
    bool fits = planned.rank < 0 || planned.rank == rank;
    for (int32_t d = 0; want && fits && d < rank; ++d) fits = want[d] < 0 || want[d] == dims[d];
    if (!fits) {
      message m = begin_shape_error(c, op_index, i, dims, rank);
      m.text(", the graph has ").shape(want, planned.rank);
      put_inputs(m, c, op_index);
      return bad_shape;
    }
    if (rank) memcpy(x.dims, dims, sizeof(int64_t) * uint32_t(rank));
    x.tensor.ndim = rank;
  }
  if (!tensor_bytes(x.dims, x.tensor.ndim, x.element_bytes, x.bytes)) {
    bool negative = false;
    for (int32_t d = 0; d < x.tensor.ndim; ++d) negative |= x.dims[d] < 0;
    message m = begin_shape_error(c, op_index, i, x.dims, x.tensor.ndim);
    m.text(negative ? ", which is negative" : ": out of memory");
    put_inputs(m, c, op_index);
    return negative ? bad_shape : out_of_memory;
  }

  c.defined[v] = 1;
  if (c.bound[v]) {
    result &r = c.results[c.bound[v] - 1];
    if (r.data && !same_shape(r.shape, r.rank, x.dims, x.tensor.ndim)) {
      message m = begin_op_message(c, op_index);
      m.text("result ").number(c.bound[v]).text(" of the graph has shape ").shape(r.shape, r.rank);
      m.text(", the graph computes ").shape(x.dims, x.tensor.ndim);
      put_inputs(m, c, op_index);
      return bad_shape;
    }
    if (!r.data) r.data = static_cast<uint8_t *>(r.allocated = allocate_result(x.bytes));
    x.tensor.data = r.data;
    return r.data ? ok : no_memory(c, op_index, i, x);
  }
  if (planned.offset != COPPICE_DYNAMIC) {
    x.tensor.data = c.arena + planned.offset;
    return ok;
  }
  const coppice_kernel *kernel = c.steps[op_index].kernel;
  if (i == 0 && kernel && kernel->flags & COPPICE_IN_PLACE) from = dying_input(c, op, x.bytes);
  if (from != COPPICE_NONE && c.owned[from]) {
    c.owned[v] = c.owned[from];
    c.owned[from] = nullptr;
  } else {
    c.owned[v] = c.pool.take(x.bytes);
  }
  if (!c.owned[v]) return no_memory(c, op_index, i, x);
  x.tensor.data = c.owned[v]->data();
  return ok;
}

int32_t define_output(coppice_context &c, uint32_t op_index, uint32_t i) {
  const coppice_plan_op &op = op_of(c.plan, op_index);
  const step &s = c.steps[op_index];
  uint32_t v = indices_of(c.plan, op.operands)[op.n_inputs + i];
  value &x = c.values[v];
  if (x.is_static) return define_output(c, op_index, i, x.dims, x.tensor.ndim);
  int32_t rank = value_of(c.plan, v).rank;
  const DLTensor *like = nullptr;
  bool differ = false;
  for (uint32_t j = 0; j < op.n_inputs && !differ; ++j) {
    const DLTensor *in = s.inputs[j];
    if (!in || (rank >= 0 && in->ndim != rank)) continue;
    if (like)
      differ = !same_shape(like->shape, like->ndim, in->shape, in->ndim);
    else
      like = in;
  }
  if (!like || differ)
    return op_error(c, op_index, bad_shape,
                    differ ? "the shapes of the inputs differ, so that of the output is not known; a kernel for "
                             "operands of different shapes needs a shape function (coppice::shape)"
                           : "no input has the rank of the output, so its shape is not known; the kernel needs a shape "
                             "function (coppice::shape)");
  return define_output(c, op_index, i, like->shape, like->ndim);
}

int32_t allocate_output(coppice_call *call, uint32_t i, const int64_t *dims, int32_t rank) {
  running_call &r = *reinterpret_cast<running_call *>(call);
  coppice_context &c = *r.context;
  const coppice_plan_op &op = op_of(c.plan, r.op);
  uint32_t v = i < op.n_outputs ? indices_of(c.plan, op.operands)[op.n_inputs + i] : COPPICE_NONE;
  if (r.error) return r.error;
  if (v != COPPICE_NONE && !c.defined[v]) return r.error = define_output(c, r.op, i, dims, rank);
  message m = begin_op_message(c, r.op);
  m.text("the kernel allocates output ").number(int64_t(i) + 1);
  if (i >= op.n_outputs)
    m.text(", it has ").number(op.n_outputs).text(" outputs");
  else
    m.text(v == COPPICE_NONE ? ", which nobody wants: its pointer is null" : " twice");
  return r.error = failed;
}

void *allocate_scratch(coppice_call *call, uint64_t bytes) {
  running_call &r = *reinterpret_cast<running_call *>(call);
  block *b = r.context->pool.take(bytes);
  if (!b) return nullptr;
  b->next = r.scratch;
  r.scratch = b;
  return b->data();
}

} // namespace coppice::runtime
