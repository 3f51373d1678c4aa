// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceSumSquare, ReduceL1, ReduceL2.
#include "dtypes.h"
#include "indices.h"
#include "reduction.h"
#include <math.h>
#include <type_traits>

namespace coppice::onnx {
namespace {

struct plain { // the parts that most have
  template <class A> static A initial() { return 0; }
  template <class A> static A map(A x) { return x; }
  template <class A> static A finish(A a, int64_t) { return a; }
};
/// Integers wrap around.
template <class A>
using modular = std::conditional_t<std::is_integral_v<A>, std::make_unsigned<A>, std::common_type<A>>;
template <class A> A add(A a, A b) {
  using M = typename modular<A>::type;
  return A(M(a) + M(b));
}
template <class A> A multiply(A a, A b) {
  using M = typename modular<A>::type;
  return A(M(a) * M(b));
}

struct fold_sum : plain {
  template <class A> static A fold(A a, A b) { return add(a, b); }
};
struct fold_mean : fold_sum {
  template <class A> static A finish(A a, int64_t n) { return n ? A(a / A(n)) : A(0); }
};
struct fold_minimum : plain {
  template <class A> static A initial() {
    if constexpr (std::is_floating_point_v<A>)
      return A(__builtin_inf());
    else
      return A(~fold_maximum::initial<A>());
  }
  template <class A> static A fold(A a, A b) { return a < b || a != a ? a : b; }
};
struct fold_product : plain {
  template <class A> static A initial() { return 1; }
  template <class A> static A fold(A a, A b) { return multiply(a, b); }
};
struct fold_sum_of_squares : fold_sum {
  template <class A> static A map(A x) { return multiply(x, x); }
};
struct fold_l1 : fold_sum {
  template <class A> static A map(A x) {
    if constexpr (std::is_unsigned_v<A>)
      return x;
    else
      return x < 0 ? A(typename modular<A>::type(0) - typename modular<A>::type(x)) : x;
  }
};
struct fold_l2 : fold_sum_of_squares {
  template <class A> static A finish(A a, int64_t) { return A(sqrt(double(a))); }
};

/// No axes: all, or with `none_when_empty` none.
status set_axes(call &c, indices axes, bool none_when_empty, bool *fold) {
  const DLTensor *x = c.inputs[0];
  for (int k = 0; k < x->ndim; ++k) fold[k] = !axes.count && !none_when_empty;
  for (int64_t i = 0; i < axes.count; ++i) {
    int64_t axis = axes[i];
    if (!normalize_axis(axis, x->ndim)) return c.fail("an axis is out of range", status::bad_shape);
    fold[axis] = true;
  }
  return status::ok;
}
status plan(call &c, indices axes, bool none_when_empty, bool keep, reduction &r) {
  bool fold[COPPICE_MAX_RANK];
  if (status s = set_axes(c, axes, none_when_empty, fold); s != status::ok) return s;
  return plan_reduction(c, fold, keep, r);
}

template <class T, class F> status reduce_attribute(call &c) {
  reduction r;
  if (status s = plan(c, attribute_indices(c, 0), false, c.attributes[1].i != 0, r); s != status::ok) return s;
  return reduce<T, F>(c, r);
}
template <class T, class F> status reduce_input(call &c) {
  reduction r;
  if (status s = plan(c, input_indices(c, 1), c.attributes[1].i != 0, c.attributes[0].i != 0, r); s != status::ok)
    return s;
  return reduce<T, F>(c, r);
}

} // namespace

#define REDUCE(op, F, since, before, before_name, dtype, T)                                                            \
  COPPICE_VARIANT(op, dtype before_name, (reduce_attribute<T, F>),                                                     \
                  "in *x" dtype ", out *x" dtype ", attr list i64 axes=[], attr i64 keepdims=1", versions{1, before}); \
  COPPICE_VARIANT(op, dtype, (reduce_input<T, F>),                                                                     \
                  "in *x" dtype ", in? ?xi64, out *x" dtype ", attr i64 keepdims=1, attr i64 noop_with_empty_axes=0",  \
                  versions{since});
#define REDUCE_ALL(op, F, since, before, before_name)                                                                  \
  COPPICE_ONNX_FLOATS(REDUCE, op, F, since, before, before_name)                                                       \
  COPPICE_ONNX_WIDE_INTEGERS(REDUCE, op, F, since, before, before_name)

REDUCE_ALL("onnx.ReduceSum", fold_sum, 13, 12, "_until12")
REDUCE_ALL("onnx.ReduceMean", fold_mean, 18, 17, "_until17")
REDUCE_ALL("onnx.ReduceProd", fold_product, 18, 17, "_until17")
REDUCE_ALL("onnx.ReduceSumSquare", fold_sum_of_squares, 18, 17, "_until17")
REDUCE_ALL("onnx.ReduceL1", fold_l1, 18, 17, "_until17")
REDUCE_ALL("onnx.ReduceL2", fold_l2, 18, 17, "_until17")

REDUCE_ALL("onnx.ReduceMax", fold_maximum, 18, 17, "_until17")
REDUCE("onnx.ReduceMax", fold_maximum, 18, 17, "_until17", "i8", int8_t)
REDUCE("onnx.ReduceMax", fold_maximum, 18, 17, "_until17", "ui8", uint8_t)
REDUCE_ALL("onnx.ReduceMin", fold_minimum, 18, 17, "_until17")
REDUCE("onnx.ReduceMin", fold_minimum, 18, 17, "_until17", "i8", int8_t)
REDUCE("onnx.ReduceMin", fold_minimum, 18, 17, "_until17", "ui8", uint8_t)

// Of bools, since version 20: any, all.
COPPICE_VARIANT("onnx.ReduceMax", "i1", (reduce_input<uint8_t, fold_maximum>),
                "in *xi1, in? ?xi64, out *xi1, attr i64 keepdims=1, attr i64 noop_with_empty_axes=0", versions{20});
COPPICE_VARIANT("onnx.ReduceMin", "i1", (reduce_input<uint8_t, fold_minimum>),
                "in *xi1, in? ?xi64, out *xi1, attr i64 keepdims=1, attr i64 noop_with_empty_axes=0", versions{20});

} // namespace coppice::onnx
