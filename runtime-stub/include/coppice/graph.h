// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Graphs: written in a source file (COPPICE_GRAPH) or given to the linker with --graph=FILE (COPPICE_IMPORT_GRAPH), and
   called like functions. The linker compiles a graph to a plan with the hidden symbol
   `coppice.plan.<name>.needs_fuse_ld_coppice`; without Coppice the link fails with that name.
   Described with examples in docs/calling-graphs.md. */
#pragma once
#include "coppice/kernel.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct coppice_plan coppice_plan;       /* a compiled graph: read-only, shared by all threads */
typedef struct coppice_context coppice_context; /* memory of the runs of one graph: one thread at a time */

/* Runs a graph. `all`: its arguments, then its results, `count` tensors in all; every one is dense CPU memory, aligned
   to its elements, with the dtype, rank and static dimensions of the graph. Returns a coppice::status: 0 is success,
   else coppice_last_error() says why and the data of results is unspecified.
   - An argument is only read.
   - A result with data is written there; its shape must be the one that the graph computes. It may overlap arguments,
     but not another result.
   - A result without data and strides (both null) is allocated: `data` is set (64-byte aligned, to be freed with
     coppice_free), and so are dtype, ndim, device and the array that `shape` points to, which must have room for
     COPPICE_MAX_RANK dimensions. A dtype that is not all zero must be the graph's, and ndim then the rank, or -1. */
int32_t coppice_run(const coppice_plan *, DLTensor *const *all, uint32_t count);

/* The same with memory that is kept between runs: after the first, runs of the same shapes allocate nothing. */
int32_t coppice_run_in(coppice_context *, DLTensor *const *all, uint32_t count);
/* Null when there is no memory, no kernel for this CPU, or no file of weights: coppice_last_error() says which. */
coppice_context *coppice_context_create(const coppice_plan *);
void coppice_context_destroy(coppice_context *); /* null is fine */

/* How many of a graph's tensors are arguments. */
uint32_t coppice_argument_count(const coppice_plan *);

/* What went wrong in the last call that failed on this thread, in one line without newline, such as
   `graph add3: argument 1 has shape (4, 2), the graph wants (?, 3)`; "" when none has. Valid until the next call. */
const char *coppice_last_error(void);

/* Frees the data of a result that was allocated. Null is fine. */
void coppice_free(void *);
#ifdef __cplusplus
}
#endif

#define COPPICE_STRING_(x) #x
#define COPPICE_STRING(x) COPPICE_STRING_(x)
#ifdef __clang__ /* of an invocation that spans lines, __LINE__ is the last line in clang and the first in gcc */
#define COPPICE_LINE_ "end " COPPICE_STRING(__LINE__)
#else
#define COPPICE_LINE_ "begin " COPPICE_STRING(__LINE__)
#endif

#define COPPICE_PLAN_SYMBOL_(name) "coppice.plan." #name ".needs_fuse_ld_coppice"
#if defined(__GNUC__) && !defined(__clang__)
/* g++ leaves the visibility of an undefined symbol with an asm label out of the object. It must be there, or a shared
   library links without Coppice and fails when it is loaded. */
#define COPPICE_HIDE_(pointer, name) __asm__(".hidden " COPPICE_PLAN_SYMBOL_(name) : "+r"(pointer))
#else
#define COPPICE_HIDE_(pointer, name) (void)0
#endif

/* The text of a graph, for the linker: ABI version, name, file, line, text; each ends with \0. */
#define COPPICE_GRAPH_RECORD_(name, ...)                                                                               \
  COPPICE_GLOBAL(const char coppice_graph_##name[], ".rodata.", "coppice.graph." #name)                                \
  const char coppice_graph_##name[] = "1\0" #name "\0" __FILE__ "\0" COPPICE_LINE_ "\0" __VA_ARGS__

#ifndef __cplusplus
#define COPPICE_C_PLAN_(name)                                                                                          \
  extern const coppice_plan coppice_plan_##name __asm__(COPPICE_PLAN_SYMBOL_(name))                                    \
      __attribute__((visibility("hidden")));                                                                           \
  __attribute__((unused)) static inline const coppice_plan *name##_plan(void) {                                        \
    const coppice_plan *plan = &coppice_plan_##name;                                                                   \
    COPPICE_HIDE_(plan, name);                                                                                         \
    return plan;                                                                                                       \
  }                                                                                                                    \
  __attribute__((unused)) static inline int32_t name(DLTensor *const *all, uint32_t count) {                           \
    return coppice_run(name##_plan(), all, count);                                                                     \
  }
/* COPPICE_GRAPH(add3, "func.func @add3(…) …"); makes add3(all, count), see coppice_run, and add3_plan() for
   coppice_context_create. */
#define COPPICE_GRAPH(name, ...)                                                                                       \
  COPPICE_C_PLAN_(name)                                                                                                \
  COPPICE_GRAPH_RECORD_(name, __VA_ARGS__)
/* A graph from --graph=name=FILE or another source file: COPPICE_C_IMPORT_GRAPH(model, "in ?x?xf32, out ?x?xf32"). */
#define COPPICE_IMPORT_TEXT_(name, types) "1\0" #name "\0" __FILE__ "\0" COPPICE_STRING(__LINE__) "\0" types
#define COPPICE_C_IMPORT_GRAPH(name, types)                                                                            \
  COPPICE_C_PLAN_(name)                                                                                                \
  extern __attribute__((weak))                                                                                         \
  const char coppice_import_##name[sizeof(COPPICE_IMPORT_TEXT_(name, types))] COPPICE_SYMBOL(".rodata.",               \
                                                                                             "coppice.import." #name); \
  const char coppice_import_##name[sizeof(COPPICE_IMPORT_TEXT_(name, types))] = COPPICE_IMPORT_TEXT_(name, types)
#else
#include "coppice/argument.h"

namespace coppice {
/// Why the last call on this thread failed.
COPPICE_HIDDEN inline const char *last_error() { return coppice_last_error(); }

#pragma GCC visibility push(hidden) // what is exported would be a root of a shared library
namespace detail {
template <class G> class graph;
}
#pragma GCC visibility pop

/// Memory that the runs of one graph share: `coppice::context c(model); model(c, x, y);`. One thread at a time. False,
/// and every run with it fails, when it could not be made.
class context {
public:
  template <class G>
  COPPICE_HIDDEN explicit context(const detail::graph<G> &g) : plan_(g.plan()), c_(coppice_context_create(plan_)) {}
  COPPICE_HIDDEN context(context &&other) noexcept : plan_(other.plan_), c_(other.c_) { other.c_ = nullptr; }
  COPPICE_HIDDEN context &operator=(context &&other) noexcept {
    if (this == &other) return *this;
    coppice_context_destroy(c_);
    plan_ = other.plan_;
    c_ = other.c_;
    other.c_ = nullptr;
    return *this;
  }
  context(const context &) = delete;
  context &operator=(const context &) = delete;
  COPPICE_HIDDEN ~context() { coppice_context_destroy(c_); }
  COPPICE_HIDDEN explicit operator bool() const { return c_; }
  /// Null when it is not one of that plan.
  COPPICE_HIDDEN coppice_context *of(const coppice_plan *plan) const { return plan == plan_ ? c_ : nullptr; }

private:
  const coppice_plan *plan_;
  coppice_context *c_;
};

#pragma GCC visibility push(hidden)
namespace detail {
template <size_t N> struct characters {
  char text[N];
};
template <class... P> constexpr void put_list(text &t) {
  const char *separator = "";
  (..., (t.put(separator), P::put(t), separator = ", "));
  t.put('\0');
}

/// What a call in the program passes, for the linker to compare with the graph: ABI version, name, types.
template <class G, class... Types> constexpr size_t put_call(char *at) {
  text t{at};
  t.put('1');
  t.put('\0');
  t.put(G::spelling());
  t.put('\0');
  put_list<Types...>(t);
  return t.n;
}
template <class G, class... Types> constexpr characters<put_call<G, Types...>(nullptr)> call_text() {
  characters<put_call<G, Types...>(nullptr)> c{};
  put_call<G, Types...>(c.text);
  return c;
}
template <class G, class... Types>
struct call_record { // emitted where a call refers to it, and then referred to no more
  __attribute__((used COPPICE_PLAIN)) static constexpr auto text = call_text<G, Types...>();
};

/// One tensor of a graph's type void(in<float, 2>, out<float, 2>).
template <class P> struct declared {
  static_assert(sizeof(P) == 0,
                "coppice: the parameters of a graph are coppice::in<T, Rank> and coppice::out<T, Rank>");
};
template <bool Out, class T, int Rank> struct declared_tensor {
  static constexpr bool out = Out;
  static constexpr int rank = Rank;
  using element = T;
};
template <class T, int Rank> struct declared<in<T, Rank>> : declared_tensor<false, T, Rank> {};
template <class T, int Rank> struct declared<out<T, Rank>> : declared_tensor<true, T, Rank> {};

template <class P, class Type> constexpr bool check_argument() {
  using D = declared<P>;
  static_assert(!D::out || Type::writable, "coppice: a result of the graph is written, this argument is const");
  static_assert(!Type::known || std::is_same_v<typename D::element, any_dtype> ||
                    std::is_same_v<typename D::element, typename Type::element>,
                "coppice: the elements of this argument have another type than the graph declares");
  static_assert(D::rank < 0 || Type::rank < 0 || D::rank == Type::rank,
                "coppice: this argument has another rank than the graph declares");
  return true;
}

/// The declared type of a graph: `void`, not known, or `void(in<…>…, out<…>…)`.
template <class F> struct graph_type;
template <> struct graph_type<void> {
  template <class... Types> static constexpr bool check() { return true; }
};
template <class... P> struct graph_type<void(P...)> {
  static constexpr bool results_last() {
    bool out = false, sorted = true;
    ((sorted = sorted && (declared<P>::out || !out), out = out || declared<P>::out), ...);
    return sorted;
  }
  static_assert(results_last(), "coppice: the results of a graph, out<>, stand after its arguments, in<>");
  template <class... Types> static constexpr bool check() {
    static_assert(sizeof...(Types) == sizeof...(P),
                  "coppice: a call passes as many tensors as the graph declares, its arguments and then its results");
    if constexpr (sizeof...(Types) == sizeof...(P))
      return (check_argument<P, Types>() && ...);
    else
      return false;
  }
  static constexpr size_t put(char *at, const char *name, const char *file, unsigned line) {
    text t{at};
    t.put('1');
    t.put('\0');
    t.put(name);
    t.put('\0');
    t.put(file);
    t.put('\0');
    t.number(line);
    t.put('\0');
    put_list<parameter<P>...>(t);
    return t.n;
  }
  template <size_t N> static constexpr characters<N> record(const char *name, const char *file, unsigned line) {
    characters<N> c{};
    put(c.text, name, file, line);
    return c;
  }
};

template <class F> struct graph_type : graph_type<void()> {
  static_assert(std::is_void_v<F>,
                "coppice: the type of a graph is void(coppice::in<T, Rank>..., coppice::out<T, Rank>...)");
};

template <class A> using argument_of = argument<std::remove_reference_t<A>>;
template <class... A> inline constexpr bool is_untyped = false;
template <class A, class N>
inline constexpr bool is_untyped<A, N> =
    std::is_convertible_v<A, DLTensor *const *> && std::is_convertible_v<N, uint32_t>;

template <class... A> inline constexpr bool is_in_context = false;
template <class C, class... A>
inline constexpr bool is_in_context<C, A...> = std::is_same_v<std::remove_reference_t<C>, context>;

inline uint32_t next(uint32_t &i) { return i++; }
struct run { // braces, unlike parentheses, evaluate their arguments from left to right
  status outcome;
  template <class... A> run(const coppice_plan *plan, coppice_context *const *c, A &&...a) {
    DLTensor *all[] = {a.get()..., nullptr};
    outcome = status(c ? coppice_run_in(*c, all, sizeof...(A)) : coppice_run(plan, all, sizeof...(A)));
    (..., a.done(outcome));
  }
};

/// What the macros below define under the name of the graph. `G` is their tag.
template <class G> class graph {
public:
  /// Arguments and results as DLTensors, see coppice_run.
  status operator()(DLTensor *const *all, uint32_t count) const { return status(coppice_run(G::plan(), all, count)); }
  status operator()(context &c, DLTensor *const *all, uint32_t count) const {
    return status(coppice_run_in(c.of(G::plan()), all, count));
  }
  /// Arguments, then results, in C++ types: see docs/calling-graphs.md.
  template <class... A, std::enable_if_t<!is_untyped<A...> && !is_in_context<A...>, int> = 0>
  status operator()(A &&...a) const {
    return call(nullptr, a...);
  }
  template <class... A, std::enable_if_t<!is_untyped<A...>, int> = 0> status operator()(context &c, A &&...a) const {
    coppice_context *of_this = c.of(G::plan());
    return call(&of_this, a...);
  }
  static const coppice_plan *plan() { return G::plan(); }

private:
  template <class... A> static status call(coppice_context *const *c, A &...a) {
    static_assert(graph_type<typename G::type>::template check<typename argument_of<A>::type...>());
    (void)&call_record<G, typename argument_of<A>::type...>::text;
    const coppice_plan *p = G::plan();
    [[maybe_unused]] const uint32_t arguments = coppice_argument_count(p);
    [[maybe_unused]] uint32_t i = 0;
    return run{p, c, argument_of<A>(a, next(i) >= arguments)...}.outcome;
  }
};

template <uint64_t> struct graph_name {};
template <uint64_t Hash, class Id> struct graph_claim { // as for kernels: clang drops one of two and says nothing
  friend constexpr void one_graph_twice_in_a_file(graph_name<Hash>) {}
};
} // namespace detail
#pragma GCC visibility pop
} // namespace coppice

#define COPPICE_CALLABLE_(name, ...)                                                                                   \
  namespace coppice_graph_belongs_at_namespace_scope {                                                                 \
  static_assert(::coppice::detail::is_symbol(#name), "coppice: the name of a graph is letters, digits and _");         \
  extern "C" const ::coppice_plan coppice_plan_##name __asm__(COPPICE_PLAN_SYMBOL_(name))                              \
      __attribute__((visibility("hidden")));                                                                           \
  struct __attribute__((visibility("hidden"))) graph_##name {                                                          \
    using type = __VA_ARGS__;                                                                                          \
    static constexpr const char *spelling() { return #name; }                                                          \
    static const ::coppice_plan *plan() {                                                                              \
      const ::coppice_plan *plan = &coppice_plan_##name;                                                               \
      COPPICE_HIDE_(plan, name);                                                                                       \
      return plan;                                                                                                     \
    }                                                                                                                  \
  };                                                                                                                   \
  static_assert(!::coppice::detail::is_in_anonymous_namespace<graph_##name>(),                                         \
                "coppice: a graph stands in no anonymous namespace");                                                  \
  static_assert(sizeof(::coppice::detail::graph_claim<::coppice::detail::hash(#name), graph_##name>) > 0, "");         \
  }                                                                                                                    \
  [[maybe_unused]] inline constexpr ::coppice::detail::graph<coppice_graph_belongs_at_namespace_scope::graph_##name>   \
      name __attribute__((visibility("hidden"))) = {}

/// A graph in MLIR: COPPICE_GRAPH(add3, R"mlir( … )mlir"); then add3(a, b, c, sum). For exact line numbers in messages
/// the macro and `R"mlir(` stand on one line, and `)mlir")` on one.
#define COPPICE_GRAPH(name, ...)                                                                                       \
  COPPICE_CALLABLE_(name, void);                                                                                       \
  namespace coppice_graph_belongs_at_namespace_scope {                                                                 \
  COPPICE_GRAPH_RECORD_(name, __VA_ARGS__);                                                                            \
  }                                                                                                                    \
  static_assert(true, "")

/// A graph from --graph=model=FILE or another source file:
/// COPPICE_IMPORT_GRAPH(model, void(coppice::in<float, 2>, coppice::out<float, 2>)). May stand in a header.
#define COPPICE_IMPORT_GRAPH(name, ...)                                                                                \
  COPPICE_CALLABLE_(name, __VA_ARGS__);                                                                                \
  namespace coppice_graph_belongs_at_namespace_scope {                                                                 \
  using import_of_##name = ::coppice::detail::graph_type<graph_##name::type>;                                          \
  using import_record_of_##name =                                                                                      \
      ::coppice::detail::characters<import_of_##name::put(nullptr, #name, __FILE__, __LINE__)>;                        \
  COPPICE_GLOBAL(__attribute__((weak)) /* in each file that includes it */                                             \
                 const import_record_of_##name coppice_import_##name,                                                  \
                 ".rodata.", "coppice.import." #name)                                                                  \
  constexpr import_record_of_##name coppice_import_##name =                                                            \
      import_of_##name::record<sizeof(import_record_of_##name)>(#name, __FILE__, __LINE__);                            \
  }                                                                                                                    \
  static_assert(true, "")
#endif
