// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of integers that ops take as an attribute in one version and as a tensor in a later one.
#pragma once
#include "operands.h"

namespace coppice::onnx {

struct indices {
  const void *data;
  int64_t count;
  bool wide; // int64_t, else int32_t
  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t *>(data)[i] : static_cast<const int32_t *>(data)[i];
  }
};
/// Of an attribute `list i64`.
static inline indices attribute_indices(const call &c, uint32_t i) {
  return {c.attributes[i].list.data, int64_t(c.attributes[i].list.count), true};
}
/// Of an i32 or i64 tensor of any shape; none where the input is absent.
static inline indices input_indices(const call &c, uint32_t i) {
  const DLTensor *t = optional_input(c, i);
  if (!t) return {nullptr, 0, true};
  return {bytes_of(t), count_of(t), t->dtype.bits == 64};
}

} // namespace coppice::onnx
