// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor.h"
#include <cstdlib>
#include <cstring>

namespace coppice::test {

tensor::tensor(DLDataType type, std::vector<int64_t> dims) : dtype(type), shape(std::move(dims)) {
  void *p = nullptr;
  if (posix_memalign(&p, 64, offset + size_t(bytes()))) abort();
  memset(p, 0xcd, offset + size_t(bytes())); // nobody may count on zeros
  memory = std::shared_ptr<char>(static_cast<char *>(p), free);
}
int64_t tensor::bytes(DLDataType dtype, const std::vector<int64_t> &shape) {
  int64_t n = dtype.bits / 8;
  for (int64_t d : shape) n *= d;
  return n;
}
int64_t tensor::count() const { return bytes() / (dtype.bits / 8); }
DLTensor tensor::view() const {
  return {memory.get(), {1, 0}, int32_t(shape.size()), dtype, const_cast<int64_t *>(shape.data()), nullptr, offset};
}
tensor tensor::copy() const {
  tensor t(dtype, shape);
  memcpy(t.data(), data(), size_t(bytes()));
  return t;
}

template <> DLDataType dtype_of<float>() { return {2, 32, 1}; }
template <> DLDataType dtype_of<double>() { return {2, 64, 1}; }
template <> DLDataType dtype_of<f16>() { return {2, 16, 1}; }
template <> DLDataType dtype_of<bf16>() { return {4, 16, 1}; }
template <> DLDataType dtype_of<bool>() { return {6, 8, 1}; }
template <> DLDataType dtype_of<int8_t>() { return {0, 8, 1}; }
template <> DLDataType dtype_of<int16_t>() { return {0, 16, 1}; }
template <> DLDataType dtype_of<int32_t>() { return {0, 32, 1}; }
template <> DLDataType dtype_of<int64_t>() { return {0, 64, 1}; }
template <> DLDataType dtype_of<uint8_t>() { return {1, 8, 1}; }
template <> DLDataType dtype_of<uint16_t>() { return {1, 16, 1}; }
template <> DLDataType dtype_of<uint32_t>() { return {1, 32, 1}; }
template <> DLDataType dtype_of<uint64_t>() { return {1, 64, 1}; }

} // namespace coppice::test
