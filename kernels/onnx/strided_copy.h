// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <stdint.h>

namespace coppice::onnx {
/// out, dense and row-major of shape dim[0..rank), takes its elements from `in`: steps are in elements, may be negative
/// or 0, and `in` points to the first element taken. The memory must not overlap. Transpose, Slice, Expand and others
/// are this.
void strided_copy(const char *in, char *out, int rank, const int64_t *dim, const int64_t *step, int64_t element_bytes);
} // namespace coppice::onnx
