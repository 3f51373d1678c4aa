// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal, Greater, GreaterOrEqual, Less, LessOrEqual: two numbers make a bool.
#include "binary_row.h"
#include "dtypes.h"

namespace coppice::onnx {
namespace {

struct equal {
  template <class T> static uint8_t apply(T a, T b) { return a == b; }
  static uint8_t apply(boolean a, boolean b) { return !uint8_t(a) == !uint8_t(b); }
};
struct greater {
  template <class T> static uint8_t apply(T a, T b) { return a > b; }
};
struct greater_or_equal {
  template <class T> static uint8_t apply(T a, T b) { return a >= b; }
};
struct less {
  template <class T> static uint8_t apply(T a, T b) { return a < b; }
};
struct less_or_equal {
  template <class T> static uint8_t apply(T a, T b) { return a <= b; }
};

template <class T, class F> status compare(call &c) { return broadcast_call(c, 2, binary_row<T, uint8_t, F>); }
template <class T, class F> status compare_until6(call &c) { return broadcast_with_axis(c, binary_row<T, uint8_t, F>); }

} // namespace

// Never in place: the result's elements may be smaller than the operands', and a buffer of the same size in bytes would
// then be overwritten before it is read.
#define COMPARISON(op, F, since, dtype, T)                                                                             \
  COPPICE_VARIANT(op, dtype, (compare<T, F>), "in *x" dtype ", in *x" dtype ", out *xi1", versions{since});
#define COMPARISON_UNTIL_6(op, F, dtype, T)                                                                            \
  COPPICE_VARIANT(op, dtype "_until6", (compare_until6<T, F>),                                                         \
                  "in *x" dtype ", in *x" dtype ", out *xi1" COPPICE_ONNX_AXIS_ATTRIBUTES, versions{1, 6});

COPPICE_ONNX_NUMBERS(COMPARISON, "onnx.Equal", equal, 7)
COMPARISON("onnx.Equal", equal, 7, "i1", boolean)
COMPARISON_UNTIL_6("onnx.Equal", equal, "i32", int32_t)
COMPARISON_UNTIL_6("onnx.Equal", equal, "i64", int64_t)
COMPARISON_UNTIL_6("onnx.Equal", equal, "i1", boolean)

COPPICE_ONNX_NUMBERS(COMPARISON, "onnx.Greater", greater, 7)
COPPICE_ONNX_IEEE_FLOATS(COMPARISON_UNTIL_6, "onnx.Greater", greater)
COPPICE_ONNX_NUMBERS(COMPARISON, "onnx.Less", less, 7)
COPPICE_ONNX_IEEE_FLOATS(COMPARISON_UNTIL_6, "onnx.Less", less)
COPPICE_ONNX_NUMBERS(COMPARISON, "onnx.GreaterOrEqual", greater_or_equal, 12)
COPPICE_ONNX_NUMBERS(COMPARISON, "onnx.LessOrEqual", less_or_equal, 12)

} // namespace coppice::onnx
