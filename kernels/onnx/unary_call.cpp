// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "unary_call.h"
#include "operands.h"

namespace coppice::onnx {
status unary_call(call &c, unary_function f) {
  const DLTensor *x = c.inputs[0];
  if (status s = allocate(c, 0, x->shape, x->ndim); s != status::ok) return s;
  f(bytes_of(x), bytes_of(c.outputs[0]), count_of(x));
  return status::ok;
}
} // namespace coppice::onnx
