// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The geometry of a convolution, and its input as the columns of a matrix. Compiled once; the kernels of all CPU levels
// use it.
#pragma once
#include "coppice/kernel.h"
#include "gemm_rows.h"

namespace coppice::onnx {

enum { max_spatial = COPPICE_MAX_RANK - 2 };

/// Output [batch, filters, out…] of input [batch, channels, in…] and weights [filters, channels / group, kernel…].
/// Spatial dimensions in which nothing happens are merged or left out; there is at least one.
struct convolution {
  int64_t batch, channels, filters, group;
  int spatial;
  int64_t in[max_spatial], out[max_spatial], kernel[max_spatial];
  int64_t stride[max_spatial], dilation[max_spatial], pad[max_spatial]; // pad: in front
  int64_t in_size, out_size, taps;                                      // products of in, out, kernel
  bool pointwise; // one tap, no stride, no pads: the input is the matrix as it is
};

static inline int64_t clamp(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }
/// b is positive.
static inline int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : -(-a / b); }

/// The output positions x for which 0 <= x * stride + offset < in: [first, last).
struct range {
  int64_t first, last;
};
static inline range inside(int64_t offset, int64_t stride, int64_t in, int64_t out) {
  int64_t first = clamp(ceil_div(-offset, stride), 0, out);
  return {first, clamp(ceil_div(in - offset, stride), first, out)};
}

/// Plans from X, W, B (inputs 0 to 2) and the attributes auto_pad, dilations, group, kernel_shape, pads, strides (0 to
/// 5), and allocates output 0.
status plan_convolution(call &c, convolution &s);

/// The matrix whose columns are the patches of the input under each output position: rows are (channel, tap), as the
/// weights are laid out.
template <class T> struct patch_rows : row_source<T> {
  const convolution *shape;
  const T *image; // the first channel of the group
};
template <class T> patch_rows<T> patches_of(const convolution &shape, const T *image);

} // namespace coppice::onnx
