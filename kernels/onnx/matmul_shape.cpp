// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matmul_shape.h"
#include "broadcast.h"

namespace coppice::onnx {

status plan_matmul(call &c, matmul_shape &shape) {
  const DLTensor *a = c.inputs[0], *b = c.inputs[1];
  if (a->ndim == 0 || b->ndim == 0) return c.fail("an operand is a scalar", status::bad_shape);
  // A vector is a matrix of one row or column; that dimension is not in the result.
  bool row = a->ndim == 1, column = b->ndim == 1;
  shape.m = row ? 1 : a->shape[a->ndim - 2];
  shape.k = a->shape[a->ndim - 1];
  shape.n = column ? 1 : b->shape[b->ndim - 1];
  if (shape.k != b->shape[column ? 0 : b->ndim - 2])
    return c.fail("the columns of the first operand are not as many as the rows of the second", status::bad_shape);

  shape_view batches[] = {{a->shape, row ? 0 : a->ndim - 2}, {b->shape, column ? 0 : b->ndim - 2}};
  int64_t dim[COPPICE_MAX_RANK];
  int rank;
  if (!broadcast_shapes(batches, 2, dim, rank))
    return c.fail("the batch dimensions do not broadcast", status::bad_shape);
  loop_nest loops = broadcast_loops(dim, rank, batches, 2);
  if (!row) dim[rank++] = shape.m;
  if (!column) dim[rank++] = shape.n;
  if (status s = allocate(c, 0, dim, rank); s != status::ok) return s;

  if (loops.rank == 1 && loops.step[0][0] == 1 && loops.step[1][0] == 0) { // one B for all: a batch is more rows
    shape.m *= loops.dim[0];
    loops.dim[0] = 1;
  }
  shape.rank = loops.rank;
  for (int k = 0; k < loops.rank; ++k) {
    shape.dim[k] = loops.dim[k];
    shape.a_step[k] = loops.step[0][k] * shape.m * shape.k;
    shape.b_step[k] = loops.step[1][k] * shape.k * shape.n;
    if (loops.dim[k] == 0) shape.dim[0] = 0;
  }
  return status::ok;
}

bool next_matrices(const matmul_shape &shape, int64_t *index, int64_t &a, int64_t &b) {
  for (int k = shape.rank - 1; k >= 0; --k) {
    a += shape.a_step[k];
    b += shape.b_step[k];
    if (++index[k] < shape.dim[k]) return true;
    a -= shape.a_step[k] * shape.dim[k];
    b -= shape.b_step[k] * shape.dim[k];
    index[k] = 0;
  }
  return false;
}

} // namespace coppice::onnx
