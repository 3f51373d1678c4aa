// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shape, and the ops that only change the shape: Reshape, Squeeze, Unsqueeze, Flatten, Identity. In place there is
// nothing to do.
#include "indices.h"

namespace coppice::onnx {
namespace {

/// Output 0 is input 0 in another shape of as many elements.
status same_elements(call &c, const int64_t *dim, int rank) {
  const DLTensor *x = c.inputs[0];
  int64_t bytes = element_bytes(x);
  if (!bytes) return c.fail("elements smaller than a byte are not supported");
  if (status s = allocate(c, 0, dim, rank); s != status::ok) return s;
  char *out = bytes_of(c.outputs[0]);
  if (out != bytes_of(x)) memcpy(out, bytes_of(x), size_t(count_of(x) * bytes));
  return status::ok;
}

status reshape(call &c, indices shape, bool zero_is_zero) {
  const DLTensor *x = c.inputs[0];
  int64_t dim[COPPICE_MAX_RANK], known = 1, elements = count_of(x);
  int unknown = -1;
  if (shape.count > COPPICE_MAX_RANK) return c.fail("the shape has too many dimensions", status::bad_shape);
  int rank = int(shape.count);
  for (int k = 0; k < rank; ++k) {
    dim[k] = shape[k];
    if (dim[k] == -1) {
      if (unknown >= 0) return c.fail("more than one dimension of the shape is -1", status::bad_shape);
      unknown = k;
      continue;
    }
    if (dim[k] == 0 && !zero_is_zero) {
      if (k >= x->ndim) return c.fail("a 0 in the shape copies a dimension that the input lacks", status::bad_shape);
      dim[k] = x->shape[k];
    }
    if (dim[k] < 0) return c.fail("a dimension of the shape is negative", status::bad_shape);
    if (__builtin_mul_overflow(known, dim[k], &known)) return c.fail("the shape is too large", status::bad_shape);
  }
  if (unknown >= 0) {
    if (known == 0) return c.fail("-1 in a shape of no elements", status::bad_shape);
    if (elements % known) return c.fail("the elements do not fill the shape", status::bad_shape);
    dim[unknown] = elements / known;
    known = elements;
  }
  if (known != elements) return c.fail("the shape has another number of elements than the input", status::bad_shape);
  return same_elements(c, dim, rank);
}
status reshape_attribute(call &c) { return reshape(c, attribute_indices(c, 0), false); }
status reshape_input(call &c) { return reshape(c, input_indices(c, 1), false); }
status reshape_allowzero(call &c) { return reshape(c, input_indices(c, 1), c.attributes[0].i != 0); }

status squeeze(call &c, indices axes) {
  const DLTensor *x = c.inputs[0];
  bool drop[COPPICE_MAX_RANK] = {};
  for (int64_t i = 0; i < axes.count; ++i) {
    int64_t axis = axes[i];
    if (!normalize_axis(axis, x->ndim)) return c.fail("an axis is out of range", status::bad_shape);
    if (x->shape[axis] != 1) return c.fail("a dimension to be squeezed is not 1", status::bad_shape);
    drop[axis] = true;
  }
  int64_t dim[COPPICE_MAX_RANK];
  int rank = 0;
  for (int k = 0; k < x->ndim; ++k)
    if (axes.count ? !drop[k] : x->shape[k] != 1) dim[rank++] = x->shape[k];
  return same_elements(c, dim, rank);
}
status squeeze_attribute(call &c) { return squeeze(c, attribute_indices(c, 0)); }
status squeeze_input(call &c) { return squeeze(c, input_indices(c, 1)); }

status unsqueeze(call &c, indices axes) {
  const DLTensor *x = c.inputs[0];
  bool added[COPPICE_MAX_RANK] = {};
  if (axes.count > COPPICE_MAX_RANK - x->ndim) return c.fail("the result has too many dimensions", status::bad_shape);
  int rank = x->ndim + int(axes.count);
  for (int64_t i = 0; i < axes.count; ++i) {
    int64_t axis = axes[i];
    if (!normalize_axis(axis, rank)) return c.fail("an axis is out of range", status::bad_shape);
    if (added[axis]) return c.fail("an axis is given twice", status::bad_shape);
    added[axis] = true;
  }
  int64_t dim[COPPICE_MAX_RANK];
  for (int k = 0, from = 0; k < rank; ++k) dim[k] = added[k] ? 1 : x->shape[from++];
  return same_elements(c, dim, rank);
}
status unsqueeze_attribute(call &c) { return unsqueeze(c, attribute_indices(c, 0)); }
status unsqueeze_input(call &c) { return unsqueeze(c, input_indices(c, 1)); }

status flatten(call &c) {
  const DLTensor *x = c.inputs[0];
  int64_t axis = c.attributes[0].i, dim[2] = {1, 1};
  if (axis < 0) axis += x->ndim;
  if (axis < 0 || axis > x->ndim) return c.fail("axis is out of range", status::bad_shape);
  for (int k = 0; k < x->ndim; ++k) dim[k >= axis] *= x->shape[k];
  return same_elements(c, dim, 2);
}

status identity(call &c) { return same_elements(c, c.inputs[0]->shape, c.inputs[0]->ndim); }

status shape_of_input(call &c, int64_t start, int64_t end) {
  const DLTensor *x = c.inputs[0];
  int64_t rank = x->ndim;
  auto clamp = [rank](int64_t i) { return i < -rank ? 0 : i < 0 ? i + rank : i > rank ? rank : i; };
  start = clamp(start);
  end = clamp(end);
  int64_t n = end > start ? end - start : 0;
  if (status s = allocate(c, 0, &n, 1); s != status::ok) return s;
  for (int64_t i = 0; i < n; ++i) data_of<int64_t>(c.outputs[0])[i] = x->shape[start + i];
  return status::ok;
}
status shape_whole(call &c) { return shape_of_input(c, 0, INT64_MAX); }
status shape_part(call &c) { return shape_of_input(c, c.attributes[0].i, c.attributes[1].i); }

status size_of_input(call &c) {
  const int64_t none = 0;
  if (status s = allocate(c, 0, &none, 0); s != status::ok) return s;
  *data_of<int64_t>(c.outputs[0]) = count_of(c.inputs[0]);
  return status::ok;
}

} // namespace

COPPICE_VARIANT("onnx.Reshape", "any_until4", reshape_attribute,
                "in *xany, out *xany, attr list i64 shape=[], attr list i64 consumed_inputs=[]", versions{1, 4},
                in_place);
COPPICE_VARIANT("onnx.Reshape", "any_until13", reshape_input, "in *xany, in ?xi64, out *xany", versions{5, 13},
                in_place);
COPPICE_VARIANT("onnx.Reshape", "any", reshape_allowzero, "in *xany, in ?xi64, out *xany, attr i64 allowzero=0",
                versions{14}, in_place);

COPPICE_VARIANT("onnx.Squeeze", "any_until12", squeeze_attribute, "in *xany, out *xany, attr list i64 axes=[]",
                versions{1, 12}, in_place);
COPPICE_VARIANT("onnx.Squeeze", "any", squeeze_input, "in *xany, in? ?xi64, out *xany", versions{13}, in_place);

COPPICE_VARIANT("onnx.Unsqueeze", "any_until12", unsqueeze_attribute, "in *xany, out *xany, attr list i64 axes",
                versions{1, 12}, in_place);
COPPICE_VARIANT("onnx.Unsqueeze", "any", unsqueeze_input, "in *xany, in *xi64, out *xany", versions{13}, in_place);

COPPICE_VARIANT("onnx.Flatten", "any", flatten, "in *xany, out ?x?xany, attr i64 axis=1", versions{1}, in_place);
COPPICE_VARIANT("onnx.Identity", "any", identity, "in *xany, out *xany", versions{1}, in_place);

COPPICE_VARIANT("onnx.Shape", "any_until14", shape_whole, "in *xany, out ?xi64", versions{1, 14});
// INT64_MAX stands for the end that is not given.
COPPICE_VARIANT("onnx.Shape", "any", shape_part,
                "in *xany, out ?xi64, attr i64 start=0, attr i64 end=9223372036854775807", versions{15});
COPPICE_VARIANT("onnx.Size", "any", size_of_input, "in *xany, out i64", versions{1});

} // namespace coppice::onnx
