// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "binary_row.h"

namespace coppice::onnx {

status broadcast_with_axis(call &c, row_function row) {
  const DLTensor *a = c.inputs[0], *b = c.inputs[1];
  int64_t axis = c.attributes[0].i;
  if (!c.attributes[1].i) {
    if (!same_shape(a, b)) return c.fail("the operands differ in shape, and broadcast is 0", status::bad_shape);
    axis = 0;
  }
  if (axis == -1) axis = a->ndim - b->ndim;
  if (axis < 0 || axis + b->ndim > a->ndim) return c.fail("axis is out of range", status::bad_shape);
  int64_t dim[COPPICE_MAX_RANK];
  for (int k = 0; k < a->ndim; ++k) {
    dim[k] = k >= axis && k < axis + b->ndim ? b->shape[k - axis] : 1;
    if (dim[k] != 1 && dim[k] != a->shape[k])
      return c.fail("the second operand does not broadcast to the first", status::bad_shape);
  }
  shape_view shapes[] = {shape_of(a), {dim, a->ndim}};
  return broadcast_call(c, 2, row, shapes);
}

} // namespace coppice::onnx
