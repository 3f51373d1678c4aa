// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution.h"
#include "indices.h"

namespace coppice::onnx {
namespace {

bool is(const coppice_attribute &a, const char *name) {
  return a.list.count == strlen(name) && !memcmp(a.list.data, name, a.list.count);
}

/// Drops dimensions of 1 with 1 tap; with one tap a position in all of them, makes one dimension of all.
void simplify(convolution &s) {
  int n = 0;
  bool pointwise = true;
  for (int k = 0; k < s.spatial; ++k) {
    if (s.kernel[k] == 1 && s.in[k] == 1 && s.out[k] == 1 && s.pad[k] == 0) continue;
    pointwise &= s.kernel[k] == 1 && s.stride[k] == 1 && s.pad[k] == 0 && s.in[k] == s.out[k];
    s.in[n] = s.in[k];
    s.out[n] = s.out[k];
    s.kernel[n] = s.kernel[k];
    s.stride[n] = s.stride[k];
    s.dilation[n] = s.dilation[k];
    s.pad[n++] = s.pad[k];
  }
  s.pointwise = pointwise;
  if (pointwise) {
    n = 1;
    s.in[0] = s.in_size;
    s.out[0] = s.out_size;
    s.kernel[0] = s.stride[0] = s.dilation[0] = 1;
    s.pad[0] = 0;
  }
  s.spatial = n;
}

template <class T> const T *patch_row(const row_source<T> *source, int64_t k, int64_t j, int64_t n, T *buffer) {
  auto *self = static_cast<const patch_rows<T> *>(source);
  const convolution &s = *self->shape;
  const int inner = s.spatial - 1;
  const T *image = self->image + k / s.taps * s.in_size;
  if (s.pointwise) return image + j;
  // Where the tap looks, relative to the output position times the stride.
  int64_t offset[max_spatial] = {}, tap = k % s.taps;
  for (int d = inner; d >= 0; --d) {
    offset[d] = tap % s.kernel[d] * s.dilation[d] - s.pad[d];
    tap /= s.kernel[d];
  }
  const int64_t width = s.out[inner], stride = s.stride[inner];
  const range valid = inside(offset[inner], stride, s.in[inner], width);
  if (inner == 0 && stride == 1 && valid.first <= j && j + n <= valid.last) return image + j + offset[0];

  int64_t row = j / width, x = j % width; // the output row in which the piece begins
  for (T *to = buffer, *stop = buffer + n; to < stop; ++row, x = 0) {
    int64_t length = width - x < stop - to ? width - x : stop - to;
    // The input row that this output row reads here, if any.
    int64_t at = 0, size = s.in[inner], rest = row;
    bool outside = false;
    for (int d = inner - 1; d >= 0; --d) {
      int64_t i = rest % s.out[d] * s.stride[d] + offset[d];
      outside |= i < 0 || i >= s.in[d];
      at += i * size;
      size *= s.in[d];
      rest /= s.out[d];
    }
    const int64_t end = x + length;
    int64_t first = clamp(outside ? end : valid.first, x, end), last = clamp(valid.last, first, end);
    const T *from = image + at + offset[inner];
    for (int64_t i = x; i < first; ++i) *to++ = 0;
    if (stride == 1) {
      memcpy(to, from + first, size_t(last - first) * sizeof(T));
      to += last - first;
    } else {
      for (int64_t i = first; i < last; ++i) *to++ = from[i * stride];
    }
    for (int64_t i = last; i < end; ++i) *to++ = 0;
  }
  return buffer;
}

} // namespace

status plan_convolution(call &c, convolution &s) {
  const DLTensor *x = c.inputs[0], *w = c.inputs[1], *bias = optional_input(c, 2);
  indices dilations = attribute_indices(c, 1), kernel_shape = attribute_indices(c, 3), pads = attribute_indices(c, 4),
          strides = attribute_indices(c, 5);
  const coppice_attribute &auto_pad = c.attributes[0];
  if (x->ndim < 3 || w->ndim != x->ndim)
    return c.fail("input and weights need the same rank, at least 3", status::bad_shape);
  s.spatial = x->ndim - 2;
  s.batch = x->shape[0];
  s.channels = x->shape[1];
  s.filters = w->shape[0];
  s.group = c.attributes[2].i;
  if (s.group < 1 || s.filters % s.group || s.channels % s.group || w->shape[1] != s.channels / s.group)
    return c.fail("group does not divide the channels as the weights say", status::bad_shape);
  if (bias && (bias->ndim != 1 || bias->shape[0] != s.filters))
    return c.fail("the bias is not one number for each filter", status::bad_shape);
  auto fits = [&](const indices &list, int64_t n) { return !list.count || list.count == n; };
  if (!fits(dilations, s.spatial) || !fits(kernel_shape, s.spatial) || !fits(strides, s.spatial) ||
      !fits(pads, 2 * s.spatial))
    return c.fail("dilations, kernel_shape, pads or strides are not of the input's rank", status::bad_shape);
  bool upper = is(auto_pad, "SAME_UPPER"), lower = is(auto_pad, "SAME_LOWER"), explicit_pads = is(auto_pad, "NOTSET");
  if (!upper && !lower && !explicit_pads && !is(auto_pad, "VALID")) return c.fail("auto_pad has no such value");

  int64_t dim[COPPICE_MAX_RANK] = {s.batch, s.filters};
  s.in_size = s.out_size = s.taps = 1;
  // No size may come near overflow, whatever a graph says.
  constexpr int64_t limit = int64_t(1) << 40;
  for (int k = 0; k < s.spatial; ++k) {
    int64_t in = s.in[k] = x->shape[k + 2], kernel = s.kernel[k] = w->shape[k + 2];
    int64_t stride = s.stride[k] = strides.count ? strides[k] : 1;
    int64_t dilation = s.dilation[k] = dilations.count ? dilations[k] : 1;
    int64_t before = 0, after = 0;
    if (kernel_shape.count && kernel_shape[k] != kernel)
      return c.fail("kernel_shape is not that of the weights", status::bad_shape);
    if (stride < 1 || dilation < 1 || kernel < 1 || stride > limit || dilation > limit || kernel > limit ||
        in > limit || dilation * double(kernel) > double(limit))
      return c.fail("a stride, dilation or kernel dimension is out of range", status::bad_shape);
    int64_t reach = dilation * (kernel - 1) + 1;
    if (explicit_pads && pads.count) {
      before = pads[k];
      after = pads[k + s.spatial];
      if (before < 0 || after < 0 || before > limit || after > limit)
        return c.fail("a pad is out of range", status::bad_shape);
    } else if (upper || lower) {
      int64_t needed = (ceil_div(in, stride) - 1) * stride + reach - in;
      if (needed < 0) needed = 0;
      before = upper ? needed / 2 : needed - needed / 2;
      after = needed - before;
    }
    int64_t room = in + before + after - reach;
    if (room < 0) return c.fail("the kernel is larger than the padded input", status::bad_shape);
    s.pad[k] = before;
    dim[k + 2] = s.out[k] = room / stride + 1;
    s.in_size *= in;
    s.taps *= kernel;
  }
  if (status allocated = allocate(c, 0, dim, x->ndim); allocated != status::ok) return allocated;
  for (int k = 0; k < s.spatial; ++k) s.out_size *= s.out[k];
  simplify(s);
  return status::ok;
}

template <class T> patch_rows<T> patches_of(const convolution &shape, const T *image) {
  patch_rows<T> rows;
  rows.row = patch_row<T>;
  rows.shape = &shape;
  rows.image = image;
  return rows;
}

template patch_rows<float> patches_of(const convolution &, const float *);
template patch_rows<double> patches_of(const convolution &, const double *);

} // namespace coppice::onnx
