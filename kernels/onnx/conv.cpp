// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conv of f32 and f64 with any number of spatial dimensions, once per CPU level: a matrix product of the weights and
// the patches of the input; where a group has few filters, plane by plane.
#include "convolution.h"
#include "gemm.h"

namespace coppice::onnx {
namespace {

constexpr int max_taps = 32;

/// One row of an output plane += one input plane * the taps of one filter. The taps that fall on the input in all outer
/// dimensions are collected first, so that the row is walked once for up to 32 of them.
template <class T> struct plane_row {
  T *to;
  int64_t width, stride;
  int taps;
  const T *from[max_taps]; // tap t reads from[t][x * stride] for output x in [valid[t].first, valid[t].last)
  T factor[max_taps];
  range valid[max_taps];

  void checked(int64_t x, int64_t end) {
    for (; x < end; ++x)
      for (int t = 0; t < taps; ++t)
        if (x >= valid[t].first && x < valid[t].last) to[x] += factor[t] * from[t][x * stride];
  }
  void unchecked(int64_t x, int64_t end) {
    for (; x < end; ++x) {
      T sum = to[x];
      for (int t = 0; t < taps; ++t) sum += factor[t] * from[t][x * stride];
      to[x] = sum;
    }
  }
  template <int Vectors> int64_t vectors(int64_t x, int64_t end) {
    for (; x + Vectors * lanes<T> <= end; x += Vectors * lanes<T>) {
      vector<T> sum[Vectors];
      COPPICE_ONNX_UNROLL
      for (int v = 0; v < Vectors; ++v) sum[v] = load(to + x + v * lanes<T>);
      for (int t = 0; t < taps; ++t) {
        vector<T> f = splat(factor[t]);
        COPPICE_ONNX_UNROLL
        for (int v = 0; v < Vectors; ++v) sum[v] += f * load(from[t] + x + v * lanes<T>);
      }
      COPPICE_ONNX_UNROLL
      for (int v = 0; v < Vectors; ++v) store(to + x + v * lanes<T>, sum[v]);
    }
    return x;
  }
  void run() {
    range all{0, width}; // where all taps are valid
    for (int t = 0; t < taps; ++t) {
      if (valid[t].first > all.first) all.first = valid[t].first;
      if (valid[t].last < all.last) all.last = valid[t].last;
    }
    if (all.first >= all.last) {
      checked(0, width);
    } else {
      checked(0, all.first);
      int64_t x = all.first;
      if (stride == 1) x = vectors<1>(vectors<4>(x, all.last), all.last);
      unchecked(x, all.last);
      checked(all.last, width);
    }
    taps = 0;
  }
};

/// The innermost dimension of the kernel is at most max_taps.
template <class T> void convolve_plane(const convolution &s, const T *image, const T *filter, T *out) {
  const int inner = s.spatial - 1;
  const int64_t width = s.out[inner], rows = s.out_size / width;
  int64_t offset[max_taps];
  range valid[max_taps];
  for (int64_t q = 0; q < s.kernel[inner]; ++q) {
    offset[q] = q * s.dilation[inner] - s.pad[inner];
    valid[q] = inside(offset[q], s.stride[inner], s.in[inner], width);
  }
  plane_row<T> row;
  row.width = width;
  row.stride = s.stride[inner];
  row.taps = 0;
  int64_t position[max_spatial] = {}; // the output row's, in the outer dimensions
  for (int64_t y = 0; y < rows; ++y) {
    row.to = out + y * width;
    int64_t tap[max_spatial] = {}; // the filter row's
    for (int64_t first = 0; first < s.taps; first += s.kernel[inner]) {
      int64_t at = 0;
      bool outside = false;
      for (int d = 0; d < inner; ++d) {
        int64_t i = position[d] * s.stride[d] + tap[d] * s.dilation[d] - s.pad[d];
        outside |= i < 0 || i >= s.in[d];
        at = at * s.in[d] + i;
      }
      for (int64_t q = 0; !outside && q < s.kernel[inner]; ++q) {
        if (row.taps == max_taps) row.run();
        row.from[row.taps] = image + at * s.in[inner] + offset[q];
        row.factor[row.taps] = filter[first + q];
        row.valid[row.taps++] = valid[q];
      }
      for (int d = inner - 1; d >= 0 && ++tap[d] == s.kernel[d]; --d) tap[d] = 0;
    }
    row.run();
    for (int d = inner - 1; d >= 0 && ++position[d] == s.out[d]; --d) position[d] = 0;
  }
}

template <class T> status conv(call &c) {
  convolution s;
  if (status planned = plan_convolution(c, s); planned != status::ok) return planned;
  if (s.batch == 0 || s.filters == 0 || s.out_size == 0) return status::ok;
  const int64_t channels = s.channels / s.group, filters = s.filters / s.group, depth = channels * s.taps;
  // The tile of the product has 6 or 12 rows: with fewer filters in a group, most of it would be wasted.
  const bool plane_by_plane = s.group > 1 && filters <= 2 && s.kernel[s.spatial - 1] <= max_taps;
  void *scratch = nullptr;
  if (!plane_by_plane) {
    scratch = c.scratch(&c, COPPICE_ONNX_LEVEL::gemm_scratch(filters, s.out_size, depth, sizeof(T)));
    if (!scratch) return status::out_of_memory;
  }
  const T *x = elements<const T>(c.inputs[0]), *w = elements<const T>(c.inputs[1]);
  const T *bias = c.n_inputs > 2 && c.inputs[2] ? elements<const T>(c.inputs[2]) : nullptr;
  T *out = elements<T>(c.outputs[0]);
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t g = 0; g < s.group; ++g, x += channels * s.in_size) {
      const T *weights = w + g * filters * depth;
      if (bias || plane_by_plane)
        for (int64_t f = 0; f < filters; ++f)
          for (int64_t i = 0; i < s.out_size; ++i) out[f * s.out_size + i] = bias ? bias[g * filters + f] : T(0);
      if (plane_by_plane) {
        for (int64_t f = 0; f < filters; ++f)
          for (int64_t ch = 0; ch < channels; ++ch)
            convolve_plane(s, x + ch * s.in_size, weights + (f * channels + ch) * s.taps, out + f * s.out_size);
      } else {
        patch_rows<T> rows = patches_of(s, x);
        COPPICE_ONNX_LEVEL::gemm(filters, s.out_size, depth, weights, depth, rows, out, s.out_size, bias != nullptr,
                                 scratch);
      }
      out += filters * s.out_size;
    }
  return status::ok;
}

} // namespace

#define CONV(dtype, T)                                                                                                 \
  COPPICE_VARIANT("onnx.Conv", dtype COPPICE_ONNX_LEVEL_SUFFIX, conv<T>,                                               \
                  "in *x" dtype ", in *x" dtype ", in? ?x" dtype ", out *x" dtype                                      \
                  ", attr string auto_pad=NOTSET, attr list i64 dilations=[], attr i64 group=1"                        \
                  ", attr list i64 kernel_shape=[], attr list i64 pads=[], attr list i64 strides=[]",                  \
                  versions{1})
CONV("f32", float);
CONV("f64", double);

} // namespace coppice::onnx
