// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cast between all types of at least a byte: one kernel for each pair, chosen by the attribute `to`
// (TensorProto.DataType in onnx.proto). Where ONNX leaves a result open (a float that the integer type cannot hold) it
// is what x86 compilers make of a C cast, as in ONNX Runtime: the lowest integer, then cut to the width of the type.
#include "dtypes.h"
#include "float16.h"
#include "operands.h"
#include "unary_call.h"
#include <type_traits>

namespace coppice::onnx {
namespace {

template <class I, class F> I truncate(F x) {
  constexpr F limit = F(uint64_t(1) << (sizeof(I) * 8 - 1));
  bool fits = x >= -limit && x < limit;
  I i = I(fits ? x : F(0));
  return fits ? i : I(uint64_t(1) << (sizeof(I) * 8 - 1));
}

template <class To, class From> To convert(From x) {
  constexpr bool from_half = std::is_same_v<From, f16> || std::is_same_v<From, bf16>;
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (from_half) {
    return convert<To>(widen(x));
  } else if constexpr (std::is_same_v<From, boolean>) {
    return uint8_t(x) ? convert<To>(uint8_t(1)) : convert<To>(uint8_t(0)); // GCC vectorizes it in this form
  } else if constexpr (std::is_same_v<To, boolean>) {
    return boolean(x != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    To h;
    if constexpr (std::is_same_v<From, float> || sizeof(From) < 4)
      narrow(float(x), h);
    else
      narrow(round_to_odd(double(x)), h);
    return h;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      constexpr From top = From(0x1p63);
      return x >= top ? uint64_t(truncate<int64_t>(From(x - top))) ^ uint64_t(1) << 63 : uint64_t(truncate<int64_t>(x));
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
      return To(truncate<int64_t>(x));
    } else {
      return To(truncate<int32_t>(x));
    }
  } else {
    return To(x);
  }
}

template <class To, class From> void convert_all(const char *in, char *out, int64_t n) {
  auto *x = reinterpret_cast<const From *>(in);
  auto *z = reinterpret_cast<To *>(out);
  COPPICE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) z[i] = convert<To>(x[i]);
}
template <class To, class From> status cast(call &c) { return unary_call(c, convert_all<To, From>); }

} // namespace

// `saturate` and `round_mode` concern the 8-bit floats only.
#define CAST(to, to_dtype, To, from_dtype, From)                                                                       \
  COPPICE_VARIANT("onnx.Cast", from_dtype "_" to_dtype, (cast<To, From>),                                              \
                  "in *x" from_dtype ", out *x" to_dtype ", attr i64 to==" to                                          \
                  ", attr i64 saturate=1, attr string round_mode=up",                                                  \
                  versions{6}, in_place);
#define CAST_TO(to, to_dtype, To)                                                                                      \
  COPPICE_ONNX_NUMBERS(CAST, to, to_dtype, To)                                                                         \
  CAST(to, to_dtype, To, "i1", boolean)

CAST_TO("1", "f32", float)
CAST_TO("2", "ui8", uint8_t)
CAST_TO("3", "i8", int8_t)
CAST_TO("4", "ui16", uint16_t)
CAST_TO("5", "i16", int16_t)
CAST_TO("6", "i32", int32_t)
CAST_TO("7", "i64", int64_t)
CAST_TO("9", "i1", boolean)
CAST_TO("10", "f16", f16)
CAST_TO("11", "f64", double)
CAST_TO("12", "ui32", uint32_t)
CAST_TO("13", "ui64", uint64_t)
CAST_TO("16", "bf16", bf16)

} // namespace coppice::onnx
