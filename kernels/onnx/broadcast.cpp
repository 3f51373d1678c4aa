// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "broadcast.h"

namespace coppice::onnx {

bool broadcast_shapes(const shape_view *shapes, int n, int64_t *dim, int &rank) {
  rank = 0;
  for (int i = 0; i < n; ++i)
    if (shapes[i].rank > rank) rank = shapes[i].rank;
  if (rank > COPPICE_MAX_RANK) return false;
  for (int k = 0; k < rank; ++k) {
    dim[k] = 1;
    for (int i = 0; i < n; ++i) {
      int at = k - (rank - shapes[i].rank);
      int64_t d = at < 0 ? 1 : shapes[i].dim[at];
      if (d == 1 || d == dim[k]) continue;
      if (dim[k] != 1) return false;
      dim[k] = d;
    }
  }
  return true;
}

loop_nest broadcast_loops(const int64_t *dim, int rank, const shape_view *shapes, int n) {
  loop_nest loops{};
  int64_t step[max_operands][COPPICE_MAX_RANK];
  for (int i = 0; i < n; ++i) {
    int64_t own = 1;
    for (int k = rank - 1; k >= 0; --k) {
      int at = k - (rank - shapes[i].rank);
      int64_t d = at < 0 ? 1 : shapes[i].dim[at];
      step[i][k] = d == 1 ? 0 : own;
      own *= d;
    }
  }
  for (int k = 0; k < rank; ++k) {
    if (dim[k] == 1) continue;
    int last = loops.rank - 1;
    bool merge = last >= 0;
    for (int i = 0; merge && i < n; ++i) merge = loops.step[i][last] == step[i][k] * dim[k];
    int to = merge ? last : loops.rank++;
    loops.dim[to] = merge ? loops.dim[to] * dim[k] : dim[k];
    for (int i = 0; i < n; ++i) loops.step[i][to] = step[i][k];
  }
  if (!loops.rank) loops.dim[loops.rank++] = 1;
  return loops;
}

void for_each_row(const loop_nest &loops, const char *const *data, const int64_t *in_bytes, int n, char *out,
                  int64_t out_bytes, row_function row) {
  const char *at[max_operands] = {};
  int64_t index[COPPICE_MAX_RANK] = {};
  unsigned moves = 0;
  int inner = loops.rank - 1;
  for (int k = 0; k < loops.rank; ++k)
    if (loops.dim[k] == 0) return;
  for (int i = 0; i < n; ++i) {
    at[i] = data[i];
    if (loops.step[i][inner]) moves |= 1u << i;
  }
  for (;;) {
    if (moves)
      row(at, out, loops.dim[inner], moves);
    else
      for (int64_t i = 0; i < loops.dim[inner]; ++i) row(at, out + i * out_bytes, 1, 0);
    out += loops.dim[inner] * out_bytes;
    int k = inner - 1;
    for (; k >= 0; --k) {
      for (int i = 0; i < n; ++i) at[i] += loops.step[i][k] * in_bytes[i];
      if (++index[k] < loops.dim[k]) break;
      for (int i = 0; i < n; ++i) at[i] -= loops.step[i][k] * in_bytes[i] * loops.dim[k];
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

status broadcast_call(call &c, int n, row_function row, const shape_view *shapes) {
  shape_view own_shapes[max_operands];
  const char *data[max_operands];
  int64_t in_bytes[max_operands], dim[COPPICE_MAX_RANK];
  int rank;
  for (int i = 0; i < n; ++i) {
    own_shapes[i] = shape_of(c.inputs[i]);
    data[i] = bytes_of(c.inputs[i]);
    in_bytes[i] = element_bytes(c.inputs[i]);
  }
  if (!shapes) shapes = own_shapes;
  if (!broadcast_shapes(shapes, n, dim, rank))
    return c.fail("the shapes of the operands do not broadcast", status::bad_shape);
  if (status s = allocate(c, 0, dim, rank); s != status::ok) return s;
  for_each_row(broadcast_loops(dim, rank, shapes, n), data, in_bytes, n, bytes_of(c.outputs[0]),
               element_bytes(c.outputs[0]), row);
  return status::ok;
}

} // namespace coppice::onnx
