// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What Softmax normalizes: vectors of `n` elements, `inner` apart, in `outer` blocks. Compiled once; the kernels of all
// CPU levels use it.
#pragma once
#include "coppice/kernel.h"

namespace coppice::onnx {

struct softmax_shape {
  int64_t outer, n, inner;
};
/// Attribute 0 is the axis. Before opset 13 (`flatten`), all dimensions from the axis on are one. Allocates output 0.
status plan_softmax(call &c, bool flatten, softmax_shape &s);

} // namespace coppice::onnx
