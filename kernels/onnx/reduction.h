// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Folding a tensor over some of its axes. The order is fixed, because networks were trained and are compared with it
// (docs/onnx-kernels.md): over an axis that is not innermost, element by element in index order; over the innermost,
// in 16 interleaved partial results that are then folded in halves.
#pragma once
#include "float16.h"
#include "operands.h"
#include <type_traits>

namespace coppice::onnx {

/// Loops over the input, outermost first, neighbours merged: each is either kept (it walks the output) or folded (its
/// out_step is 0). Rank is at least 1.
struct reduction {
  int rank;
  int64_t dim[COPPICE_MAX_RANK], out_step[COPPICE_MAX_RANK];
  int64_t out_count;
  int64_t folded; // elements that make one of the output
  bool empty;     // no elements: the output is all initial values
};

/// Plans the reduction of input 0 over the axes for which `fold` is set, and allocates output 0; folded dimensions stay
/// as 1 with `keep`.
status plan_reduction(call &c, const bool *fold, bool keep, reduction &r);

template <class A, class T, class F> static A fold_dense(const T *x, int64_t n) {
  using C = computation<T>;
  A result = F::template initial<A>();
  int64_t i = 0;
  if (n >= 32) {
    A part[16];
    for (int j = 0; j < 16; ++j) part[j] = F::template initial<A>();
    for (; i + 16 <= n; i += 16)
      for (int j = 0; j < 16; ++j) part[j] = F::fold(part[j], F::map(A(C::load(x[i + j]))));
    for (int w = 8; w; w /= 2)
      for (int j = 0; j < w; ++j) part[j] = F::fold(part[j], part[j + w]);
    result = part[0];
  }
  for (; i < n; ++i) result = F::fold(result, F::map(A(C::load(x[i]))));
  return result;
}

/// F has: A initial<A>(); A map(A), of each element; A fold(A, A); A finish(A, int64_t folded). A is the type of sums.
template <class T, class F> static status reduce(call &c, const reduction &r) {
  using C = computation<T>;
  using A = typename C::type;
  T *out = data_of<T>(c.outputs[0]);
  A *sums;
  if constexpr (sizeof(A) == sizeof(T))
    sums = out;
  else
    sums = static_cast<A *>(c.scratch(&c, uint64_t(r.out_count) * sizeof(A)));
  if (!r.out_count) return status::ok;
  if (!sums) return status::out_of_memory;
  for (int64_t i = 0; i < r.out_count; ++i) sums[i] = F::template initial<A>();
  if (!r.empty) {
    const T *x = data_of<const T>(c.inputs[0]);
    A *z = sums;
    int inner = r.rank - 1;
    int64_t n = r.dim[inner], index[COPPICE_MAX_RANK] = {};
    for (;;) {
      if (r.out_step[inner]) {
        const T *__restrict from = x;
        A *__restrict to = z;
        for (int64_t i = 0; i < n; ++i) to[i] = F::fold(to[i], F::map(A(C::load(from[i]))));
      } else {
        *z = F::fold(*z, fold_dense<A, T, F>(x, n));
      }
      x += n;
      int k = inner - 1;
      for (; k >= 0; --k) {
        z += r.out_step[k];
        if (++index[k] < r.dim[k]) break;
        z -= r.out_step[k] * r.dim[k];
        index[k] = 0;
      }
      if (k < 0) break;
    }
  }
  for (int64_t i = 0; i < r.out_count; ++i) out[i] = C::store(F::finish(sums[i], r.folded));
  return status::ok;
}

/// The largest; a NaN among the elements is the result.
struct fold_maximum {
  template <class A> static A initial() {
    if constexpr (std::is_floating_point_v<A>)
      return A(-__builtin_inf());
    else if constexpr (std::is_unsigned_v<A>)
      return 0;
    else
      return A(A(1) << (sizeof(A) * 8 - 1));
  }
  template <class A> static A map(A x) { return x; }
  template <class A> static A fold(A a, A b) { return a > b || a != a ? a : b; }
  template <class A> static A finish(A a, int64_t) { return a; }
};

} // namespace coppice::onnx
