// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensors of a call, on the way in and out. Results may lie over arguments, as in `step(state, state)`: such a
// result is computed elsewhere and copied when nothing reads the arguments any more. Results that are arguments,
// constants or given twice are copied as well; all others are written by the op that computes them.
#include "context.h"
#include "message.h"
#include "tensor_size.h"
#include <stdlib.h>
#include <string.h>

namespace coppice::runtime {
namespace {

alignas(64) const uint8_t nothing[64] = {}; // the data of an empty tensor: never null, for memcpy's sake

message begin(const coppice_context &c, const char *what, uint32_t i) {
  message m;
  m.text("graph ").text(string_of(c.plan, c.plan->name)).text(": ").text(what).text(" ").number(int64_t(i) + 1);
  return m;
}

bool is_dense(const DLTensor &t) {
  if (!t.strides) return true;
  int64_t expected = 1;
  for (int32_t i = t.ndim; i-- > 0;) {
    if (t.shape[i] == 0) return true;
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

bool fits(const int64_t *have, int32_t rank, const int64_t *want, int32_t wanted_rank) {
  if (wanted_rank < 0) return true;
  if (rank != wanted_rank) return false;
  for (int32_t i = 0; i < rank; ++i)
    if (want[i] >= 0 && have[i] != want[i]) return false;
  return true;
}

/// A tensor with data against what the plan says about the value. `does` the graph "wants" or "computes" it?
int32_t check(const coppice_context &c, const char *what, const char *does, uint32_t i, const DLTensor *t, uint32_t v,
              uint64_t &bytes) {
  const coppice_plan_value &want = value_of(c.plan, v);
  const value &x = c.values[v];
  const DLDataType wanted{want.code, want.bits, 1};
  if (t->device.device_type != 1) {
    begin(c, what, i)
        .text(" is on a device of DLPack type ")
        .number(t->device.device_type)
        .text(", the graph wants CPU memory (type 1)");
    return failed;
  }
  if (t->dtype.code != want.code || t->dtype.bits != want.bits || t->dtype.lanes != 1) {
    begin(c, what, i).text(" is ").dtype(t->dtype).text(", the graph ").text(does).text(" ").dtype(wanted);
    return bad_shape;
  }
  if (t->ndim < 0 || t->ndim > COPPICE_MAX_RANK) {
    begin(c, what, i).text(" has rank ").number(t->ndim).text(", a rank is 0 to ").number(COPPICE_MAX_RANK);
    return bad_shape;
  }
  if (t->ndim && !t->shape) {
    begin(c, what, i).text(" has no shape");
    return failed;
  }
  if (want.rank >= 0 && !fits(t->shape, t->ndim, shape_of(c.plan, want), want.rank)) {
    begin(c, what, i)
        .text(" has shape ")
        .shape(t->shape, t->ndim)
        .text(", the graph ")
        .text(does)
        .text(" ")
        .shape(shape_of(c.plan, want), want.rank);
    return bad_shape;
  }
  if (!tensor_bytes(t->shape, t->ndim, x.element_bytes, bytes)) {
    begin(c, what, i).text(" has shape ").shape(t->shape, t->ndim).text(", which is negative or too large");
    return bad_shape;
  }
  if (!t->data && bytes) {
    begin(c, what, i).text(" of shape ").shape(t->shape, t->ndim).text(" has no data");
    return failed;
  }
  if (!is_dense(*t)) {
    begin(c, what, i).text(" has strides, the graph wants dense, row-major memory");
    return bad_shape;
  }
  if (bytes && (reinterpret_cast<uintptr_t>(t->data) + t->byte_offset) % x.element_bytes) {
    begin(c, what, i).text(" is not aligned to its elements, which have ").number(x.element_bytes).text(" bytes");
    return failed;
  }
  return ok;
}

uint8_t *data_of(const DLTensor &t, uint64_t bytes) {
  return bytes ? static_cast<uint8_t *>(t.data) + t.byte_offset : const_cast<uint8_t *>(nothing);
}

bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
  uintptr_t x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes && a_bytes && b_bytes;
}

/// A result without data: the runtime allocates it, the caller has said as much about it as it likes.
int32_t check_empty(const coppice_context &c, uint32_t i, const DLTensor *t, uint32_t v) {
  const coppice_plan_value &want = value_of(c.plan, v);
  if (t->strides) {
    begin(c, "result", i).text(" has no data");
    return failed;
  }
  if (!t->shape) {
    begin(c, "result", i).text(" has no data and no room for a shape");
    return failed;
  }
  if (t->dtype.bits && (t->dtype.code != want.code || t->dtype.bits != want.bits || t->dtype.lanes != 1)) {
    begin(c, "result", i).text(" is ").dtype(t->dtype).text(", the graph computes ").dtype({want.code, want.bits, 1});
    return bad_shape;
  }
  return ok;
}

/// A result whose rank the caller has promised to itself.
int32_t check_rank(const coppice_context &c, uint32_t i, const DLTensor *t, const DLTensor &computed) {
  if (!t->dtype.bits || t->ndim < 0 || t->ndim == computed.ndim) return ok;
  begin(c, "result", i)
      .text(" has rank ")
      .number(t->ndim)
      .text(", the graph computes the shape ")
      .shape(computed.shape, computed.ndim);
  return bad_shape;
}

int32_t find_overlaps(coppice_context &c, DLTensor *const *results) {
  const coppice_plan *plan = c.plan;
  for (uint32_t i = 0; i < plan->n_results; ++i) {
    result &r = c.results[i];
    for (uint32_t j = 0; j < plan->n_arguments; ++j)
      if (overlap(r.data, r.bytes, c.values[j].tensor.data, c.values[j].bytes)) r.overlaps = c.overwritten[j] = true;
    for (uint32_t j = 0; j < i; ++j)
      if (results[i] == results[j] || overlap(r.data, r.bytes, c.results[j].data, c.results[j].bytes)) {
        begin(c, "result", j).text(" and result ").number(int64_t(i) + 1).text(" are in the same memory");
        return failed;
      }
  }
  return ok;
}

} // namespace

int32_t take_arguments(coppice_context &c, DLTensor *const *all, uint32_t count) {
  const coppice_plan *plan = c.plan;
  if (count != uint64_t(plan->n_arguments) + plan->n_results) {
    message()
        .text("graph ")
        .text(string_of(plan, plan->name))
        .text(": called with ")
        .number(count)
        .text(" tensors, it has ")
        .number(plan->n_arguments)
        .text(" arguments and ")
        .number(plan->n_results)
        .text(" results");
    return failed;
  }
  for (uint32_t i = 0; i < count; ++i)
    if (!all[i]) {
      bool argument = i < plan->n_arguments;
      begin(c, argument ? "argument" : "result", argument ? i : i - plan->n_arguments).text(" is a null pointer");
      return failed;
    }
  for (uint32_t i = 0; i < plan->n_arguments; ++i) {
    value &x = c.values[i];
    if (int32_t e = check(c, "argument", "wants", i, all[i], i, x.bytes)) return e;
    x.tensor.data = data_of(*all[i], x.bytes);
    x.tensor.ndim = all[i]->ndim;
    if (all[i]->ndim) memcpy(x.dims, all[i]->shape, sizeof(int64_t) * uint32_t(all[i]->ndim));
    c.overwritten[i] = false;
  }
  const uint32_t *yields = indices_of(plan, block_of(plan, 0).yields);
  for (uint32_t i = 0; i < plan->n_results; ++i) {
    const DLTensor *t = all[plan->n_arguments + i];
    result &r = c.results[i];
    r = {};
    // Without data and strides it is to be allocated; an empty tensor of the caller's has strides or an address.
    if (!t->data) {
      if (int32_t e = check_empty(c, i, t, yields[i])) return e;
      continue;
    }
    if (int32_t e = check(c, "result", "computes", i, t, yields[i], r.bytes)) return e;
    r.data = data_of(*t, r.bytes);
    r.shape = t->shape;
    r.rank = t->ndim;
  }
  if (int32_t e = find_overlaps(c, all + plan->n_arguments)) return e;
  for (uint32_t i = 0; i < plan->n_results; ++i) {
    bool intermediate = value_of(plan, yields[i]).kind == COPPICE_VALUE_INTERMEDIATE;
    if (intermediate && !c.results[i].overlaps) c.bound[yields[i]] = i + 1; // of two, the last
  }
  return ok;
}

int32_t give_results(coppice_context &c, DLTensor *const *results) {
  const coppice_plan *plan = c.plan;
  const uint32_t *yields = indices_of(plan, block_of(plan, 0).yields);
  for (uint32_t i = 0; i < plan->n_results; ++i) { // all that can fail, before an argument is overwritten
    value &x = c.values[yields[i]];
    result &r = c.results[i];
    if (int32_t e = results[i]->data ? ok : check_rank(c, i, results[i], x.tensor)) return e;
    if (c.bound[yields[i]] == i + 1) continue;
    if (results[i]->data && !same_shape(r.shape, r.rank, x.dims, x.tensor.ndim)) {
      begin(c, "result", i)
          .text(" has shape ")
          .shape(r.shape, r.rank)
          .text(", the graph computes ")
          .shape(x.dims, x.tensor.ndim);
      return bad_shape;
    }
    bool save = yields[i] < plan->n_arguments && c.overwritten[yields[i]] && r.data != x.tensor.data;
    if (!r.data) r.data = static_cast<uint8_t *>(r.allocated = allocate_result(x.bytes));
    if (save) r.saved = c.pool.take(x.bytes);
    if (!r.data || (save && !r.saved)) {
      begin(c, "result", i)
          .text(": out of memory: shape ")
          .shape(x.dims, x.tensor.ndim)
          .text(" needs ")
          .number(int64_t(x.bytes))
          .text(" bytes");
      return out_of_memory;
    }
    if (save) memcpy(r.saved->data(), x.tensor.data, x.bytes);
  }
  for (uint32_t i = 0; i < plan->n_results; ++i) {
    const value &x = c.values[yields[i]];
    result &r = c.results[i];
    const void *from = r.saved ? r.saved->data() : x.tensor.data;
    if (r.data != from && x.bytes) memcpy(r.data, from, x.bytes);
    if (results[i]->data) continue;
    DLTensor &t = *results[i];
    if (x.tensor.ndim) memcpy(t.shape, x.dims, sizeof(int64_t) * uint32_t(x.tensor.ndim));
    t = {r.allocated, {1, 0}, x.tensor.ndim, x.tensor.dtype, t.shape, nullptr, 0};
    r.allocated = nullptr;
  }
  return ok;
}

} // namespace coppice::runtime
