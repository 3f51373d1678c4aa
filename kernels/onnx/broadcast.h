// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy broadcasting: shapes are aligned at their last dimension, and a dimension of 1 repeats. Done once for all ops:
// the result's shape, then rows in which each operand either advances by one element or stays.
#pragma once
#include "operands.h"

namespace coppice::onnx {

enum { max_operands = 3 };

struct shape_view {
  const int64_t *dim;
  int rank;
};
static inline shape_view shape_of(const DLTensor *t) { return {t->shape, t->ndim}; }

/// The shape that `shapes` broadcast to, up to COPPICE_MAX_RANK dimensions. False: they do not.
bool broadcast_shapes(const shape_view *shapes, int n, int64_t *dim, int &rank);

/// Loops over a result, outermost first, as few as possible: neighbours that all operands walk alike are one loop.
/// Steps are in elements. Rank is at least 1; the innermost steps of operands that broadcast are 0 or 1.
struct loop_nest {
  int rank;
  int64_t dim[COPPICE_MAX_RANK];
  int64_t step[max_operands][COPPICE_MAX_RANK];
};
loop_nest broadcast_loops(const int64_t *dim, int rank, const shape_view *shapes, int n);

/// `row(data, out, n, moves)` computes n elements: operand i is data[i][0..n) where bit i of `moves` is set, else
/// data[i][0]; n is 1 where none moves.
using row_function = void (*)(const char *const *data, char *out, int64_t n, unsigned moves);

/// out = f(inputs) over their broadcast shape; `in_bytes`, `out_bytes`: sizes of an element. Inputs that lie exactly in
/// the output's buffer have its shape, so writing over them row by row is safe.
void for_each_row(const loop_nest &loops, const char *const *data, const int64_t *in_bytes, int n, char *out,
                  int64_t out_bytes, row_function row);

/// The whole of an elementwise op with n operands, inputs 0 to n - 1 of the call: shape, output 0, rows. With `shapes`,
/// the inputs are looked at in these shapes instead of their own.
status broadcast_call(call &c, int n, row_function row, const shape_view *shapes = nullptr);

} // namespace coppice::onnx
