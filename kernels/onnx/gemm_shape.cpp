// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_shape.h"
#include "broadcast.h"

namespace coppice::onnx {

status plan_gemm(call &c, gemm_shape &s) {
  const DLTensor *a = c.inputs[0], *b = c.inputs[1], *addend = optional_input(c, 2);
  if (a->ndim != 2 || b->ndim != 2) return c.fail("the operands are not matrices", status::bad_shape);
  s.alpha = c.attributes[0].f;
  s.beta = c.attributes[1].f;
  s.transpose_a = c.attributes[2].i != 0;
  s.transpose_b = c.attributes[3].i != 0;
  s.m = a->shape[s.transpose_a];
  s.k = a->shape[!s.transpose_a];
  s.n = b->shape[!s.transpose_b];
  if (b->shape[s.transpose_b] != s.k)
    return c.fail("the columns of the first operand are not as many as the rows of the second", status::bad_shape);
  const int64_t dim[] = {s.m, s.n};
  s.addend = addend && s.beta != 0;
  s.addend_row = s.addend_column = 0;
  if (addend) {
    shape_view shapes[] = {{dim, 2}, shape_of(addend)};
    int64_t both[COPPICE_MAX_RANK];
    int rank;
    if (!broadcast_shapes(shapes, 2, both, rank) || rank != 2 || both[0] != s.m || both[1] != s.n)
      return c.fail("the addend does not broadcast to the product", status::bad_shape);
    const int64_t rows = addend->ndim == 2 ? addend->shape[0] : 1,
                  columns = addend->ndim ? addend->shape[addend->ndim - 1] : 1;
    if (rows != 1) s.addend_row = columns;
    if (columns != 1) s.addend_column = 1;
  }
  return allocate(c, 0, dim, 2);
}

} // namespace coppice::onnx
