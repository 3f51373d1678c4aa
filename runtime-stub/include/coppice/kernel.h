// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* The kernel ABI. A kernel is a read-only descriptor with the hidden symbol `coppice.kernel.<op>[$<variant>]` in a
   section of its own; a compiled graph refers to it by that name, so that the linker picks kernels as it picks
   functions. Plain C first, then C++ that derives the signature from the type of the function.
   The whole of it is described in docs/kernel-abi.md. */
#pragma once
#if defined(__clang__) && __clang_major__ >= 22
#pragma clang diagnostic ignored "-Wc2y-extensions" /* __COUNTER__ */
#endif
#include "coppice/dlpack.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Version of everything in this header. */
enum { COPPICE_ABI = 1 };

/* coppice_kernel.flags */
enum {
  /* The output may be given the buffer of an input that has the same size in bytes and is not used again. */
  COPPICE_IN_PLACE = 1,
  /* The kernel allocates its outputs itself, through coppice_call.allocate_output. */
  COPPICE_ALLOCATES = 2
};

/* Longest shape that a kernel is ever given. */
enum { COPPICE_MAX_RANK = 8 };

typedef union coppice_attribute {
  int64_t i; /* also i1 */
  double f;
  struct {
    const void *data; /* int64_t, float, or the bytes of a string (not terminated) */
    uint64_t count;
  } list;
} coppice_attribute;

typedef struct coppice_call {
  uint32_t size; /* of this struct: it only grows at its end */
  uint32_t n_inputs, n_outputs, n_attributes;
  DLTensor *const *inputs;             /* null: an optional input that is absent */
  DLTensor *const *outputs;            /* null: an optional output that nobody wants */
  const coppice_attribute *attributes; /* in the order of the signature, defaults filled in */
  /* Gives output i its shape and memory, once. The shape is copied. The memory is 64-byte aligned, unless it is the
     buffer that the caller of the graph gave for a result. Returns a status. */
  int32_t (*allocate_output)(struct coppice_call *, uint32_t i, const int64_t *shape, int32_t rank);
  /* Working memory until the kernel returns, 64-byte aligned; null when there is none. */
  void *(*scratch)(struct coppice_call *, uint64_t bytes);
  /* A kernel that fails may say why: a string that outlives the call. */
  const char *message;
} coppice_call;

typedef struct coppice_kernel {
  uint16_t abi, size; /* COPPICE_ABI, sizeof(coppice_kernel) */
  uint32_t flags;
  int32_t (*run)(coppice_call *); /* returns a status; must not throw */
  /* char text[]: op, variant, target, versions, signature; each ends with \0. Inline, so that the function is the only
     relocation and a linker reads the rest from the section as it is. */
} coppice_kernel;
#ifdef __cplusplus
}
#endif

#if defined(__clang__) /* AddressSanitizer would register the descriptors, and so keep all of them */
#define COPPICE_PLAIN , no_sanitize("address")
#else
#define COPPICE_PLAIN
#endif
#define COPPICE_SYMBOL(section_prefix, symbol)                                                                         \
  __asm__(symbol) __attribute__((section(section_prefix symbol), visibility("hidden"), aligned(8) COPPICE_PLAIN))
#if defined(__clang__) && (defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__))
/* clang would put it into the device image; static it is only instantiated, and with it the __global__ templates */
#define COPPICE_GLOBAL(declaration, section_prefix, symbol) static
#else
#define COPPICE_GLOBAL(declaration, section_prefix, symbol) extern declaration COPPICE_SYMBOL(section_prefix, symbol);
#endif
#define COPPICE_PASTE_(a, b) a##b
#define COPPICE_PASTE(a, b) COPPICE_PASTE_(a, b)

#ifndef COPPICE_TARGET /* what the code of this file needs, as the compiler was told */
#if defined(__CUDACC__)
#define COPPICE_TARGET "cuda"
#elif defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define COPPICE_TARGET "x86-64-v4"
#elif defined(__AVX2__) && defined(__FMA__)
#define COPPICE_TARGET "x86-64-v3"
#elif defined(__SSE4_2__)
#define COPPICE_TARGET "x86-64-v2"
#elif defined(__x86_64__)
#define COPPICE_TARGET "x86-64"
#elif defined(__aarch64__)
#define COPPICE_TARGET "aarch64"
#endif
#endif

#ifndef __cplusplus
/* COPPICE_C_KERNEL("my.add", "", "in ?xf32, in ?xf32, out ?xf32", 0, add); versions "" is any, "7-12", "13-". */
#define COPPICE_TEXT_(op, variant, versions, signature) op "\0" variant "\0" COPPICE_TARGET "\0" versions "\0" signature
#define COPPICE_C_(symbol, op, variant, versions, signature, flags, fn)                                                \
  extern const struct {                                                                                                \
    coppice_kernel head;                                                                                               \
    char text[sizeof(COPPICE_TEXT_(op, variant, versions, signature))];                                                \
  } COPPICE_PASTE(coppice_kernel_, __LINE__) COPPICE_SYMBOL(".data.rel.ro.", symbol);                                  \
  const __typeof__(COPPICE_PASTE(coppice_kernel_, __LINE__)) COPPICE_PASTE(coppice_kernel_, __LINE__) = {              \
      {COPPICE_ABI, sizeof(coppice_kernel), flags, fn}, COPPICE_TEXT_(op, variant, versions, signature)}
#define COPPICE_C_KERNEL(op, versions, signature, flags, fn)                                                           \
  COPPICE_C_("coppice.kernel." op, op, "", versions, signature, flags, fn)
#define COPPICE_C_VARIANT(op, variant, versions, signature, flags, fn)                                                 \
  COPPICE_C_("coppice.kernel." op "$" variant, op, variant, versions, signature, flags, fn)
#elif __cplusplus < 201703L
#error "coppice/kernel.h needs C++17: add -std=c++17 (or use the C macros from a C file)"
#else
#include "coppice/tensor.h"
#include <string.h>
#include <type_traits>
namespace coppice {
/// A kernel that looks at its operands itself and allocates its outputs: `status k(coppice::call &)`.
struct call : coppice_call {
  /// Gives output i its shape and memory.
  COPPICE_HIDDEN status allocate(uint32_t i, const int64_t *shape, int rank) {
    return status(allocate_output(this, i, shape, rank));
  }
  template <class... Dims, class = std::enable_if_t<(std::is_integral_v<Dims> && ...)>>
  COPPICE_HIDDEN status allocate(uint32_t i, Dims... dims) {
    const int64_t shape[sizeof...(Dims) + 1] = {int64_t(dims)...};
    return status(allocate_output(this, i, shape, int(sizeof...(Dims))));
  }
  /// `return c.fail("axis is out of range");`
  COPPICE_HIDDEN status fail(const char *why, status s = status::failed) {
    message = why;
    return s;
  }
};

/// The versions of the op that a kernel implements, both ends included: versions{13}, versions{7, 12}.
struct versions {
  int first, last;
  COPPICE_HIDDEN constexpr explicit versions(int first_version, int last_version = 0)
      : first(first_version), last(last_version) {}
};
/// The output may be computed over an input of the same size in bytes.
struct in_place_t {};
inline constexpr in_place_t in_place{};
/// For a typed kernel whose result shapes are not those of its operands: a function that allocates the outputs,
/// `coppice::status matmul_shape(coppice::call &c) { return c.allocate(0, c.inputs[0]->shape[0], …); }`.
template <status (*F)(call &)> struct shape_t {};
template <status (*F)(call &)> inline constexpr shape_t<F> shape{};

#pragma GCC visibility push(hidden) // an exported adapter would be a root of a shared library
namespace detail {
struct text { // written twice: first to count, then into the descriptor
  char *at;
  size_t n = 0;
  constexpr void put(char c) {
    if (at) at[n] = c;
    ++n;
  }
  constexpr void put(const char *s) {
    while (*s) put(*s++);
  }
  constexpr void number(unsigned v) {
    if (v > 9) number(v / 10);
    put(char('0' + v % 10));
  }
};
template <class T> struct dtype { // MLIR's names
  static constexpr void put(text &t) {
    t.put(std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "ui");
    t.number(sizeof(T) * 8);
  }
};
template <> struct dtype<bool> {
  static constexpr void put(text &t) { t.put("i1"); }
};
template <> struct dtype<f16> {
  static constexpr void put(text &t) { t.put("f16"); }
};
template <> struct dtype<bf16> {
  static constexpr void put(text &t) { t.put("bf16"); }
};
template <> struct dtype<any_dtype> {
  static constexpr void put(text &t) { t.put("any"); }
};
struct cursor {
  coppice_call *c;
  uint32_t fixed_inputs, in, out, attribute;
};

/// One parameter of a kernel: what it is called in the signature, and where its value comes from at run time.
template <class T> struct parameter { // not a tensor: an attribute
  static_assert(std::is_arithmetic_v<T>, "coppice: a parameter of a kernel is in<>, out<>, inout<>, optional_in<>, "
                                         "variadic_in<>, a number, bool or list<>, by value");
  static constexpr bool attribute = true, in_place = false;
  static constexpr unsigned inputs = 0;
  static constexpr void put(text &t) {
    t.put(std::is_same_v<T, bool> ? "attr i1" : std::is_floating_point_v<T> ? "attr f64" : "attr i64");
  }
  static bool fits(const cursor &) { return true; }
  static T get(cursor &p) {
    const coppice_attribute &a = p.c->attributes[p.attribute++];
    if constexpr (std::is_floating_point_v<T>)
      return T(a.f);
    else
      return T(a.i);
  }
};
template <class T> struct parameter<list<T>> {
  static_assert(std::is_same_v<T, char> || std::is_same_v<T, int64_t> || std::is_same_v<T, float>,
                "coppice: an attribute that is a list is list<int64_t>, list<float> or list<char> (a string)");
  static constexpr bool attribute = true, in_place = false;
  static constexpr unsigned inputs = 0;
  static constexpr void put(text &t) {
    t.put(std::is_same_v<T, char> ? "attr string" : std::is_same_v<T, int64_t> ? "attr list i64" : "attr list f32");
  }
  static list<T> get(cursor &p) {
    const coppice_attribute &a = p.c->attributes[p.attribute++];
    return {static_cast<const T *>(a.list.data), a.list.count};
  }
};
template <class T, int Rank> constexpr void put_tensor(text &t, const char *kind) {
  t.put(kind);
  if (Rank < 0) t.put("*x");
  for (int i = 0; i < Rank; ++i) t.put("?x");
  dtype<T>::put(t);
}
template <unsigned Inputs, bool InPlace = false> struct tensor_parameter {
  static constexpr bool attribute = false, in_place = InPlace;
  static constexpr unsigned inputs = Inputs;
};
template <class T, int R> struct parameter<in<T, R>> : tensor_parameter<1> {
  static constexpr void put(text &t) { put_tensor<T, R>(t, "in "); }
  static in<T, R> get(cursor &p) { return {{p.c->inputs[p.in++]}}; }
};
template <class T, int R> struct parameter<optional_in<T, R>> : tensor_parameter<1> {
  static constexpr void put(text &t) { put_tensor<T, R>(t, "in? "); }
  static optional_in<T, R> get(cursor &p) { return {{p.in < p.c->n_inputs ? p.c->inputs[p.in++] : nullptr}}; }
};
template <class T, int R> struct parameter<variadic_in<T, R>> : tensor_parameter<0> {
  static constexpr void put(text &t) { put_tensor<T, R>(t, "in... "); }
  static variadic_in<T, R> get(cursor &p) {
    uint32_t first = p.in, count = p.c->n_inputs - p.fixed_inputs;
    p.in += count;
    return {p.c->inputs + first, count};
  }
};
template <class T, int R> struct parameter<out<T, R>> : tensor_parameter<0> {
  static constexpr void put(text &t) { put_tensor<T, R>(t, "out "); }
  static out<T, R> get(cursor &p) { return {{p.c->outputs[p.out++]}}; }
};
template <class T, int R> struct parameter<inout<T, R>> : tensor_parameter<1, true> {
  static constexpr void put(text &t) { put_tensor<T, R>(t, "inout "); }
  // The result begins as a copy of the operand, where the executor did not give both one buffer.
  static inout<T, R> get(cursor &p) {
    const inout<T, R> from{{p.c->inputs[p.in++]}}, to{{p.c->outputs[p.out++]}};
    if (from.tensor->ndim != to.tensor->ndim || from.size() != to.size()) return {{nullptr}};
    if (from.data() != to.data() && to.size()) memcpy(to.data(), from.data(), size_t(to.size()) * sizeof(T));
    return to;
  }
};

/// Is a tensor argument of the rank that its type promises? A graph of unknown ranks is only checked here.
template <class T> struct rank_fits {
  static bool check(const T &) { return true; }
};
template <template <class, int> class Kind, class T, int R> struct rank_fits<Kind<T, R>> {
  static bool check(const Kind<T, R> &v) {
    if constexpr (std::is_same_v<Kind<T, R>, variadic_in<T, R>>) {
      for (uint32_t i = 0; R >= 0 && i < v.count; ++i)
        if (v.tensors[i]->ndim != R) return false;
      return true;
    } else if constexpr (std::is_same_v<Kind<T, R>, inout<T, R>>) {
      return v.tensor && (R < 0 || v.tensor->ndim == R); // null: operand and result have different shapes
    } else {
      return R < 0 || !v.tensor || v.tensor->ndim == R;
    }
  }
};

struct outcome { // braces, unlike parentheses, evaluate their arguments from left to right
  int32_t value;
  template <class... P> outcome(void (*f)(P...), P... p) : value(int32_t(status::bad_shape)) {
    if ((rank_fits<P>::check(p) && ...)) {
      f(p...);
      value = 0;
    }
  }
  template <class... P> outcome(status (*f)(P...), P... p) : value(int32_t(status::bad_shape)) {
    if ((rank_fits<P>::check(p) && ...)) value = int32_t(f(p...));
  }
};

/// A further argument of COPPICE_KERNEL that is not the name of an attribute.
template <class T> struct option {
  static constexpr bool is_name = true;
  static constexpr uint32_t flags(T) { return 0; }
  static constexpr void put_versions(text &, T) {}
};
template <> struct option<versions> {
  static constexpr bool is_name = false;
  static constexpr uint32_t flags(versions) { return 0; }
  static constexpr void put_versions(text &t, versions v) {
    t.number(unsigned(v.first));
    t.put('-');
    if (v.last) t.number(unsigned(v.last));
  }
};
template <> struct option<in_place_t> {
  static constexpr bool is_name = false;
  static constexpr uint32_t flags(in_place_t) { return COPPICE_IN_PLACE; }
  static constexpr void put_versions(text &, in_place_t) {}
};
template <status (*F)(call &)> struct option<shape_t<F>> {
  static constexpr bool is_name = false;
  static constexpr uint32_t flags(shape_t<F>) { return COPPICE_ALLOCATES; }
  static constexpr void put_versions(text &, shape_t<F>) {}
};
inline status no_shape(call &) { return status::ok; }
template <class... A> struct shape_of {
  static constexpr status (*function)(call &) = no_shape;
};
template <class A, class... More> struct shape_of<A, More...> : shape_of<More...> {};
template <status (*F)(call &), class... More> struct shape_of<shape_t<F>, More...> {
  static constexpr status (*function)(call &) = F;
};

template <class A> constexpr const char *name_or_null(A a) {
  if constexpr (option<A>::is_name)
    return a;
  else
    return nullptr;
}

template <class F> struct signature {
  static_assert(sizeof(F) == 0, "coppice: a kernel is a plain function: not a member, not a lambda");
};
template <class R, class... P> struct signature<R (*)(P...)> {
  static_assert(std::is_void_v<R> || std::is_same_v<R, status>, "coppice: a kernel returns void or coppice::status");
  static constexpr unsigned attributes = (0u + ... + unsigned(parameter<P>::attribute));
  // With another operand beside it, that one's buffer could be taken, and be overwritten before it is read.
  static constexpr uint32_t flags =
      (... || parameter<P>::in_place) && (0u + ... + unsigned(parameter<P>::inputs)) == 1 ? COPPICE_IN_PLACE : 0;
  template <class... A> static constexpr void put(text &t, A... a) {
    static_assert((0u + ... + unsigned(option<A>::is_name)) == attributes,
                  "coppice: name each attribute of the kernel, in order: COPPICE_KERNEL(op, fn, \"axis=0\")");
    const char *name[] = {name_or_null(a)..., nullptr};
    const char *const *next = name;
    const char *separator = "";
    (...,
     (t.put(separator), parameter<P>::put(t), separator = ", ", parameter<P>::attribute ? put_name(t, next) : void()));
  }
  static constexpr void put_name(text &t, const char *const *&next) {
    while (!*next) ++next;
    t.put(' ');
    t.put(*next++);
  }
  template <R (*F)(P...), status (*Shape)(call &)> static int32_t run(coppice_call *c) {
    if constexpr (Shape != &no_shape)
      if (status s = Shape(*static_cast<call *>(c)); s != status::ok) return int32_t(s);
    [[maybe_unused]] cursor p{c, (0u + ... + parameter<P>::inputs), 0, 0, 0};
    return outcome{F, parameter<P>::get(p)...}.value;
  }
};
template <> struct signature<status (*)(call &)> {
  static constexpr uint32_t flags = COPPICE_ALLOCATES;
  template <class... A> static constexpr void put(text &t, A... a) {
    static_assert((0u + ... + unsigned(option<A>::is_name)) == 1,
                  "coppice: a general kernel gives its signature: COPPICE_KERNEL(op, fn, \"in *xany, out ?x?xi64\")");
    (..., (name_or_null(a) ? t.put(name_or_null(a)) : void()));
  }
  template <status (*F)(call &), status (*)(call &)> static int32_t run(coppice_call *c) {
    return int32_t(F(*static_cast<call *>(c)));
  }
};
template <class R, class... P> struct signature<R (*)(P...) noexcept> : signature<R (*)(P...)> {};

template <auto F, class... A> // the function again, then the names of its attributes and options
constexpr size_t put(char *at, const char *op, const char *variant, decltype(F), A... a) {
  text t{at};
  const char *first[] = {op, variant, COPPICE_TARGET};
  for (const char *s : first) {
    t.put(s);
    t.put('\0');
  }
  (..., option<A>::put_versions(t, a));
  t.put('\0');
  signature<decltype(F)>::put(t, a...);
  t.put('\0');
  return t.n;
}
constexpr bool is_symbol(const char *s) { // g++ writes it into the assembly as it is
  for (; *s; ++s)
    if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') && !(*s >= '0' && *s <= '9') && *s != '_' && *s != '.' &&
        *s != '$')
      return false;
  return true;
}
constexpr uint64_t hash(const char *s) {
  uint64_t h = 14695981039346656037u;
  for (; *s; ++s) h = (h ^ uint8_t(*s)) * 1099511628211u;
  return h;
}
template <uint64_t> struct name {};
template <uint64_t Hash, class Id>
struct claim { // clang drops one of two variables with one asm label, and says nothing
  friend constexpr void one_kernel_twice_in_a_file(name<Hash>) {}
};
template <size_t N> struct descriptor {
  coppice_kernel head;
  char text[N];
};
template <auto F, class... A> constexpr coppice_kernel head_of(const char *, const char *, decltype(F), A... a) {
  return {COPPICE_ABI, sizeof(coppice_kernel), (signature<decltype(F)>::flags | ... | option<A>::flags(a)),
          &signature<decltype(F)>::template run<F, shape_of<A...>::function>};
}
template <auto F, size_t N, class... A> constexpr descriptor<N> describe(A... a) {
  descriptor<N> d{head_of<F>(a...), {}};
  put<F>(d.text, a...);
  return d;
}

template <class T> constexpr bool is_in_anonymous_namespace() { // its symbols would be local, or left out altogether
  const char *here = __PRETTY_FUNCTION__;
  for (; *here; ++here) {
    const char *a = here, *gcc = "{anonymous}", *clang = "(anonymous namespace)";
    for (; *gcc && *a == *gcc; ++a) ++gcc;
    for (a = here; *clang && *a == *clang; ++a) ++clang;
    if (!*gcc || !*clang) return true;
  }
  return false;
}
} // namespace detail
#pragma GCC visibility pop
} // namespace coppice

#define COPPICE_FIRST_(first, ...) (first)
#define COPPICE_KERNEL_(id, symbol, fn, ...)                                                                           \
  namespace coppice_kernel_belongs_at_namespace_scope {                                                                \
  static_assert(::coppice::detail::is_symbol(symbol), "coppice: the name of an op is letters, digits and _ . $");      \
  struct tag_##id;                                                                                                     \
  static_assert(!::coppice::detail::is_in_anonymous_namespace<tag_##id>(),                                             \
                "coppice: a kernel is registered in no anonymous namespace");                                          \
  static_assert(sizeof(::coppice::detail::claim<::coppice::detail::hash(symbol), tag_##id>) > 0, "");                  \
  using type_of_##id = ::coppice::detail::descriptor<::coppice::detail::put<fn>(nullptr, __VA_ARGS__)>;                \
  COPPICE_GLOBAL(const type_of_##id id, ".data.rel.ro.", symbol)                                                       \
  constexpr type_of_##id id = ::coppice::detail::describe<fn, sizeof(type_of_##id::text)>(__VA_ARGS__);                \
  }                                                                                                                    \
  static_assert(true, "")
#define COPPICE_KERNEL_1_(...) COPPICE_KERNEL_(__VA_ARGS__)
/// COPPICE_KERNEL("my.add", add); then, in any order, the names of its attributes with their defaults and its options:
/// COPPICE_KERNEL("my.scale", scale, "factor", "axis=-1", coppice::versions{2}, coppice::in_place).
#define COPPICE_KERNEL(op, ...)                                                                                        \
  COPPICE_KERNEL_1_(COPPICE_PASTE(kernel_, __COUNTER__), "coppice.kernel." op, COPPICE_FIRST_(__VA_ARGS__, ), op, "",  \
                    __VA_ARGS__)
/// One op, several kernels: COPPICE_VARIANT("my.add", "f32", add<float>); a function with a comma goes in parentheses.
#define COPPICE_VARIANT(op, variant, ...)                                                                              \
  COPPICE_KERNEL_1_(COPPICE_PASTE(kernel_, __COUNTER__), "coppice.kernel." op "$" variant,                             \
                    COPPICE_FIRST_(__VA_ARGS__, ), op, variant, __VA_ARGS__)
#endif
