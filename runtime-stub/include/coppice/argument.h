// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a C++ program gives to a graph, and how it becomes a DLTensor: borrowed memory, arrays and containers of
// numbers, kernels' views, tensors that the graph allocates, and DLTensors as they are. C++17; includes no standard
// container.
#pragma once
#include "coppice/kernel.h"

extern "C" void coppice_free(void *); // graph.h

namespace coppice {

/// Memory of the caller's as a dense, row-major tensor. Made by borrow().
template <class T, int Rank> struct borrowed {
  T *data;
  int64_t dims[Rank ? Rank : 1];
};
/// borrow(data, 2, 3) is a tensor of 2 x 3 elements, borrow(&x) a scalar. The memory must live through the call; const
/// memory can only be an argument.
template <class T, class... Dims> COPPICE_HIDDEN borrowed<T, sizeof...(Dims)> borrow(T *data, Dims... dims) {
  return {data, {int64_t(dims)...}};
}

#pragma GCC visibility push(hidden) // what is exported would be a root of a shared library
namespace detail {
template <class T> inline constexpr bool is_element = std::is_arithmetic_v<T> && sizeof(T) <= 8;
template <> inline constexpr bool is_element<f16> = true;
template <> inline constexpr bool is_element<bf16> = true;
template <class T> constexpr DLDataType dlpack_dtype() {
  using E = std::remove_cv_t<T>;
  static_assert(is_element<E>, "coppice: an element of a tensor is an integer or floating-point number of at most 64 "
                               "bits, bool, coppice::f16 or coppice::bf16");
  return {uint8_t(std::is_same_v<E, bool>                                 ? 6
                  : std::is_same_v<E, bf16>                               ? 4
                  : std::is_same_v<E, f16> || std::is_floating_point_v<E> ? 2
                  : std::is_signed_v<E>                                   ? 0
                                                                          : 1),
          uint8_t(sizeof(E) * 8), 1};
}
template <class T> T &lvalue(); // std::declval without <utility>
template <class T, class = void> struct argument;
} // namespace detail
#pragma GCC visibility pop

/// A result that the graph allocates: give an empty one, read it afterwards. Given again as a result it is replaced,
/// given as an argument it is read. `Rank` may be any_rank. Movable; frees its memory.
template <class T, int Rank = any_rank> class tensor {
  static_assert(!std::is_const_v<T>,
                "coppice: a coppice::tensor is written by the graph, so its elements are not const");

public:
  COPPICE_HIDDEN tensor() = default;
  COPPICE_HIDDEN tensor(tensor &&other) noexcept { *this = static_cast<tensor &&>(other); }
  COPPICE_HIDDEN tensor &operator=(tensor &&other) noexcept {
    if (this == &other) return *this;
    coppice_free(data_);
    data_ = other.data_;
    rank_ = other.rank_;
    for (int i = 0; i < COPPICE_MAX_RANK; ++i) dims_[i] = other.dims_[i];
    other.data_ = nullptr;
    return *this;
  }
  tensor(const tensor &) = delete;
  tensor &operator=(const tensor &) = delete;
  COPPICE_HIDDEN ~tensor() { coppice_free(data_); }

  /// Null as long as no graph has written it.
  COPPICE_HIDDEN T *data() { return data_; }
  COPPICE_HIDDEN const T *data() const { return data_; }
  COPPICE_HIDDEN int rank() const { return Rank < 0 ? rank_ : Rank; }
  COPPICE_HIDDEN int64_t dim(int i) const { return dims_[i]; }
  /// Number of elements; 0 as long as no graph has written it.
  COPPICE_HIDDEN int64_t size() const {
    int64_t n = data_ ? 1 : 0;
    for (int i = 0; n && i < rank(); ++i) n *= dims_[i];
    return n;
  }
  COPPICE_HIDDEN T &operator[](int64_t i) { return data_[i]; }
  COPPICE_HIDDEN const T &operator[](int64_t i) const { return data_[i]; }
  COPPICE_HIDDEN T *begin() { return data_; }
  COPPICE_HIDDEN T *end() { return data_ + size(); }
  COPPICE_HIDDEN const T *begin() const { return data_; }
  COPPICE_HIDDEN const T *end() const { return data_ + size(); }

private:
  template <class, class> friend struct detail::argument;
  T *data_ = nullptr; // of coppice_free
  int rank_ = Rank;
  int64_t dims_[COPPICE_MAX_RANK] = {-1, -1, -1, -1, -1, -1, -1, -1}; // of no tensor: an empty one is no argument
};

#pragma GCC visibility push(hidden)
namespace detail {
/// What is known about an argument at compile time. `known` is false for a DLTensor.
template <class T, int Rank> struct argument_type {
  static constexpr bool known = true, writable = !std::is_const_v<T>;
  static constexpr int rank = Rank;
  using element = std::remove_const_t<T>;
  static constexpr void put(text &t) { put_tensor<element, Rank>(t, writable ? "" : "const "); }
};
struct unknown_type {
  static constexpr bool known = false, writable = true;
  static constexpr int rank = any_rank;
  using element = any_dtype;
  static constexpr void put(text &t) { t.put('*'); }
};

/// A DLTensor over memory of the caller's. One without data is never allocated by the graph: an empty tensor gets an
/// address, and strides say that it is an error that others have none.
template <class T, int Rank> struct dense {
  using type = argument_type<T, Rank>;
  DLTensor tensor;
  int64_t dims[Rank > 0 ? Rank : 1];
  DLTensor *get() {
    tensor = {const_cast<std::remove_const_t<T> *>(data), {1, 0}, Rank, dlpack_dtype<T>(), dims, nullptr, 0};
    if (data) return &tensor;
    bool empty = false;
    for (int i = 0; i < Rank; ++i) empty |= dims[i] == 0;
    if (empty)
      tensor.data = dims;
    else
      tensor.strides = dims;
    return &tensor;
  }
  void done(status) {}
  T *data;
};

/// argument<A> is constructed from an A & and whether it is a result; get() is its DLTensor, done() ends the call.
template <class A, class> struct argument {
  static_assert(sizeof(A) == 0,
                "coppice: an argument of a graph is coppice::borrow(data, dims...), a coppice::tensor, an array or a "
                "container of numbers with data() and size(), a view of a kernel, or a DLTensor");
  using type = unknown_type; // no further errors
  argument(A &, bool);
  DLTensor *get();
  void done(status);
};
template <> struct argument<DLTensor> {
  using type = unknown_type;
  DLTensor *tensor;
  argument(DLTensor &t, bool) : tensor(&t) {}
  DLTensor *get() { return tensor; }
  void done(status) {}
};
template <class P> struct argument<P, std::enable_if_t<std::is_same_v<std::remove_const_t<P>, DLTensor *>>> {
  using type = unknown_type;
  DLTensor *tensor;
  argument(DLTensor *t, bool) : tensor(t) {}
  DLTensor *get() { return tensor; }
  void done(status) {}
};
template <class T, int Rank> struct argument<borrowed<T, Rank>> : dense<T, Rank> {
  argument(const borrowed<T, Rank> &b, bool) {
    this->data = b.data;
    for (int i = 0; i < Rank; ++i) this->dims[i] = b.dims[i];
  }
};
template <class T, int Rank> struct argument<const borrowed<T, Rank>> : argument<borrowed<T, Rank>> {
  using argument<borrowed<T, Rank>>::argument;
};
template <class A>
struct argument<A, std::enable_if_t<std::is_array_v<A>>> : dense<std::remove_all_extents_t<A>, int(std::rank_v<A>)> {
  argument(A &array, bool) {
    put<A>();
    const void *first = &array;
    this->data = static_cast<std::remove_all_extents_t<A> *>(const_cast<void *>(first));
  }
  template <class B, int I = 0> void put() {
    this->dims[I] = int64_t(std::extent_v<B>);
    if constexpr (std::rank_v<B> > 1) put<std::remove_extent_t<B>, I + 1>();
  }
};
template <class T, int Rank> struct argument<tensor<T, Rank>> {
  using type = argument_type<T, Rank>;
  tensor<T, Rank> &owner;
  bool result;
  DLTensor dl;
  int64_t dims[COPPICE_MAX_RANK]; // of the new tensor: the old one may be an argument of the same call
  argument(tensor<T, Rank> &t, bool is_result) : owner(t), result(is_result) {}
  DLTensor *get() {
    if (result)
      dl = {nullptr, {1, 0}, Rank, dlpack_dtype<T>(), dims, nullptr, 0};
    else
      dl = {owner.data_, {1, 0}, owner.rank(), dlpack_dtype<T>(), owner.dims_, nullptr, 0};
    return &dl;
  }
  void done(status s) {
    if (!result || s != status::ok) return;
    coppice_free(owner.data_);
    owner.data_ = static_cast<T *>(dl.data);
    owner.rank_ = dl.ndim;
    for (int i = 0; i < dl.ndim; ++i) owner.dims_[i] = dims[i];
  }
};
template <class T, int Rank> struct argument<const tensor<T, Rank>> {
  using type = argument_type<const T, Rank>;
  DLTensor dl;
  argument(const tensor<T, Rank> &t, bool)
      : dl{t.data_, {1, 0}, t.rank(), dlpack_dtype<T>(), const_cast<int64_t *>(t.dims_), nullptr, 0} {}
  DLTensor *get() { return &dl; }
  void done(status) {}
};

template <class T, int Rank> view<T, Rank> as_view(const view<T, Rank> &v) { return v; }
template <class A, class = void> inline constexpr bool is_view = false;
template <class A> inline constexpr bool is_view<A, std::void_t<decltype(as_view(lvalue<A>()))>> = true;
template <class V> struct view_type;
template <class T, int Rank> struct view_type<view<T, Rank>> {
  using type = argument_type<T, Rank>;
};
template <class A> struct argument<A, std::enable_if_t<is_view<A>>> {
  using type = typename view_type<decltype(as_view(lvalue<A>()))>::type;
  DLTensor *tensor;
  argument(A &v, bool) : tensor(v.tensor) {}
  DLTensor *get() { return tensor; }
  void done(status) {}
};

template <class A> inline constexpr bool is_tensor = false;
template <class T, int Rank> inline constexpr bool is_tensor<tensor<T, Rank>> = true;
template <class P> inline constexpr bool is_element_pointer = false;
template <class T> inline constexpr bool is_element_pointer<T *> = is_element<std::remove_const_t<T>>;
template <class A, class = void> inline constexpr bool is_container = false;
template <class A>
inline constexpr bool
    is_container<A, std::void_t<decltype(lvalue<A>().data()), decltype(int64_t(lvalue<A>().size()))>> =
        !is_view<A> && !is_tensor<std::remove_const_t<A>> && is_element_pointer<decltype(lvalue<A>().data())>;
template <class A>
struct argument<A, std::enable_if_t<is_container<A>>> : dense<std::remove_pointer_t<decltype(lvalue<A>().data())>, 1> {
  argument(A &a, bool) {
    this->data = a.data();
    this->dims[0] = int64_t(a.size());
  }
};
} // namespace detail
#pragma GCC visibility pop
} // namespace coppice
