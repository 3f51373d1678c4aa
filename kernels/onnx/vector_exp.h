// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// e^x of a vector of floats, within 1 ulp; infinity, 0 and NaN where they belong. For files of one CPU level.
// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2; e^r - 1 = r + r^2 q(r), q as in Cephes' expf.
#pragma once
#include "level.h"

namespace coppice::onnx {
namespace {

using V = vector<float>;
using I = vector_of<float>::bits;

static inline V as_float(I x) { return (V)x; }
static inline I as_bits(V x) { return (I)x; }
static inline I splat_bits(int32_t x) { return x - I{}; }
static inline V absolute(V x) { return as_float(as_bits(x) & splat_bits(INT32_MAX)); }
static inline V choose(I mask, V yes, V no) { return as_float((mask & as_bits(yes)) | (~mask & as_bits(no))); }

struct reduced {
  V minus_1; // e^r - 1
  I n;
};
static inline reduced reduce(V x) {
  // The sum's low mantissa bits are round(x / ln 2).
  const V magic = splat(12582912.0f); // 1.5 * 2^23
  V shifted = x * splat(1.44269504088896341f) + magic;
  V n = shifted - magic;
  V r = x - n * splat(0.693359375f) - n * splat(-2.12194440e-4f);
  V q = splat(1.9875691500e-4f);
  q = q * r + splat(1.3981999507e-3f);
  q = q * r + splat(8.3334519073e-3f);
  q = q * r + splat(4.1665795894e-2f);
  q = q * r + splat(1.6666665459e-1f);
  q = q * r + splat(5.0000001201e-1f);
  return {q * (r * r) + r, as_bits(shifted) - as_bits(magic)};
}
static inline V power_of_2(I n) { return as_float((n + splat_bits(127)) << 23); }

static inline V exponential(V x) {
  // Outside, the result is infinity or 0 all the same. A NaN compares false and stays.
  x = choose(x > splat(89.0f), splat(89.0f), x);
  x = choose(x < splat(-104.0f), splat(-104.0f), x);
  reduced e = reduce(x);
  I half = e.n >> 1; // two steps: the result may be subnormal
  return (e.minus_1 + splat(1.0f)) * power_of_2(half) * power_of_2(e.n - half);
}

} // namespace
} // namespace coppice::onnx
