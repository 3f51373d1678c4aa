// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors as a kernel sees them: views over DLPack's DLTensor, dense and row-major. C++17, no exceptions, no RTTI.
#pragma once
#include "coppice/dlpack.h"
#include <stddef.h>
#include <stdint.h>

/* For what is defined in these headers: exported, it would be a root of a shared library, and one library would run the
   functions of another. On members, not on their class, since g++ warns of a class with a member of a hidden type. */
#define COPPICE_HIDDEN __attribute__((visibility("hidden")))

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
  COPPICE_HIDDEN T *data() const {
    return reinterpret_cast<T *>(static_cast<char *>(tensor->data) + tensor->byte_offset);
  }
  COPPICE_HIDDEN int rank() const { return Rank < 0 ? tensor->ndim : Rank; }
  COPPICE_HIDDEN int64_t dim(int i) const { return tensor->shape[i]; }
  /// Number of elements.
  COPPICE_HIDDEN int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank(); ++i) n *= dim(i);
    return n;
  }
  COPPICE_HIDDEN T &operator[](int64_t i) const { return data()[i]; }
  COPPICE_HIDDEN T *begin() const { return data(); }
  COPPICE_HIDDEN T *end() const { return data() + size(); }
};
template <class T, int Rank = any_rank> struct in : view<const T, Rank> {};
template <class T, int Rank = any_rank> struct out : view<T, Rank> {};
/// One buffer that is both an operand and a result: read, modified, written.
template <class T, int Rank = any_rank> struct inout : view<T, Rank> {};
template <class T, int Rank = any_rank> struct optional_in : view<const T, Rank> {
  COPPICE_HIDDEN explicit operator bool() const { return this->tensor; }
};
template <class T, int Rank = any_rank> struct variadic_in {
  DLTensor *const *tensors;
  uint32_t count;
  COPPICE_HIDDEN in<T, Rank> operator[](uint32_t i) const { return {{tensors[i]}}; }
};
/// An attribute that is an array; list<char> is a string. The memory belongs to the plan.
template <class T> struct list {
  const T *data;
  uint64_t count;
  COPPICE_HIDDEN const T *begin() const { return data; }
  COPPICE_HIDDEN const T *end() const { return data + count; }
};
} // namespace coppice
