// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Add, Sub, Mul, Div.
#include "binary_row.h"
#include "dtypes.h"
#include <type_traits>

namespace coppice::onnx {
namespace {

/// Integers wrap around: they are computed with in an unsigned type that is not promoted to int.
template <class T>
using modular = std::conditional_t<std::is_integral_v<T>, std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>, T>;

struct sum {
  template <class T> static T apply(T a, T b) { return T(modular<T>(a) + modular<T>(b)); }
};
struct difference {
  template <class T> static T apply(T a, T b) { return T(modular<T>(a) - modular<T>(b)); }
};
struct product {
  template <class T> static T apply(T a, T b) { return T(modular<T>(a) * modular<T>(b)); }
};
struct quotient {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) { // two cases would trap: numpy gives these results
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == T(-1)) return T(0 - modular<T>(a));
      return T(a / b);
    } else {
      return a / b;
    }
  }
};

template <class T, class F> status binary(call &c) { return broadcast_call(c, 2, binary_row<T, T, F>); }
template <class T, class F> status binary_until6(call &c) { return broadcast_with_axis(c, binary_row<T, T, F>); }

} // namespace

#define BINARY(op, F, dtype, T)                                                                                        \
  COPPICE_VARIANT(op, dtype, (binary<T, F>), "in *x" dtype ", in *x" dtype ", out *x" dtype, versions{7}, in_place);
#define BINARY_UNTIL_6(op, F, dtype, T)                                                                                \
  COPPICE_VARIANT(op, dtype "_until6", (binary_until6<T, F>),                                                          \
                  "in *x" dtype ", in *x" dtype ", out *x" dtype COPPICE_ONNX_AXIS_ATTRIBUTES, versions{1, 6},         \
                  in_place);
#define BINARY_ALL(op, F)                                                                                              \
  COPPICE_ONNX_NUMBERS(BINARY, op, F)                                                                                  \
  COPPICE_ONNX_IEEE_FLOATS(BINARY_UNTIL_6, op, F)                                                                      \
  COPPICE_ONNX_WIDE_INTEGERS(BINARY_UNTIL_6, op, F)

BINARY_ALL("onnx.Add", sum)
BINARY_ALL("onnx.Sub", difference)
BINARY_ALL("onnx.Mul", product)
BINARY_ALL("onnx.Div", quotient)

} // namespace coppice::onnx
