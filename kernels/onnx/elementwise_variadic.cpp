// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Max, Min, Sum: any number of operands, folded two at a time into the output.
#include "binary_row.h"
#include "dtypes.h"
#include <type_traits>

namespace coppice::onnx {
namespace {

// A NaN on either side is the result, as in numpy.maximum.
struct maximum {
  template <class T> static T apply(T a, T b) { return a > b || a != a ? a : b; }
};
struct minimum {
  template <class T> static T apply(T a, T b) { return a < b || a != a ? a : b; }
};
struct sum {
  template <class T> static T apply(T a, T b) { return a + b; }
};

status fold(call &c, row_function row) {
  // The shape of all operands together; only two at a time are needed as operands of a loop.
  int64_t dim[COPPICE_MAX_RANK];
  int rank = 0;
  for (uint32_t i = 0; i < c.n_inputs; ++i) {
    int64_t before[COPPICE_MAX_RANK];
    memcpy(before, dim, sizeof before);
    shape_view both[] = {{before, rank}, shape_of(c.inputs[i])};
    if (!broadcast_shapes(both, 2, dim, rank))
      return c.fail("the shapes of the operands do not broadcast", status::bad_shape);
  }
  if (!c.n_inputs) return c.fail("needs at least one operand", status::bad_shape);
  if (status s = allocate(c, 0, dim, rank); s != status::ok) return s;

  char *out = bytes_of(c.outputs[0]);
  int64_t size[] = {element_bytes(c.outputs[0]), element_bytes(c.outputs[0])};
  // In place: the operand under the output must be the first to be read.
  uint32_t first = 0;
  for (uint32_t i = 0; i < c.n_inputs; ++i)
    if (bytes_of(c.inputs[i]) == out) first = i;
  if (c.n_inputs == 1) {
    if (bytes_of(c.inputs[0]) != out) memcpy(out, bytes_of(c.inputs[0]), size_t(count_of(c.inputs[0]) * size[0]));
    return status::ok;
  }
  bool started = false;
  for (uint32_t i = 0; i < c.n_inputs; ++i) {
    if (i == first) continue;
    shape_view so_far = started ? shape_view{dim, rank} : shape_of(c.inputs[first]);
    shape_view shapes[] = {so_far, shape_of(c.inputs[i])};
    const char *data[] = {started ? out : bytes_of(c.inputs[first]), bytes_of(c.inputs[i])};
    for_each_row(broadcast_loops(dim, rank, shapes, 2), data, size, 2, out, size[0], row);
    started = true;
  }
  return status::ok;
}

template <class T, class F> status variadic(call &c) { return fold(c, binary_row<T, T, F>); }

} // namespace

// Before opset 8 all shapes must be equal, which is what broadcasting does with equal shapes. Sum is not in place: an
// operand that is given twice would be overwritten before it is read for the second time.
#define VARIADIC(op, F, dtype, T)                                                                                      \
  COPPICE_VARIANT(op, dtype, (variadic<T, F>), "in... *x" dtype ", out *x" dtype ", attr list i64 consumed_inputs=[]", \
                  versions{1}, in_place);
#define VARIADIC_SUM(op, F, dtype, T)                                                                                  \
  COPPICE_VARIANT(op, dtype, (variadic<T, F>), "in... *x" dtype ", out *x" dtype ", attr list i64 consumed_inputs=[]", \
                  versions{1});

COPPICE_ONNX_NUMBERS(VARIADIC, "onnx.Max", maximum)
COPPICE_ONNX_NUMBERS(VARIADIC, "onnx.Min", minimum)
COPPICE_ONNX_FLOATS(VARIADIC_SUM, "onnx.Sum", sum)

} // namespace coppice::onnx
