// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "coppice/kernel.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace coppice::test {

/// A dense tensor that owns its memory; data begins at a byte_offset, which a kernel must not forget.
class tensor {
public:
  tensor() = default;
  tensor(DLDataType dtype, std::vector<int64_t> shape);
  static int64_t bytes(DLDataType dtype, const std::vector<int64_t> &shape);

  DLDataType dtype{};
  std::vector<int64_t> shape;
  int64_t count() const;
  int64_t bytes() const { return bytes(dtype, shape); }
  template <class T = char> T *data() const { return reinterpret_cast<T *>(memory.get() + offset); }
  DLTensor view() const;
  tensor copy() const;

  /// Bytes in front of the data.
  static constexpr size_t offset = 64;
  std::shared_ptr<char> memory;
};

template <class T> DLDataType dtype_of();
/// tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6})
template <class T> tensor tensor_of(std::vector<int64_t> shape, const std::vector<T> &values) {
  tensor t(dtype_of<T>(), shape);
  for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = values[i];
  return t;
}
template <class T> std::vector<T> values_of(const tensor &t) { return {t.data<T>(), t.data<T>() + t.count()}; }

} // namespace coppice::test
