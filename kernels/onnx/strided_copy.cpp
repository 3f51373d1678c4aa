// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dimensions are merged as far as possible. Then the innermost is walked by memcpy where the source is dense too, in
// square tiles where another dimension is the dense one of the source (a transposition), else element by element.
#include "strided_copy.h"
#include "coppice/kernel.h"
#include <string.h>

namespace coppice::onnx {
namespace {

struct plane { // the two innermost loops: rows of the output, and the elements of a row
  int64_t rows, row_step, row_out;
  int64_t n, step;
};

template <int Bytes> void copy_tiles(const char *in, char *out, const plane &p) {
  constexpr int64_t tile = 16;
  for (int64_t r0 = 0; r0 < p.rows; r0 += tile)
    for (int64_t i0 = 0; i0 < p.n; i0 += tile) {
      int64_t r1 = r0 + tile < p.rows ? r0 + tile : p.rows, i1 = i0 + tile < p.n ? i0 + tile : p.n;
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t i = i0; i < i1; ++i)
          memcpy(out + (r * p.row_out + i) * Bytes, in + (r * p.row_step + i * p.step) * Bytes, Bytes);
    }
}
void copy_elements(const char *in, char *out, const plane &p, int64_t bytes) {
  for (int64_t r = 0; r < p.rows; ++r)
    for (int64_t i = 0; i < p.n; ++i)
      memcpy(out + (r * p.row_out + i) * bytes, in + (r * p.row_step + i * p.step) * bytes, size_t(bytes));
}
void copy_plane(const char *in, char *out, const plane &p, int64_t bytes) {
  if (p.step == 1) {
    for (int64_t r = 0; r < p.rows; ++r)
      memcpy(out + r * p.row_out * bytes, in + r * p.row_step * bytes, size_t(p.n * bytes));
    return;
  }
  switch (bytes) {
  case 1:
    return copy_tiles<1>(in, out, p);
  case 2:
    return copy_tiles<2>(in, out, p);
  case 4:
    return copy_tiles<4>(in, out, p);
  case 8:
    return copy_tiles<8>(in, out, p);
  default:
    return copy_elements(in, out, p, bytes);
  }
}

} // namespace

void strided_copy(const char *in, char *out, int rank, const int64_t *dim, const int64_t *step, int64_t element_bytes) {
  struct loop {
    int64_t n, step, out_step;
  } loops[COPPICE_MAX_RANK];
  int count = 0;
  for (int k = 0; k < rank; ++k) {
    if (dim[k] == 0) return;
    if (dim[k] == 1) continue;
    if (count && loops[count - 1].step == step[k] * dim[k])
      loops[count - 1] = {loops[count - 1].n * dim[k], step[k], 0};
    else
      loops[count++] = {dim[k], step[k], 0};
  }
  int64_t dense = 1;
  for (int k = count - 1; k >= 0; --k) {
    loops[k].out_step = dense;
    dense *= loops[k].n;
  }
  plane p{1, 0, 0, 1, 1};
  if (count) {
    loop inner = loops[--count];
    p.n = inner.n;
    p.step = inner.step;
  }
  if (count) { // the rows: the source's dense dimension if it is another, else the next
    int rows = count - 1;
    for (int k = 0; p.step != 1 && k < count; ++k)
      if (loops[k].step == 1) rows = k;
    p.rows = loops[rows].n;
    p.row_step = loops[rows].step;
    p.row_out = loops[rows].out_step;
    for (int k = rows; k + 1 < count; ++k) loops[k] = loops[k + 1];
    --count;
  }
  int64_t index[COPPICE_MAX_RANK] = {};
  for (;;) {
    copy_plane(in, out, p, element_bytes);
    int k = count - 1;
    for (; k >= 0; --k) {
      in += loops[k].step * element_bytes;
      out += loops[k].out_step * element_bytes;
      if (++index[k] < loops[k].n) break;
      in -= loops[k].step * loops[k].n * element_bytes;
      out -= loops[k].out_step * loops[k].n * element_bytes;
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

} // namespace coppice::onnx
