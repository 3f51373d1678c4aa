// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transpose, Slice, Expand, Concat: elements of any type of at least a byte change their places.
#include "broadcast.h"
#include "indices.h"
#include "strided_copy.h"

namespace coppice::onnx {
namespace {

const char *const small_elements = "elements smaller than a byte are not supported";

/// Of a dense tensor, in elements.
void dense_steps(const DLTensor *t, int64_t *step) {
  int64_t own = 1;
  for (int k = t->ndim - 1; k >= 0; --k) {
    step[k] = own;
    own *= t->shape[k];
  }
}

status transpose(call &c) {
  const DLTensor *x = c.inputs[0];
  indices perm = attribute_indices(c, 0);
  int64_t own[COPPICE_MAX_RANK], dim[COPPICE_MAX_RANK], step[COPPICE_MAX_RANK];
  bool seen[COPPICE_MAX_RANK] = {};
  if (perm.count && perm.count != x->ndim) return c.fail("perm is not of the input's rank", status::bad_shape);
  if (!element_bytes(x)) return c.fail(small_elements);
  dense_steps(x, own);
  for (int k = 0; k < x->ndim; ++k) {
    int64_t from = perm.count ? perm[k] : x->ndim - 1 - k;
    if (!normalize_axis(from, x->ndim) || seen[from]) return c.fail("perm is not a permutation", status::bad_shape);
    seen[from] = true;
    dim[k] = x->shape[from];
    step[k] = own[from];
  }
  if (status s = allocate(c, 0, dim, x->ndim); s != status::ok) return s;
  strided_copy(bytes_of(x), bytes_of(c.outputs[0]), x->ndim, dim, step, element_bytes(x));
  return status::ok;
}

status slice(call &c, indices starts, indices ends, indices axes, indices steps) {
  const DLTensor *x = c.inputs[0];
  int64_t dim[COPPICE_MAX_RANK], own[COPPICE_MAX_RANK], step[COPPICE_MAX_RANK], first = 0, bytes = element_bytes(x);
  bool seen[COPPICE_MAX_RANK] = {}, whole = true;
  if (!bytes) return c.fail(small_elements);
  if (ends.count != starts.count || (axes.count && axes.count != starts.count) ||
      (steps.count && steps.count != starts.count) || starts.count > x->ndim)
    return c.fail("starts, ends, axes and steps differ in length", status::bad_shape);
  dense_steps(x, own);
  for (int k = 0; k < x->ndim; ++k) {
    dim[k] = x->shape[k];
    step[k] = own[k];
  }
  for (int64_t i = 0; i < starts.count; ++i) {
    int64_t axis = axes.count ? axes[i] : i, by = steps.count ? steps[i] : 1;
    if (!normalize_axis(axis, x->ndim)) return c.fail("an axis is out of range", status::bad_shape);
    if (seen[axis]) return c.fail("an axis is given twice", status::bad_shape);
    if (by == 0) return c.fail("a step is 0", status::bad_shape);
    seen[axis] = true;
    int64_t d = x->shape[axis], begin = starts[i], end = ends[i];
    int64_t low = by < 0 ? -1 : 0, high = by < 0 ? d - 1 : d; // the places where a walk may end
    if (begin < 0) begin += d;
    if (end < 0) end += d;
    begin = begin < 0 ? 0 : begin > high ? high : begin;
    end = end < low ? low : end > high ? high : end;
    int64_t n = by > 0 ? (end > begin ? (end - begin - 1) / by + 1 : 0)
                       : (begin > end ? int64_t(uint64_t(begin - end - 1) / (0 - uint64_t(by))) + 1 : 0);
    whole &= n == d && (by == 1 || d <= 1);
    dim[axis] = n;
    if (n) first += begin * own[axis];
    if (n > 1) step[axis] = by * own[axis];
  }
  if (status s = allocate(c, 0, dim, x->ndim); s != status::ok) return s;
  const char *from = bytes_of(x);
  char *to = bytes_of(c.outputs[0]);
  if (whole) {
    if (to != from) memcpy(to, from, size_t(count_of(x) * bytes));
    return status::ok;
  }
  if (to == from) { // a reversal in place
    size_t size = size_t(count_of(x) * bytes);
    if (!size) return status::ok;
    auto *copy = static_cast<char *>(c.scratch(&c, size));
    if (!copy) return status::out_of_memory;
    memcpy(copy, from, size);
    from = copy;
  }
  strided_copy(from + first * bytes, to, x->ndim, dim, step, bytes);
  return status::ok;
}
status slice_attributes(call &c) {
  return slice(c, attribute_indices(c, 0), attribute_indices(c, 1), attribute_indices(c, 2), {nullptr, 0, true});
}
status slice_inputs(call &c) {
  return slice(c, input_indices(c, 1), input_indices(c, 2), input_indices(c, 3), input_indices(c, 4));
}

status expand(call &c) {
  const DLTensor *x = c.inputs[0];
  indices shape = input_indices(c, 1);
  int64_t wanted[COPPICE_MAX_RANK], dim[COPPICE_MAX_RANK], own[COPPICE_MAX_RANK], step[COPPICE_MAX_RANK];
  int rank;
  if (!element_bytes(x)) return c.fail(small_elements);
  if (shape.count > COPPICE_MAX_RANK) return c.fail("the shape has too many dimensions", status::bad_shape);
  for (int64_t i = 0; i < shape.count; ++i) {
    wanted[i] = shape[i];
    if (wanted[i] < 0) return c.fail("a dimension of the shape is negative", status::bad_shape);
  }
  shape_view both[] = {shape_of(x), {wanted, int(shape.count)}};
  if (!broadcast_shapes(both, 2, dim, rank))
    return c.fail("the input does not broadcast to the shape", status::bad_shape);
  dense_steps(x, own);
  for (int k = 0; k < rank; ++k) {
    int from = k - (rank - x->ndim);
    step[k] = from < 0 || x->shape[from] == 1 ? 0 : own[from];
  }
  if (status s = allocate(c, 0, dim, rank); s != status::ok) return s;
  // In place the sizes are equal, so that nothing is repeated.
  if (bytes_of(c.outputs[0]) != bytes_of(x))
    strided_copy(bytes_of(x), bytes_of(c.outputs[0]), rank, dim, step, element_bytes(x));
  return status::ok;
}

status concat(call &c) {
  if (!c.n_inputs) return c.fail("needs at least one operand", status::bad_shape);
  const DLTensor *x = c.inputs[0];
  int64_t axis = c.attributes[0].i, dim[COPPICE_MAX_RANK], outer = 1, bytes = element_bytes(x);
  if (!bytes) return c.fail(small_elements);
  if (!normalize_axis(axis, x->ndim)) return c.fail("axis is out of range", status::bad_shape);
  for (int k = 0; k < x->ndim; ++k) dim[k] = x->shape[k];
  for (uint32_t i = 1; i < c.n_inputs; ++i) {
    const DLTensor *t = c.inputs[i];
    if (t->ndim != x->ndim) return c.fail("the operands differ in rank", status::bad_shape);
    for (int k = 0; k < x->ndim; ++k)
      if (k != axis && t->shape[k] != dim[k])
        return c.fail("the operands differ in a dimension that is not the axis", status::bad_shape);
    if (__builtin_add_overflow(dim[axis], t->shape[axis], &dim[axis]))
      return c.fail("the result is too large", status::bad_shape);
  }
  for (int64_t k = 0; k < axis; ++k) outer *= dim[k];
  if (status s = allocate(c, 0, dim, x->ndim); s != status::ok) return s;
  char *out = bytes_of(c.outputs[0]);
  for (int64_t o = 0; o < outer; ++o)
    for (uint32_t i = 0; i < c.n_inputs; ++i) {
      int64_t size = count_of(c.inputs[i]) / outer * bytes;
      memcpy(out, bytes_of(c.inputs[i]) + o * size, size_t(size));
      out += size;
    }
  return status::ok;
}

} // namespace

// Not in place: the sizes are always equal, the places hardly ever.
COPPICE_VARIANT("onnx.Transpose", "any", transpose, "in *xany, out *xany, attr list i64 perm=[]", versions{1});

COPPICE_VARIANT("onnx.Slice", "any_until9", slice_attributes,
                "in *xany, out *xany, attr list i64 starts, attr list i64 ends, attr list i64 axes=[]", versions{1, 9},
                in_place);
COPPICE_VARIANT("onnx.Slice", "any_i64", slice_inputs, "in *xany, in ?xi64, in ?xi64, in? ?xi64, in? ?xi64, out *xany",
                versions{10}, in_place);
COPPICE_VARIANT("onnx.Slice", "any_i32", slice_inputs, "in *xany, in ?xi32, in ?xi32, in? ?xi32, in? ?xi32, out *xany",
                versions{10}, in_place);

COPPICE_VARIANT("onnx.Expand", "any", expand, "in *xany, in ?xi64, out *xany", versions{8}, in_place);

COPPICE_VARIANT("onnx.Concat", "any_until3", concat, "in... *xany, out *xany, attr i64 axis=1", versions{1, 3});
COPPICE_VARIANT("onnx.Concat", "any", concat, "in... *xany, out *xany, attr i64 axis", versions{4});

} // namespace coppice::onnx
