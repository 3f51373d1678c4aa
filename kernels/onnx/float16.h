// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IEEE binary16 and bfloat16: storage types whose arithmetic is done in float. Round to nearest even.
#pragma once
#include "coppice/tensor.h"
#include <string.h>

namespace coppice::onnx {

static inline uint32_t bits_of(float x) {
  uint32_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}
static inline float float_of(uint32_t b) {
  float x;
  memcpy(&x, &b, sizeof x);
  return x;
}

static inline float widen(f16 h) {
  uint32_t magnitude = h.bits & 0x7fffu, sign = (h.bits & 0x8000u) << 16;
  // The product moves the exponent's bias from 15 to 127 and normalizes subnormals; it is exact.
  uint32_t b = magnitude >= 0x7c00u ? magnitude << 13 | 0x7f800000u : bits_of(float_of(magnitude << 13) * 0x1p112f);
  return float_of(b | sign);
}
static inline float widen(bf16 h) { return float_of(uint32_t(h.bits) << 16); }

static inline void narrow(float x, f16 &h) {
  uint32_t b = bits_of(x), sign = b >> 16 & 0x8000u;
  b &= 0x7fffffffu;
  if (b > 0x7f800000u)
    b = 0x7e00u; // NaN
  else if (b >= 0x47800000u)
    b = 0x7c00u; // 2^16 and more
  else if (b < 0x38800000u)
    b = bits_of(float_of(b) + 0.5f) - 0x3f000000u; // below 2^-14: the sum rounds
  else
    b = (b + 0xfffu + (b >> 13 & 1) - 0x38000000u) >> 13; // may carry into infinity, rightly
  h.bits = uint16_t(b | sign);
}
static inline void narrow(float x, bf16 &h) {
  uint32_t b = bits_of(x);
  if ((b & 0x7fffffffu) > 0x7f800000u)
    b |= 0x400000u; // keep a NaN one
  else
    b += 0x7fffu + (b >> 16 & 1);
  h.bits = uint16_t(b >> 16);
}

/// double to float, rounded to odd: rounding the result again to 16 bits is then correct.
static inline float round_to_odd(double x) {
  float f = float(x);
  if (double(f) == x || x != x) return f;
  uint32_t b = bits_of(f);
  double magnitude = x < 0 ? -x : x, rounded = f < 0 ? -double(f) : double(f);
  if (rounded > magnitude) --b;
  return float_of(b | 1);
}

/// The type in which T is computed with, and the way there and back.
template <class T> struct computation {
  using type = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
template <class H> struct computation_in_float {
  using type = float;
  static float load(H x) { return widen(x); }
  static H store(float x) {
    H h;
    narrow(x, h);
    return h;
  }
};
template <> struct computation<f16> : computation_in_float<f16> {};
template <> struct computation<bf16> : computation_in_float<bf16> {};
template <class T> using computation_t = typename computation<T>::type;

} // namespace coppice::onnx
