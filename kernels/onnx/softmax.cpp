// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax of f32, once per CPU level: e^(x - max) / sum. Vectors that do not lie in one piece are walked side by side.
#include "softmax_shape.h"
#include "vector_exp.h"

namespace coppice::onnx {
namespace {

void exponentials(float *z, int64_t n) {
  int64_t i = 0;
  for (; i + lanes<float> <= n; i += lanes<float>) store(z + i, exponential(load(z + i)));
  if (i == n) return;
  float rest[lanes<float>] = {};
  memcpy(rest, z + i, size_t(n - i) * sizeof *z);
  store(rest, exponential(load(rest)));
  memcpy(z + i, rest, size_t(n - i) * sizeof *z);
}

void one(const float *x, float *z, int64_t n) {
  float largest = x[0], sum = 0;
  for (int64_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] - largest;
  exponentials(z, n);
  for (int64_t i = 0; i < n; ++i) sum += z[i];
  float factor = 1 / sum;
  for (int64_t i = 0; i < n; ++i) z[i] *= factor;
}

/// `inner` vectors at once, whose elements lie `inner` apart; `row` has room for that many numbers.
void side_by_side(const float *x, float *z, int64_t n, int64_t inner, float *row) {
  memcpy(row, x, size_t(inner) * sizeof *row);
  for (int64_t k = 1; k < n; ++k)
    for (int64_t i = 0; i < inner; ++i) row[i] = x[k * inner + i] > row[i] ? x[k * inner + i] : row[i];
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < inner; ++i) z[k * inner + i] = x[k * inner + i] - row[i];
  exponentials(z, n * inner);
  memset(row, 0, size_t(inner) * sizeof *row);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < inner; ++i) row[i] += z[k * inner + i];
  for (int64_t i = 0; i < inner; ++i) row[i] = 1 / row[i];
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < inner; ++i) z[k * inner + i] *= row[i];
}

status softmax(call &c, bool flatten) {
  softmax_shape s;
  if (status planned = plan_softmax(c, flatten, s); planned != status::ok) return planned;
  if (s.outer == 0 || s.n == 0 || s.inner == 0) return status::ok;
  float *row = nullptr;
  if (s.inner > 1) {
    row = static_cast<float *>(c.scratch(&c, uint64_t(s.inner) * sizeof *row));
    if (!row) return status::out_of_memory;
  }
  const DLTensor *in = c.inputs[0], *out = c.outputs[0];
  auto *x = reinterpret_cast<const float *>(static_cast<const char *>(in->data) + in->byte_offset);
  auto *z = reinterpret_cast<float *>(static_cast<char *>(out->data) + out->byte_offset);
  for (int64_t o = 0; o < s.outer; ++o, x += s.n * s.inner, z += s.n * s.inner)
    if (s.inner == 1)
      one(x, z, s.n);
    else
      side_by_side(x, z, s.n, s.inner, row);
  return status::ok;
}
status softmax_axis(call &c) { return softmax(c, false); }
status softmax_flat(call &c) { return softmax(c, true); }

} // namespace

COPPICE_VARIANT("onnx.Softmax", "f32_until12" COPPICE_ONNX_LEVEL_SUFFIX, softmax_flat,
                "in *xf32, out *xf32, attr i64 axis=1", versions{1, 12}, in_place);
COPPICE_VARIANT("onnx.Softmax", "f32" COPPICE_ONNX_LEVEL_SUFFIX, softmax_axis, "in *xf32, out *xf32, attr i64 axis=-1",
                versions{13}, in_place);

} // namespace coppice::onnx
