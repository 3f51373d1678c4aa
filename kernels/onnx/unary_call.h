// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "coppice/kernel.h"

namespace coppice::onnx {
/// `f(in, out, n)` computes n elements; `out` may be `in`.
using unary_function = void (*)(const char *in, char *out, int64_t n);

/// The whole of an op that maps each element of input 0 to one of output 0.
status unary_call(call &c, unary_function f);
} // namespace coppice::onnx
