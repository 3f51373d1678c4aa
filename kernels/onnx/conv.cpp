// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conv of f32 and f64 with any number of spatial dimensions, once per CPU level: a matrix product of the weights and
// the patches of the input; where a group has few filters, plane by plane.
#include "convolution.h"
#include "gemm.h"

namespace coppice::onnx {
namespace {

template <class T> status conv(call &c) {
  convolution s;
  if (status planned = plan_convolution(c, s); planned != status::ok) return planned;
  if (s.batch == 0 || s.filters == 0 || s.out_size == 0) return status::ok;
  const int64_t channels = s.channels / s.group, filters = s.filters / s.group, depth = channels * s.taps;
  // The tile of the product has 6 or 12 rows: with fewer filters in a group, most of it would be wasted.
  const bool plane_by_plane = s.group > 1 && filters <= 2;
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
