// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GlobalMaxPool, GlobalAveragePool: a reduction over all dimensions but batch and channel.
#include "dtypes.h"
#include "reduction.h"

namespace coppice::onnx {
namespace {

struct fold_average {
  template <class A> static A initial() { return 0; }
  template <class A> static A map(A x) { return x; }
  template <class A> static A fold(A a, A b) { return a + b; }
  template <class A> static A finish(A a, int64_t n) { return a / A(n); }
};

status plan(call &c, reduction &r) {
  const DLTensor *x = c.inputs[0];
  if (x->ndim < 2) return c.fail("the input needs a batch and a channel dimension", status::bad_shape);
  bool fold[COPPICE_MAX_RANK];
  for (int k = 0; k < x->ndim; ++k) fold[k] = k >= 2;
  return plan_reduction(c, fold, true, r);
}
template <class T, class F> status global_pool(call &c) {
  reduction r;
  if (status s = plan(c, r); s != status::ok) return s;
  return reduce<T, F>(c, r);
}

} // namespace

#define GLOBAL_POOL(op, F, dtype, T)                                                                                   \
  COPPICE_VARIANT(op, dtype, (global_pool<T, F>), "in *x" dtype ", out *x" dtype, versions{1});
COPPICE_ONNX_FLOATS(GLOBAL_POOL, "onnx.GlobalMaxPool", fold_maximum)
COPPICE_ONNX_FLOATS(GLOBAL_POOL, "onnx.GlobalAveragePool", fold_average)

} // namespace coppice::onnx
