// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors as a kernel sees them: views over DLPack's DLTensor, dense and row-major. C++17, no exceptions, no RTTI.
#pragma once
#include "coppice/dlpack.h"
#include <stddef.h>
#include <stdint.h>
namespace coppice {
enum : int { any_rank = -1 };
/// What a kernel or a graph returns. Also the int32_t of the C API.
enum class status : int32_t { ok, bad_shape, out_of_memory, failed };

// Storage only: _Float16 and __bf16 differ between compilers.
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
struct any_dtype; // a dtype that the kernel looks at itself

/// A dense tensor of known element type; `Rank` is known at compile time unless it is any_rank.
template <class T, int Rank> struct view {
  DLTensor *tensor;
  T *data() const { return reinterpret_cast<T *>(static_cast<char *>(tensor->data) + tensor->byte_offset); }
  int rank() const { return Rank < 0 ? tensor->ndim : Rank; }
  int64_t dim(int i) const { return tensor->shape[i]; }
  /// Number of elements.
  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank(); ++i) n *= dim(i);
    return n;
  }
  T &operator[](int64_t i) const { return data()[i]; }
  T *begin() const { return data(); }
  T *end() const { return data() + size(); }
};
template <class T, int Rank = any_rank> struct in : view<const T, Rank> {};
template <class T, int Rank = any_rank> struct out : view<T, Rank> {};
/// One buffer that is both an operand and a result: read, modified, written.
template <class T, int Rank = any_rank> struct inout : view<T, Rank> {};
template <class T, int Rank = any_rank> struct optional_in : view<const T, Rank> {
  explicit operator bool() const { return this->tensor; }
};
template <class T, int Rank = any_rank> struct variadic_in {
  DLTensor *const *tensors;
  uint32_t count;
  in<T, Rank> operator[](uint32_t i) const { return {{tensors[i]}}; }
};
/// An attribute that is an array; list<char> is a string. The memory belongs to the plan.
template <class T> struct list {
  const T *data;
  uint64_t count;
  const T *begin() const { return data; }
  const T *end() const { return data + count; }
};
} // namespace coppice
