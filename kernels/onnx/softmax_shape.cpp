// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "softmax_shape.h"
#include "operands.h"

namespace coppice::onnx {

status plan_softmax(call &c, bool flatten, softmax_shape &s) {
  const DLTensor *x = c.inputs[0];
  int64_t axis = c.attributes[0].i;
  if (axis < 0) axis += x->ndim;
  // A scalar is a vector of one; flattening may leave nothing from the axis on.
  if (axis < 0 || (axis >= x->ndim && !(flatten && axis == x->ndim) && x->ndim))
    return c.fail("axis is out of range", status::bad_shape);
  s = {1, 1, 1};
  for (int k = 0; k < x->ndim; ++k) (k < axis ? s.outer : k == axis || flatten ? s.n : s.inner) *= x->shape[k];
  return allocate(c, 0, x->shape, x->ndim);
}

} // namespace coppice::onnx
