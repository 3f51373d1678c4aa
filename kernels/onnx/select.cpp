// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where, Gather: elements of any type of at least a byte, chosen by bools or indices.
#include "broadcast.h"
#include "indices.h"

namespace coppice::onnx {
namespace {

template <int Bytes> void where_row(const char *const *data, char *out, int64_t n, unsigned moves) {
  const int64_t c = moves & 1, a = moves & 2 ? Bytes : 0, b = moves & 4 ? Bytes : 0;
  for (int64_t i = 0; i < n; ++i) memcpy(out + i * Bytes, data[0][i * c] ? data[1] + i * a : data[2] + i * b, Bytes);
}
status where(call &c) {
  switch (element_bytes(c.inputs[1])) {
  case 1:
    return broadcast_call(c, 3, where_row<1>);
  case 2:
    return broadcast_call(c, 3, where_row<2>);
  case 4:
    return broadcast_call(c, 3, where_row<4>);
  case 8:
    return broadcast_call(c, 3, where_row<8>);
  case 16:
    return broadcast_call(c, 3, where_row<16>);
  default:
    return c.fail("elements of this size are not supported");
  }
}

status gather(call &c) {
  const DLTensor *x = c.inputs[0], *at = c.inputs[1];
  indices index = input_indices(c, 1);
  int64_t axis = c.attributes[0].i, dim[COPPICE_MAX_RANK], outer = 1, inner = element_bytes(x);
  int rank = 0;
  if (!inner) return c.fail("elements smaller than a byte are not supported");
  if (!normalize_axis(axis, x->ndim)) return c.fail("axis is out of range", status::bad_shape);
  if (x->ndim - 1 + at->ndim > COPPICE_MAX_RANK) return c.fail("the result has too many dimensions", status::bad_shape);
  for (int k = 0; k < x->ndim; ++k) {
    if (k < axis) outer *= x->shape[k];
    if (k > axis) inner *= x->shape[k];
    if (k != axis)
      dim[rank++] = x->shape[k];
    else
      for (int q = 0; q < at->ndim; ++q) dim[rank++] = at->shape[q];
  }
  const int64_t n = x->shape[axis];
  for (int64_t i = 0; i < index.count; ++i)
    if (index[i] < -n || index[i] >= n) return c.fail("an index is out of range", status::bad_shape);
  if (status s = allocate(c, 0, dim, rank); s != status::ok) return s;
  char *out = bytes_of(c.outputs[0]);
  const char *in = bytes_of(x);
  for (int64_t o = 0; o < outer; ++o, in += n * inner)
    for (int64_t i = 0; i < index.count; ++i, out += inner)
      memcpy(out, in + (index[i] < 0 ? index[i] + n : index[i]) * inner, size_t(inner));
  return status::ok;
}

} // namespace

COPPICE_VARIANT("onnx.Where", "any", where, "in *xi1, in *xany, in *xany, out *xany", versions{9}, in_place);
COPPICE_VARIANT("onnx.Gather", "any_i64", gather, "in *xany, in *xi64, out *xany, attr i64 axis=0", versions{1});
COPPICE_VARIANT("onnx.Gather", "any_i32", gather, "in *xany, in *xi32, out *xany, attr i64 axis=0", versions{1});

} // namespace coppice::onnx
