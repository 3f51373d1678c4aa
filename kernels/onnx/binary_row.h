// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inner loop of ops with two operands: F::apply(a, b), where an operand may stay for the whole row.
#pragma once
#include "broadcast.h"
#include "float16.h"

namespace coppice::onnx {

template <class T, class R, class F>
static void binary_row(const char *const *data, char *out, int64_t n, unsigned moves) {
  using C = computation<T>;
  using S = computation<R>;
  auto *a = reinterpret_cast<const T *>(data[0]), *b = reinterpret_cast<const T *>(data[1]);
  auto *z = reinterpret_cast<R *>(out);
  if (moves == 3) {
    COPPICE_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = S::store(F::apply(C::load(a[i]), C::load(b[i])));
  } else if (moves == 2) {
    auto x = C::load(*a);
    COPPICE_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = S::store(F::apply(x, C::load(b[i])));
  } else { // neither moves only where n is 1
    auto y = C::load(*b);
    COPPICE_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) z[i] = S::store(F::apply(C::load(a[i]), y));
  }
}

/// Before opset 7 the second operand may be broadcast only when asked to (attribute 1), and it is aligned at an axis of
/// the first (attribute 0; -1: at the end).
status broadcast_with_axis(call &c, row_function row);
/// Names those attributes; consumed_inputs is a hint of version 1 that has no meaning for us.
#define COPPICE_ONNX_AXIS_ATTRIBUTES ", attr i64 axis=-1, attr i64 broadcast=0, attr list i64 consumed_inputs=[]"

} // namespace coppice::onnx
