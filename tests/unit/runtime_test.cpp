// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The executor, on plans made by hand.
#include "coppice/graph.h"
#include "plan_builder.h"
#include <array>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <span>
#include <thread>
#include <unistd.h>

// The runtime's allocations are counted: the test is linked with --wrap.
static thread_local int allocations;
extern "C" {
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__wrap_malloc(size_t n) {
  ++allocations;
  return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
  ++allocations;
  return __real_calloc(n, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  ++allocations;
  return __real_aligned_alloc(alignment, n);
}
const char *__asan_default_options() { return "allocator_may_return_null=1"; }
}

namespace {

constexpr int32_t ok = 0, badShape = 1, outOfMemory = 2, failed = 3;

// ---- Kernels

int64_t sizeOf(const DLTensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; ++i) n *= t->shape[i];
  return n;
}
float *floats(const DLTensor *t) { return static_cast<float *>(t->data); }

int32_t addFloats(coppice_call *c) {
  for (int64_t i = 0; i < sizeOf(c->outputs[0]); ++i)
    floats(c->outputs[0])[i] = floats(c->inputs[0])[i] + floats(c->inputs[1])[i];
  return 0;
}
constexpr coppice_kernel add{COPPICE_ABI, sizeof(coppice_kernel), 0, addFloats};

const void *lastInput, *lastOutput; // of the last increment
int32_t incrementFloats(coppice_call *c) {
  lastInput = c->inputs[0]->data;
  lastOutput = c->outputs[0]->data;
  for (int64_t i = 0; i < sizeOf(c->outputs[0]); ++i) floats(c->outputs[0])[i] = floats(c->inputs[0])[i] + 1;
  return 0;
}
constexpr coppice_kernel increment{COPPICE_ABI, sizeof(coppice_kernel), 0, incrementFloats};
constexpr coppice_kernel incrementInPlace{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_IN_PLACE, incrementFloats};

/// The elements that are greater than 0: a shape that depends on data.
int32_t positiveFloats(coppice_call *c) {
  int64_t n = 0;
  for (int64_t i = 0; i < sizeOf(c->inputs[0]); ++i) n += floats(c->inputs[0])[i] > 0;
  if (int32_t e = c->allocate_output(c, 0, &n, 1)) return e;
  float *to = floats(c->outputs[0]);
  for (int64_t i = 0; i < sizeOf(c->inputs[0]); ++i)
    if (floats(c->inputs[0])[i] > 0) *to++ = floats(c->inputs[0])[i];
  return 0;
}
constexpr coppice_kernel positive{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_ALLOCATES, positiveFloats};

/// The shape is the attribute: a list of dimensions; all elements are the second attribute.
int32_t fillFloats(coppice_call *c) {
  const auto &shape = c->attributes[0].list;
  if (int32_t e = c->allocate_output(c, 0, static_cast<const int64_t *>(shape.data), int32_t(shape.count))) return e;
  for (int64_t i = 0; i < sizeOf(c->outputs[0]); ++i) floats(c->outputs[0])[i] = float(c->attributes[1].f);
  return 0;
}
constexpr coppice_kernel fill{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_ALLOCATES, fillFloats};

int32_t failAlways(coppice_call *c) {
  c->message = "input channels do not match";
  return badShape;
}
constexpr coppice_kernel fails{COPPICE_ABI, sizeof(coppice_kernel), 0, failAlways};

using Op = PlanBuilder::Op;
Op unary(const coppice_kernel &k, uint32_t in, uint32_t out, std::vector<uint32_t> releases = {}) {
  return {.kernels = {{0, &k}},
          .node = "n",
          .op = "my.op",
          .inputs = {in},
          .outputs = {out},
          .releases = releases,
          .attributes = {}};
}
Op binary(uint32_t a, uint32_t b, uint32_t out, std::vector<uint32_t> releases = {}) {
  return {.kernels = {{0, &add}},
          .node = "sum",
          .op = "my.add",
          .inputs = {a, b},
          .outputs = {out},
          .releases = releases,
          .attributes = {}};
}

// ---- Tensors of the caller's

template <class T> constexpr DLDataType dtypeOf();
template <> constexpr DLDataType dtypeOf<float>() { return {2, 32, 1}; }
template <> constexpr DLDataType dtypeOf<int64_t>() { return {0, 64, 1}; }
template <> constexpr DLDataType dtypeOf<bool>() { return {6, 8, 1}; }

template <class T> struct Owned {
  std::vector<int64_t> shape;
  std::unique_ptr<T[]> data;
  DLTensor dl;
  Owned(std::vector<int64_t> dims, std::vector<T> values = {}) : shape(dims) {
    size_t n = 1;
    for (int64_t d : dims) n *= size_t(d);
    data.reset(new T[n]());
    for (size_t i = 0; i < values.size(); ++i) data[i] = values[i];
    dl = {data.get(), {1, 0}, int32_t(shape.size()), dtypeOf<T>(), shape.data(), nullptr, 0};
  }
  std::vector<T> values() const { return {data.get(), data.get() + sizeOf(&dl)}; }
  operator DLTensor *() { return &dl; }
};
using Floats = Owned<float>;
using V = std::vector<float>;

/// A result that the runtime allocates.
struct Allocated {
  int64_t shape[COPPICE_MAX_RANK] = {};
  DLTensor dl{};
  Allocated() { dl.shape = shape; }
  ~Allocated() { coppice_free(dl.data); }
  std::vector<int64_t> dims() const { return {shape, shape + dl.ndim}; }
  V values() const { return {floats(&dl), floats(&dl) + sizeOf(&dl)}; }
  operator DLTensor *() { return &dl; }
};

int32_t run(const coppice_plan *p, std::vector<DLTensor *> all) {
  return coppice_run(p, all.data(), uint32_t(all.size()));
}
int32_t runIn(coppice_context *c, std::vector<DLTensor *> all) {
  return coppice_run_in(c, all.data(), uint32_t(all.size()));
}
std::string lastError() { return coppice_last_error(); }

struct Context {
  coppice_context *c;
  explicit Context(const coppice_plan *p) : c(coppice_context_create(p)) {}
  ~Context() { coppice_context_destroy(c); }
  operator coppice_context *() { return c; }
};

/// x + y + z, intermediate values in the pool.
Plan add3() {
  PlanBuilder b("add3");
  auto x = b.argument(f32, {-1}), y = b.argument(f32, {-1}), z = b.argument(f32, {-1});
  auto t = b.dynamic(f32, {-1}), sum = b.dynamic(f32, {-1});
  b.op(binary(x, y, t));
  b.op(binary(t, z, sum, {t}));
  b.yields({sum});
  return b.build();
}

/// One unary op from `x` to `y`, of the types given.
Plan one(const coppice_kernel &k, PlanBuilder::Shape x, PlanBuilder::Shape y) {
  PlanBuilder b("one");
  auto in = b.argument(f32, x), out = b.dynamic(f32, y);
  b.op(unary(k, in, out));
  b.yields({out});
  return b.build();
}

// ---- Running

TEST(Run, StraightLine) {
  Plan p = add3();
  Floats x({3}, {1, 2, 3}), y({3}, {10, 20, 30}), z({3}, {100, 200, 300}), sum({3});
  ASSERT_EQ(run(p, {x, y, z, sum}), ok) << lastError();
  EXPECT_EQ(sum.values(), (V{111, 222, 333}));
}

TEST(Run, ShapesMayChangeFromRunToRun) {
  Plan p = add3();
  Context c(p);
  for (int64_t n : {5, 1, 0, 1000, 3}) {
    Floats x({n}, V(size_t(n), 1)), sum({n});
    ASSERT_EQ(runIn(c, {x, x, x, sum}), ok) << lastError();
    EXPECT_EQ(sum.values(), V(size_t(n), 3));
  }
}

TEST(Run, StaticValuesLieInTheArena) {
  PlanBuilder b("arena");
  auto x = b.argument(f32, {4});
  auto t = b.planned(f32, {4}, 0, 16), u = b.planned(f32, {4}, 64, 16), y = b.planned(f32, {4}, 0, 16);
  b.op(unary(increment, x, t));
  b.op(unary(increment, t, u, {t}));
  b.op(binary(u, x, y, {u}));
  b.yields({y});
  Plan p = b.build();
  Floats in({4}, {1, 2, 3, 4}), out({4});
  Context c(p);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(runIn(c, {in, out}), ok) << lastError();
    EXPECT_EQ(out.values(), (V{4, 6, 8, 10}));
    EXPECT_EQ(static_cast<const char *>(lastOutput) - static_cast<const char *>(lastInput), 64);
  }
}

TEST(Run, ConstantsAreReadFromTheWeights) {
  alignas(64) static const float weights[20] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8};
  PlanBuilder b("weights");
  auto x = b.argument(f32, {2}), k = b.constant(f32, {2}, 64), y = b.dynamic(f32, {2});
  b.op(binary(x, k, y));
  b.yields({y});
  b.weights = reinterpret_cast<const uint8_t *>(weights);
  b.weightsBytes = sizeof weights;
  Plan p = b.build();
  Floats in({2}, {1, 2}), out({2});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(out.values(), (V{8, 10}));
}

TEST(Run, AbsentOperandsAreNullAndAttributesAreDecoded) {
  static const coppice_kernel k{
      COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *c) -> int32_t {
        EXPECT_EQ(c->size, sizeof(coppice_call));
        EXPECT_EQ(c->n_inputs, 3u);
        EXPECT_EQ(c->inputs[1], nullptr);
        EXPECT_EQ(c->n_outputs, 2u);
        EXPECT_EQ(c->outputs[1], nullptr);
        EXPECT_EQ(c->n_attributes, 4u);
        EXPECT_EQ(c->attributes[0].i, -5);
        EXPECT_EQ(c->attributes[1].f, 2.5);
        EXPECT_EQ(c->attributes[2].list.count, 2u);
        EXPECT_EQ(static_cast<const int64_t *>(c->attributes[2].list.data)[1], 9);
        EXPECT_EQ(std::string(static_cast<const char *>(c->attributes[3].list.data), c->attributes[3].list.count),
                  "SAME");
        floats(c->outputs[0])[0] = 42;
        return 0;
      }};
  PlanBuilder b("optional");
  auto x = b.argument(f32, {1}), y = b.dynamic(f32, {1});
  PlanBuilder::Attributes a;
  a.integer(-5).number(2.5).integers({8, 9}).string("SAME");
  b.op({.kernels = {{0, &k}},
        .node = "n",
        .op = "my.op",
        .inputs = {x, COPPICE_NONE, x},
        .outputs = {y, COPPICE_NONE},
        .releases = {},
        .attributes = a});
  b.yields({y});
  Plan p = b.build();
  Floats in({1}), out({1});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(out.values(), V{42});
}

TEST(Run, EmptyTensors) {
  Plan p = one(increment, {-1, 3}, {-1, 3});
  int64_t shape[2] = {0, 3};
  DLTensor x{nullptr, {1, 0}, 2, dtypeOf<float>(), shape, nullptr, 0}; // as from an empty std::vector
  Allocated y;
  ASSERT_EQ(run(p, {&x, y}), ok) << lastError();
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{0, 3}));
  EXPECT_NE(y.dl.data, nullptr);
}

TEST(Run, ArgumentsMayHaveAByteOffsetAndDenseStrides) {
  Plan p = one(increment, {-1, -1}, {-1, -1});
  Floats x({2, 3}, {1, 2, 3, 4, 5, 6}), y({1, 2});
  int64_t shape[2] = {1, 2}, strides[2] = {99, 1}; // that of a dimension of 1 element means nothing
  x.dl.shape = shape;
  x.dl.strides = strides;
  x.dl.byte_offset = 8;
  ASSERT_EQ(run(p, {x, y}), ok) << lastError();
  EXPECT_EQ(y.values(), (V{4, 5}));
}

TEST(Run, ThousandsOfOps) {
  PlanBuilder b("deep");
  auto v = b.argument(f32, {-1});
  for (int i = 0; i < 20000; ++i) {
    auto next = b.dynamic(f32, {-1});
    b.op(unary(increment, v, next, i ? std::vector<uint32_t>{v} : std::vector<uint32_t>{}));
    v = next;
  }
  b.yields({v});
  Plan p = b.build();
  Floats x({2}, {0, 1}), y({2});
  Context c(p);
  std::vector<DLTensor *> all{x, y};
  allocations = 0;
  ASSERT_EQ(coppice_run_in(c, all.data(), 2), ok) << lastError();
  EXPECT_EQ(y.values(), (V{20000, 20001}));
  EXPECT_EQ(allocations, 2) << "no more than two values live at a time";
}

TEST(Run, ThousandsOfInputs) {
  static const coppice_kernel sum{COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *c) -> int32_t {
                                    floats(c->outputs[0])[0] = 0;
                                    for (uint32_t i = 0; i < c->n_inputs; ++i)
                                      floats(c->outputs[0])[0] += floats(c->inputs[i])[0];
                                    return 0;
                                  }};
  PlanBuilder b("wide");
  auto x = b.argument(f32, {1});
  std::vector<uint32_t> many;
  for (int i = 0; i < 5000; ++i) {
    many.push_back(b.dynamic(f32, {1}));
    b.op(unary(increment, x, many.back()));
  }
  auto y = b.dynamic(f32, {1});
  b.op({.kernels = {{0, &sum}},
        .node = "n",
        .op = "my.sum",
        .inputs = many,
        .outputs = {y},
        .releases = many,
        .attributes = {}});
  b.yields({y});
  Plan p = b.build();
  Floats in({1}, {1}), out({1});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(out.values(), V{10000});
}

TEST(Run, TwoThreadsOnOnePlan) {
  Plan p = add3();
  auto work = [&](float k) {
    Context c(p);
    for (int i = 1; i < 2000; ++i) {
      int64_t n = i % 37 + 1;
      Floats x({n}, V(size_t(n), k)), sum({n});
      ASSERT_EQ(runIn(c, {x, x, x, sum}), ok) << lastError();
      ASSERT_EQ(sum.values(), V(size_t(n), 3 * k));
    }
  };
  std::thread other(work, 1.f);
  work(2.f);
  other.join();
}

// ---- In place

TEST(InPlace, ADyingIntermediateIsOverwritten) {
  PlanBuilder b("in_place");
  auto x = b.argument(f32, {-1}), t = b.dynamic(f32, {-1}), u = b.dynamic(f32, {-1}), y = b.dynamic(f32, {-1});
  b.op(unary(increment, x, t));
  b.op(unary(incrementInPlace, t, u, {t}));
  b.op(binary(u, x, y, {u}));
  b.yields({y});
  Plan p = b.build();
  Floats in({2}, {1, 2}), out({2});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(lastOutput, lastInput);
  EXPECT_EQ(out.values(), (V{4, 6}));
}

TEST(InPlace, AnInputThatIsReadAgainIsNot) {
  PlanBuilder b("not_in_place");
  auto x = b.argument(f32, {-1}), t = b.dynamic(f32, {-1}), u = b.dynamic(f32, {-1}), y = b.dynamic(f32, {-1});
  b.op(unary(increment, x, t));
  b.op(unary(incrementInPlace, t, u));
  b.op(binary(u, t, y, {u, t}));
  b.yields({y});
  Plan p = b.build();
  Floats in({2}, {1, 2}), out({2});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_NE(lastOutput, lastInput);
  EXPECT_EQ(out.values(), (V{5, 7}));
}

TEST(InPlace, AnArgumentIsNot) {
  PlanBuilder b("argument");
  auto x = b.argument(f32, {-1}), t = b.dynamic(f32, {-1}), y = b.dynamic(f32, {-1});
  b.op(unary(incrementInPlace, x, t));
  b.op(binary(t, x, y, {t}));
  b.yields({y});
  Plan p = b.build();
  Floats in({2}, {1, 2}), out({2});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(in.values(), (V{1, 2}));
  EXPECT_EQ(out.values(), (V{3, 5}));
}

TEST(InPlace, OfTwoInputsTheOneThatDies) {
  PlanBuilder b("one_dies");
  auto x = b.argument(f32, {-1}), t = b.dynamic(f32, {-1}), w = b.dynamic(f32, {-1}), u = b.dynamic(f32, {-1}),
       y = b.dynamic(f32, {-1});
  b.op(unary(increment, x, t));
  b.op(unary(increment, x, w));
  Op op = unary(incrementInPlace, t, u, {w});
  op.inputs = {t, w};
  b.op(op);
  b.op(binary(u, t, y, {u, t}));
  b.yields({y});
  Plan p = b.build();
  Floats in({2}, {1, 2}), out({2});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(out.values(), (V{5, 7}));
}

TEST(InPlace, NorIsAnInputOfAnotherSize) {
  static const coppice_kernel repeat{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_IN_PLACE | COPPICE_ALLOCATES,
                                     [](coppice_call *c) -> int32_t {
                                       int64_t n = 100;
                                       if (int32_t e = c->allocate_output(c, 0, &n, 1)) return e;
                                       EXPECT_NE(c->inputs[0]->data, c->outputs[0]->data);
                                       std::fill_n(floats(c->outputs[0]), n, floats(c->inputs[0])[0]);
                                       return 0;
                                     }};
  PlanBuilder b("size");
  auto x = b.argument(f32, {-1}), t = b.dynamic(f32, {-1}), u = b.dynamic(f32, {-1}), y = b.dynamic(f32, {-1});
  b.op(unary(increment, x, t));
  b.op(unary(repeat, t, u, {t}));
  b.op(unary(increment, u, y, {u}));
  b.yields({y});
  Plan p = b.build();
  Floats in({1}, {1}), out({100});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(out.values(), V(100, 3));
}

// ---- Shapes

TEST(Shapes, AKernelAllocatesWhatItComputes) {
  Plan p = one(positive, {-1}, {-1});
  Floats x({5}, {-1, 2, -3, 4, 5});
  Allocated y;
  ASSERT_EQ(run(p, {x, y}), ok) << lastError();
  EXPECT_EQ(y.dims(), std::vector<int64_t>{3});
  EXPECT_EQ(y.values(), (V{2, 4, 5}));
}

TEST(Shapes, OfAnyRank) {
  PlanBuilder b("any_rank");
  auto x = b.argumentOfAnyRank(f32), t = b.dynamicOfAnyRank(f32), y = b.dynamicOfAnyRank(f32);
  b.op(unary(increment, x, t));
  b.op(binary(t, x, y, {t}));
  b.yields({y});
  Plan p = b.build();
  Floats scalar({}, {1}), matrix({2, 2}, {1, 2, 3, 4});
  Allocated a, c;
  ASSERT_EQ(run(p, {scalar, a}), ok) << lastError();
  EXPECT_EQ(a.values(), V{3});
  ASSERT_EQ(run(p, {matrix, c}), ok) << lastError();
  EXPECT_EQ(c.dims(), (std::vector<int64_t>{2, 2}));
}

TEST(Shapes, InputsOfOtherRanksDoNotCountForATypedKernel) {
  static const coppice_kernel addScalar{COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *c) -> int32_t {
                                          for (int64_t i = 0; i < sizeOf(c->outputs[0]); ++i)
                                            floats(c->outputs[0])[i] =
                                                floats(c->inputs[1])[i] + floats(c->inputs[0])[0];
                                          return 0;
                                        }};
  PlanBuilder b("scalar");
  auto s = b.argument(f32, {}), x = b.argument(f32, {-1, -1}), y = b.dynamic(f32, {-1, -1});
  b.op({.kernels = {{0, &addScalar}},
        .node = "n",
        .op = "my.op",
        .inputs = {s, x},
        .outputs = {y},
        .releases = {},
        .attributes = {}});
  b.yields({y});
  Plan p = b.build();
  Floats scalar({}, {10}), in({1, 2}, {1, 2}), out({1, 2});
  ASSERT_EQ(run(p, {scalar, in, out}), ok) << lastError();
  EXPECT_EQ(out.values(), (V{11, 12}));
}

TEST(Shapes, ATypedKernelWhoseInputsDifferNeedsAShapeFunction) {
  Plan p = add3();
  Floats x({3}), y({2}), sum({3});
  EXPECT_EQ(run(p, {x, y, x, sum}), badShape);
  EXPECT_EQ(lastError(), "graph add3: node \"sum\" (my.add): the shapes of the inputs differ, so that of the output is "
                         "not known; a kernel for operands of different shapes needs a shape function "
                         "(coppice::shape), inputs (3) (2)");
  Plan q = one(increment, {-1}, {-1, -1});
  EXPECT_EQ(run(q, {x, sum}), badShape);
  Allocated a;
  EXPECT_EQ(run(q, {x, a}), badShape);
  EXPECT_EQ(lastError(), "graph one: node \"n\" (my.op): no input has the rank of the output, so its shape is not "
                         "known; the kernel needs a shape function (coppice::shape), inputs (3)");
}

TEST(Shapes, WhatAKernelAllocatesMustBeWhatTheGraphSays) {
  PlanBuilder b("g");
  auto y = b.dynamic(f32, {-1, 3});
  PlanBuilder::Attributes a;
  a.integers({2, 4}).number(0);
  b.op({.kernels = {{0, &fill}},
        .node = "f",
        .op = "my.fill",
        .inputs = {},
        .outputs = {y},
        .releases = {},
        .attributes = a});
  b.yields({y});
  Plan p = b.build();
  Allocated out;
  EXPECT_EQ(run(p, {out}), badShape);
  EXPECT_EQ(lastError(), "graph g: node \"f\" (my.fill): output 1 has shape (2, 4), the graph has (?, 3)");
  EXPECT_EQ(out.dl.data, nullptr);
}

TEST(Shapes, AKernelThatDoesNotAllocateIsFound) {
  static const coppice_kernel lazy{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_ALLOCATES,
                                   [](coppice_call *) -> int32_t { return 0; }};
  static const coppice_kernel twice{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_ALLOCATES,
                                    [](coppice_call *c) -> int32_t {
                                      int64_t n = 1;
                                      c->allocate_output(c, 0, &n, 1);
                                      c->allocate_output(c, 0, &n, 1);
                                      return 0;
                                    }};
  static const coppice_kernel beyond{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_ALLOCATES,
                                     [](coppice_call *c) -> int32_t {
                                       int64_t n = 1;
                                       c->allocate_output(c, 7, &n, 1);
                                       return 0;
                                     }};
  Floats x({1});
  Allocated y;
  EXPECT_EQ(run(one(lazy, {-1}, {-1}), {x, y}), failed);
  EXPECT_EQ(lastError(), "graph one: node \"n\" (my.op): the kernel has not allocated output 1");
  EXPECT_EQ(run(one(twice, {-1}, {-1}), {x, y}), failed);
  EXPECT_EQ(lastError(), "graph one: node \"n\" (my.op): the kernel allocates output 1 twice");
  EXPECT_EQ(run(one(beyond, {-1}, {-1}), {x, y}), failed);
  EXPECT_EQ(lastError(), "graph one: node \"n\" (my.op): the kernel allocates output 8, it has 1 outputs");
  static const coppice_kernel stubborn{COPPICE_ABI, sizeof(coppice_kernel), COPPICE_ALLOCATES,
                                       [](coppice_call *c) -> int32_t {
                                         int64_t negative = -3, n = 1;
                                         EXPECT_EQ(c->allocate_output(c, 0, &negative, 1), badShape);
                                         EXPECT_EQ(c->allocate_output(c, 0, &n, 1), badShape);
                                         return 0;
                                       }};
  EXPECT_EQ(run(one(stubborn, {-1}, {-1}), {x, y}), badShape);
  EXPECT_EQ(lastError(), "graph one: node \"n\" (my.op): output 1 has shape (-3), which is negative, inputs (1)");
}

// ---- Results

TEST(Results, AreWrittenWhereTheCallerWants) {
  Plan p = one(increment, {-1}, {-1});
  Floats x({2}, {1, 2}), y({2});
  ASSERT_EQ(run(p, {x, y}), ok);
  EXPECT_EQ(lastOutput, y.data.get()) << "written by the kernel, not copied";
}

TEST(Results, AreAllocatedWhereTheCallerHasNoMemory) {
  Plan p = one(increment, {-1, -1}, {-1, -1});
  Floats x({2, 2}, {1, 2, 3, 4});
  Allocated y;
  ASSERT_EQ(run(p, {x, y}), ok) << lastError();
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(y.values(), (V{2, 3, 4, 5}));
  EXPECT_EQ(lastOutput, y.dl.data) << "not copied";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(y.dl.data) % 64, 0u);
  EXPECT_EQ(y.dl.dtype.code, 2);
  EXPECT_EQ(y.dl.dtype.bits, 32);
  EXPECT_EQ(y.dl.device.device_type, 1);
}

TEST(Results, ThatAreArgumentsConstantsOrGivenTwiceAreCopied) {
  alignas(64) static const float weights[2] = {7, 8};
  PlanBuilder b("copies");
  auto x = b.argument(f32, {2}), k = b.constant(f32, {2}, 0), y = b.dynamic(f32, {2});
  b.op(unary(increment, x, y));
  b.yields({x, k, y, y, x});
  b.weights = reinterpret_cast<const uint8_t *>(weights);
  b.weightsBytes = sizeof weights;
  Plan p = b.build();
  Floats in({2}, {1, 2}), r0({2}), r2({2});
  Allocated r1, r3, r4;
  ASSERT_EQ(run(p, {in, r0, r1, r2, r3, r4}), ok) << lastError();
  EXPECT_EQ(r0.values(), (V{1, 2}));
  EXPECT_EQ(r1.values(), (V{7, 8}));
  EXPECT_EQ(r2.values(), (V{2, 3}));
  EXPECT_EQ(r3.values(), (V{2, 3}));
  EXPECT_EQ(r4.values(), (V{1, 2}));
}

TEST(Results, ThatAreReadAgainInTheGraph) {
  PlanBuilder b("reread");
  auto x = b.argument(f32, {2}), t = b.planned(f32, {2}, 0, 8), y = b.planned(f32, {2}, 64, 8);
  b.op(unary(increment, x, t));
  b.op(binary(t, t, y));
  b.yields({t, y});
  Plan p = b.build();
  Floats in({2}, {1, 2}), r0({2}), r1({2});
  ASSERT_EQ(run(p, {in, r0, r1}), ok) << lastError();
  EXPECT_EQ(r0.values(), (V{2, 3}));
  EXPECT_EQ(r1.values(), (V{4, 6}));
}

TEST(Results, MayLieOverArguments) {
  PlanBuilder b("step");
  auto x = b.argument(f32, {-1}), y = b.dynamic(f32, {-1}), z = b.dynamic(f32, {-1});
  b.op(unary(increment, x, y)); // must not be written into x: the next op reads it
  b.op(binary(y, x, z));
  b.yields({y, z});
  Plan p = b.build();
  Floats state({3}, {1, 2, 3}), out({3}), other({3});
  Context c(p);
  ASSERT_EQ(runIn(c, {state, other, out}), ok) << lastError(); // not over an argument: leaves no trace
  ASSERT_EQ(runIn(c, {state, state, out}), ok) << lastError();
  EXPECT_EQ(state.values(), (V{2, 3, 4}));
  EXPECT_EQ(out.values(), (V{3, 5, 7}));

  Floats memory({4}, {1, 2, 3, 4}); // the last three elements are the argument, the first three the result
  int64_t three[1] = {3};
  DLTensor in = memory.dl, result = memory.dl;
  in.shape = result.shape = three;
  in.byte_offset = 4;
  ASSERT_EQ(run(p, {&in, &result, out}), ok) << lastError();
  EXPECT_EQ(memory.values(), (V{3, 4, 5, 4}));
  EXPECT_EQ(out.values(), (V{5, 7, 9}));
}

TEST(Results, ThatAreArgumentsMayBeSwapped) {
  PlanBuilder b("swap");
  auto x = b.argument(f32, {-1}), y = b.argument(f32, {-1});
  b.yields({y, x});
  Plan p = b.build();
  Floats m({2}, {1, 2}), n({2}, {3, 4});
  ASSERT_EQ(run(p, {m, n, m, n}), ok) << lastError();
  EXPECT_EQ(m.values(), (V{3, 4}));
  EXPECT_EQ(n.values(), (V{1, 2}));
  ASSERT_EQ(run(p, {m, n, n, m}), ok) << lastError(); // each is already in its place
  EXPECT_EQ(m.values(), (V{3, 4}));
  EXPECT_EQ(n.values(), (V{1, 2}));
}

TEST(Results, InTheSameMemoryAreRefused) {
  PlanBuilder b("two");
  auto x = b.argument(f32, {-1}), y = b.dynamic(f32, {-1}), z = b.dynamic(f32, {-1});
  b.op(unary(increment, x, y));
  b.op(unary(increment, y, z));
  b.yields({y, z});
  Plan p = b.build();
  Floats in({1}), out({1});
  EXPECT_EQ(run(p, {in, out, out}), failed);
  EXPECT_EQ(lastError(), "graph two: result 1 and result 2 are in the same memory");
  Allocated a;
  EXPECT_EQ(run(p, {in, a, a}), failed);
}

TEST(Results, AreFreedWhenTheRunFails) { // a leak is for the sanitizer to find
  PlanBuilder b("late");
  auto x = b.argument(f32, {-1}), y = b.dynamic(f32, {-1}), z = b.dynamic(f32, {-1});
  b.op(unary(increment, x, y));
  b.op(unary(fails, y, z));
  b.yields({y, z});
  Plan p = b.build();
  Floats in({1});
  Allocated first, second;
  EXPECT_EQ(run(p, {in, first, second}), badShape);
  EXPECT_EQ(first.dl.data, nullptr);
}

// ---- If

struct Branching {
  PlanBuilder b{"choose"};
  uint32_t condition, x;
  Branching() : condition(b.argument(i1, {})), x(b.argument(f32, {-1})) {}
};

TEST(If, RunsOneOfItsBlocks) {
  Branching g;
  PlanBuilder &b = g.b;
  auto y = b.dynamic(f32, {-1}), out = b.dynamic(f32, {-1});
  uint32_t then = b.branches();
  auto t = b.dynamic(f32, {-1}), e = b.dynamic(f32, {-1}), e2 = b.dynamic(f32, {-1});
  b.op(unary(increment, g.x, t), then);
  b.yields({t}, then);
  b.op(binary(g.x, g.x, e), then + 1);
  b.op(binary(e, g.x, e2, {e}), then + 1);
  b.yields({e2}, then + 1);
  b.branch(g.condition, then, {y});
  b.op(unary(increment, y, out, {y}));
  b.yields({out});
  Plan p = b.build();
  Context c(p);
  for (bool holds : {true, false, true}) {
    Owned<bool> condition({}, {holds});
    Floats in({2}, {1, 2}), result({2});
    ASSERT_EQ(runIn(c, {condition, in, result}), ok) << lastError();
    EXPECT_EQ(result.values(), holds ? (V{3, 4}) : (V{4, 7}));
  }
}

TEST(If, WritesResultsOfTheGraphDirectly) {
  Branching g;
  PlanBuilder &b = g.b;
  auto y = b.dynamic(f32, {-1});
  uint32_t then = b.branches();
  auto t = b.dynamic(f32, {-1});
  b.op(unary(increment, g.x, t), then);
  b.yields({t}, then);
  b.yields({g.x}, then + 1); // from outside: copied
  b.branch(g.condition, then, {y});
  b.yields({y});
  Plan p = b.build();
  Owned<bool> yes({}, {true}), no({}, {false});
  Floats in({2}, {1, 2}), result({2});
  ASSERT_EQ(run(p, {yes, in, result}), ok) << lastError();
  EXPECT_EQ(result.values(), (V{2, 3}));
  EXPECT_EQ(lastOutput, result.data.get());
  ASSERT_EQ(run(p, {no, in, result}), ok) << lastError();
  EXPECT_EQ(result.values(), (V{1, 2}));
}

TEST(If, YieldsOneValueTwice) {
  Branching g;
  PlanBuilder &b = g.b;
  auto y = b.dynamic(f32, {-1}), z = b.dynamic(f32, {-1}), y2 = b.dynamic(f32, {-1}), z2 = b.dynamic(f32, {-1});
  uint32_t then = b.branches();
  auto t = b.dynamic(f32, {-1});
  b.op(unary(increment, g.x, t), then);
  b.yields({t, t}, then);
  b.yields({g.x, g.x}, then + 1);
  b.branch(g.condition, then, {y, z});
  b.op(unary(incrementInPlace, y, y2, {y})); // must not change z
  b.op(unary(incrementInPlace, z, z2, {z}));
  b.yields({y2, z2});
  Plan p = b.build();
  for (bool holds : {true, false}) {
    Owned<bool> condition({}, {holds});
    Floats in({1}, {1}), r({1}), s({1});
    ASSERT_EQ(run(p, {condition, in, r, s}), ok) << lastError();
    EXPECT_EQ(r.values(), V{holds ? 3.f : 2.f});
    EXPECT_EQ(s.values(), V{holds ? 3.f : 2.f});
    EXPECT_EQ(in.values(), V{1});
  }
}

TEST(If, CopiesAnIntermediateFromOutside) {
  Branching g;
  PlanBuilder &b = g.b;
  auto t = b.dynamic(f32, {-1}), y = b.dynamic(f32, {-1}), y2 = b.dynamic(f32, {-1}), out = b.dynamic(f32, {-1});
  uint32_t then = b.branches();
  b.yields({t}, then);
  b.yields({g.x}, then + 1);
  b.op(unary(increment, g.x, t));
  b.branch(g.condition, then, {y});
  b.op(unary(incrementInPlace, y, y2, {y})); // must not change t
  b.op(binary(t, y2, out, {t, y2}));
  b.yields({out});
  Plan p = b.build();
  Owned<bool> yes({}, {true});
  Floats in({2}, {1, 2}), result({2});
  ASSERT_EQ(run(p, {yes, in, result}), ok) << lastError();
  EXPECT_EQ(result.values(), (V{5, 7}));
}

TEST(If, MovesAValueIntoThePlannedPlace) {
  Branching g;
  PlanBuilder &b = g.b;
  auto y = b.planned(f32, {2}, 0, 8), out = b.dynamic(f32, {2});
  uint32_t then = b.branches();
  auto t = b.dynamic(f32, {-1});
  b.op(unary(increment, g.x, t), then);
  b.yields({t}, then);
  b.yields({g.x}, then + 1);
  b.branch(g.condition, then, {y});
  b.op(unary(increment, y, out));
  b.yields({out});
  Plan p = b.build();
  Owned<bool> yes({}, {true}), no({}, {false});
  Floats in({2}, {1, 2}), result({2});
  ASSERT_EQ(run(p, {yes, in, result}), ok) << lastError();
  EXPECT_EQ(result.values(), (V{3, 4}));
  Floats longer({3});
  EXPECT_EQ(run(p, {no, longer, result}), badShape);
  EXPECT_EQ(lastError(), "graph choose: node \"if\" (onnx.If): output 1 has shape (3), the graph has (2), inputs ()");
}

TEST(If, NestsAsDeepAsThePlanSays) {
  constexpr int depth = 20000;
  Branching g;
  PlanBuilder &b = g.b;
  uint32_t outer = 0;
  auto y = b.dynamic(f32, {-1});
  b.yields({y});
  for (int i = 0; i < depth; ++i) {
    uint32_t then = b.branches();
    b.branch(g.condition, then, {y}, {}, outer);
    b.yields({g.x}, then + 1);
    auto inner = b.dynamic(f32, {-1});
    b.yields({inner}, then);
    outer = then;
    y = inner;
  }
  b.op(unary(increment, g.x, y), outer);
  Plan p = b.build();
  Owned<bool> yes({}, {true});
  Floats in({2}, {1, 2}), result({2});
  ASSERT_EQ(run(p, {yes, in, result}), ok) << lastError();
  EXPECT_EQ(result.values(), (V{2, 3}));
  EXPECT_EQ(lastOutput, result.data.get());
}

// ---- What a caller may do wrong

TEST(Errors, TensorsThatDoNotFit) {
  PlanBuilder b("g");
  auto x = b.argument(f32, {-1, 3}), y = b.dynamic(f32, {-1, 3});
  b.op(unary(increment, x, y));
  b.yields({y});
  Plan p = b.build();
  Floats in({2, 3}), out({2, 3});

  Floats other({4, 2});
  EXPECT_EQ(run(p, {other, out}), badShape);
  EXPECT_EQ(lastError(), "graph g: argument 1 has shape (4, 2), the graph wants (?, 3)");
  Floats vector({3});
  EXPECT_EQ(run(p, {vector, out}), badShape);
  EXPECT_EQ(lastError(), "graph g: argument 1 has shape (3), the graph wants (?, 3)");
  EXPECT_EQ(run(p, {in, other}), badShape);
  EXPECT_EQ(lastError(), "graph g: result 1 has shape (4, 2), the graph computes (?, 3)");
  Floats more({3, 3});
  EXPECT_EQ(run(p, {in, more}), badShape);
  EXPECT_EQ(lastError(), "graph g: node \"n\" (my.op): result 1 of the graph has shape (3, 3), the graph computes "
                         "(2, 3), inputs (2, 3)");
  Owned<int64_t> integers({2, 3});
  EXPECT_EQ(run(p, {integers, out}), badShape);
  EXPECT_EQ(lastError(), "graph g: argument 1 is i64, the graph wants f32");
  EXPECT_EQ(run(p, {in}), failed);
  EXPECT_EQ(lastError(), "graph g: called with 1 tensors, it has 1 arguments and 1 results");
  EXPECT_EQ(run(p, {in, nullptr}), failed);
  EXPECT_EQ(lastError(), "graph g: result 1 is a null pointer");

  DLTensor t = in.dl;
  int64_t shape[2] = {-1, 3}, strides[2] = {1, 2};
  t.shape = shape;
  EXPECT_EQ(run(p, {&t, out}), badShape);
  EXPECT_EQ(lastError(), "graph g: argument 1 has shape (?, 3), which is negative or too large");
  shape[0] = int64_t(1) << 61;
  EXPECT_EQ(run(p, {&t, out}), badShape);
  t = in.dl;
  t.strides = strides;
  EXPECT_EQ(run(p, {&t, out}), badShape);
  EXPECT_EQ(lastError(), "graph g: argument 1 has strides, the graph wants dense, row-major memory");
  t = in.dl;
  t.data = nullptr;
  EXPECT_EQ(run(p, {&t, out}), failed);
  EXPECT_EQ(lastError(), "graph g: argument 1 of shape (2, 3) has no data");
  t = in.dl;
  t.byte_offset = 2;
  EXPECT_EQ(run(p, {&t, out}), failed);
  EXPECT_EQ(lastError(), "graph g: argument 1 is not aligned to its elements, which have 4 bytes");
  t = in.dl;
  t.device.device_type = 2;
  EXPECT_EQ(run(p, {&t, out}), failed);
  EXPECT_EQ(lastError(), "graph g: argument 1 is on a device of DLPack type 2, the graph wants CPU memory (type 1)");
}

TEST(Errors, AKernelThatFailsNamesItsNodeAndShapes) {
  PlanBuilder b("m");
  auto x = b.argument(f32, {-1, -1}), w = b.argument(f32, {-1}), y = b.dynamic(f32, {2});
  b.op({.kernels = {{0, &fails}},
        .node = "/conv1",
        .op = "onnx.Conv",
        .inputs = {x, w, COPPICE_NONE},
        .outputs = {y},
        .releases = {},
        .attributes = {}});
  b.yields({y});
  Plan p = b.build();
  Floats in({1, 3}), weights({4}), out({2});
  EXPECT_EQ(run(p, {in, weights, out}), badShape);
  EXPECT_EQ(lastError(), "graph m: node \"/conv1\" (onnx.Conv): input channels do not match, inputs (1, 3) (4) none");
}

TEST(Errors, APromisedRankOrTypeOfAnAllocatedResult) {
  Plan p = one(increment, {-1}, {-1});
  Floats in({2});
  Allocated y;
  y.dl.dtype = dtypeOf<float>();
  y.dl.ndim = 2;
  EXPECT_EQ(run(p, {in, y}), badShape);
  EXPECT_EQ(lastError(), "graph one: result 1 has rank 2, the graph computes the shape (2)");
  y.dl.dtype = dtypeOf<int64_t>();
  EXPECT_EQ(run(p, {in, y}), badShape);
  EXPECT_EQ(lastError(), "graph one: result 1 is i64, the graph computes f32");
  EXPECT_EQ(y.dl.data, nullptr);
}

TEST(Errors, OutOfMemory) {
  for (bool isResult : {true, false}) {
    PlanBuilder b("huge");
    auto t = b.dynamic(f32, {-1, -1}), y = b.dynamic(f32, {-1, -1});
    PlanBuilder::Attributes a;
    a.integers({int64_t(1) << 29, int64_t(1) << 29}).number(0);
    b.op({.kernels = {{0, &fill}},
          .node = "f",
          .op = "my.fill",
          .inputs = {},
          .outputs = {t},
          .releases = {},
          .attributes = a});
    b.op(unary(increment, t, y));
    b.yields({isResult ? t : y});
    Plan p = b.build();
    Allocated out;
    EXPECT_EQ(run(p, {out}), outOfMemory);
    EXPECT_EQ(lastError(), "graph huge: node \"f\" (my.fill): out of memory: output 1 of shape (536870912, 536870912) "
                           "needs 1152921504606846976 bytes");
  }
  PlanBuilder b("overflow");
  auto y = b.dynamic(f32, {-1, -1, -1});
  PlanBuilder::Attributes a;
  a.integers({int64_t(1) << 40, int64_t(1) << 40, 0}).number(0); // no elements, but no kernel could multiply it out
  b.op({.kernels = {{0, &fill}},
        .node = "f",
        .op = "my.fill",
        .inputs = {},
        .outputs = {y},
        .releases = {},
        .attributes = a});
  b.yields({y});
  Plan p = b.build();
  Allocated out;
  EXPECT_EQ(run(p, {out}), outOfMemory);

  PlanBuilder c("arena");
  auto x = c.argument(f32, {1}), z = c.planned(f32, {1}, int64_t(1) << 60, 4);
  c.op(unary(increment, x, z));
  c.yields({z});
  Floats in({1}), result({1});
  EXPECT_EQ(run(c.build(), {in, result}), outOfMemory);
  EXPECT_EQ(lastError(), "graph arena: out of memory: its intermediate values need 1152921504606846980 bytes");
}

TEST(Errors, ScratchThatIsNotThereIsANullPointer) {
  static const coppice_kernel greedy{COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *c) -> int32_t {
                                       void *small = c->scratch(c, 100), *second = c->scratch(c, 100);
                                       EXPECT_NE(small, nullptr);
                                       EXPECT_NE(second, small);
                                       EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % 64, 0u);
                                       EXPECT_EQ(c->scratch(c, ~uint64_t(0)), nullptr);
                                       return c->scratch(c, uint64_t(1) << 60) ? ok : outOfMemory;
                                     }};
  Floats in({1}), out({1});
  EXPECT_EQ(run(one(greedy, {-1}, {-1}), {in, out}), outOfMemory);
  EXPECT_EQ(lastError(), "graph one: node \"n\" (my.op): out of memory, inputs (1)");
}

TEST(Errors, ALongMessageIsCut) {
  PlanBuilder b(std::string(3000, 'g'));
  auto x = b.argument(f32, {1});
  b.yields({x});
  Floats in({2}), out({1});
  EXPECT_EQ(run(b.build(), {in, out}), badShape);
  EXPECT_EQ(lastError().size(), 999u);
  EXPECT_EQ(lastError().substr(990), "gggggg...");
}

TEST(Errors, AContextIsUsableAfterARunThatFailed) {
  Plan p = add3();
  Context c(p);
  Floats x({3}, {1, 2, 3}), y({2}), sum({3});
  EXPECT_EQ(runIn(c, {x, x, y, sum}), badShape); // the second op: the first has left its value in the pool
  ASSERT_EQ(runIn(c, {x, x, x, sum}), ok) << lastError();
  EXPECT_EQ(sum.values(), (V{3, 6, 9}));
  EXPECT_EQ(coppice_run_in(nullptr, nullptr, 0), failed);
}

TEST(Errors, APlanOfAnotherVersion) {
  Plan p = add3();
  p.header().abi = 2;
  EXPECT_EQ(coppice_context_create(p), nullptr);
  EXPECT_EQ(lastError(), "the plan of a graph has version 2, this runtime reads version 1: link with the coppice that "
                         "libcoppice.a came with");
}

TEST(Errors, BelongToTheirThread) {
  Plan p = add3();
  std::string ofOther;
  EXPECT_EQ(run(p, {}), failed);
  std::thread([&] { ofOther = lastError(); }).join();
  EXPECT_EQ(ofOther, "");
  EXPECT_NE(lastError(), "");
}

// ---- Contexts

TEST(Context, ASecondRunAllocatesNothing) {
  PlanBuilder b("steady");
  auto x = b.argument(f32, {-1}), t = b.dynamic(f32, {-1}), u = b.dynamic(f32, {-1}), y = b.dynamic(f32, {-1});
  static const coppice_kernel withScratch{COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *c) -> int32_t {
                                            return c->scratch(c, 5000) ? incrementFloats(c) : outOfMemory;
                                          }};
  b.op(unary(increment, x, t));
  b.op(unary(positive, t, u));
  b.op(binary(u, t, y, {t, u}));
  auto z = b.dynamic(f32, {-1});
  b.op(unary(withScratch, y, z));
  b.yields({z});
  Plan p = b.build();
  Context c(p);
  Floats in({100}, V(100, 1)), out({100});
  ASSERT_EQ(runIn(c, {in, out}), ok) << lastError();
  std::vector<DLTensor *> all{in, out};
  allocations = 0;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(coppice_run_in(c, all.data(), 2), ok);
  EXPECT_EQ(allocations, 0);
}

TEST(Context, MemoryOfSizesThatDoNotComeBackIsFreed) {
  static uint64_t wanted;
  static const coppice_kernel k{COPPICE_ABI, sizeof(coppice_kernel), 0,
                                [](coppice_call *c) -> int32_t { return c->scratch(c, wanted) ? ok : outOfMemory; }};
  Plan p = one(k, {1}, {1});
  Context c(p);
  Floats in({1}), out({1});
  auto allocationsOfRun = [&](uint64_t bytes) {
    wanted = bytes;
    allocations = 0;
    EXPECT_EQ(runIn(c, {in, out}), ok);
    return allocations;
  };
  std::vector<DLTensor *> all{in, out};
  EXPECT_EQ(allocationsOfRun(1000), 1);
  EXPECT_EQ(allocationsOfRun(1000), 0);
  EXPECT_EQ(allocationsOfRun(100000), 1);
  EXPECT_EQ(allocationsOfRun(1000), 0) << "still there";
  for (uint64_t i = 1; i < 20; ++i) allocationsOfRun(uint64_t(1) << 16 << i % 10);
  EXPECT_EQ(allocationsOfRun(1000), 1) << "not used for long, and the pool has grown since";
}

TEST(Context, TheKernelForTheBestLevelOfThisCpu) {
  static int used;
  static const coppice_kernel v4{COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *) { return used = 4, 0; }};
  static const coppice_kernel v3{COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *) { return used = 3, 0; }};
  static const coppice_kernel any{COPPICE_ABI, sizeof(coppice_kernel), 0, [](coppice_call *) { return used = 1, 0; }};
  auto plan = [](std::vector<PlanBuilder::Level> kernels) {
    PlanBuilder b("m");
    auto x = b.argument(f32, {1}), y = b.dynamic(f32, {1});
    b.op({.kernels = kernels,
          .node = "/conv1",
          .op = "onnx.Conv",
          .inputs = {x},
          .outputs = {y},
          .releases = {},
          .attributes = {}});
    b.yields({y});
    return b.build();
  };
  Plan three = plan({{4, &v4}, {3, &v3}, {0, &any}}), needsV3 = plan({{4, &v4}, {3, &v3}});
  Floats in({1}), out({1});
  auto usedAt = [&](const char *level) {
    used = 0;
    setenv("COPPICE_CPU_LEVEL", level, 1);
    EXPECT_EQ(run(three, {in, out}), ok) << lastError();
    return used;
  };
  __builtin_cpu_init();
  int best = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") ? 4
             : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")        ? 3
                                                                                      : 1;
  EXPECT_EQ(usedAt(""), best);
  EXPECT_EQ(usedAt("9"), best) << "not a level: nothing changes";
  EXPECT_EQ(usedAt("4"), best) << "it cannot be raised";
  EXPECT_EQ(usedAt("3"), std::min(best, 3));
  EXPECT_EQ(usedAt("2"), 1);
  EXPECT_EQ(usedAt("1"), 1);
  EXPECT_EQ(run(needsV3, {in, out}), failed);
  EXPECT_EQ(lastError(), "graph m: node \"/conv1\" (onnx.Conv): the kernel needs a CPU of level x86-64-v3, this one is "
                         "x86-64-v1: link with --target=cpu:x86-64");
  unsetenv("COPPICE_CPU_LEVEL");
}

// ---- Weights in a file

struct Weights : testing::Test {
  std::string path = testing::TempDir() + "coppice_weights_" + std::to_string(getpid());
  ~Weights() override { unlink(path.c_str()); }
  void write(uint64_t bytes, uint64_t hash, std::vector<float> data, const char *magic = "COPPICEW") {
    coppice_weights_header h{};
    std::memcpy(h.magic, magic, 8);
    h.bytes = bytes;
    h.hash = hash;
    std::ofstream f(path, std::ios::binary);
    f.write(reinterpret_cast<const char *>(&h), sizeof h);
    f.write(reinterpret_cast<const char *>(data.data()), std::streamsize(data.size() * sizeof(float)));
  }
  Plan plan(std::string file) {
    PlanBuilder b("w");
    auto x = b.argument(f32, {2}), k = b.constant(f32, {2}, 0), y = b.dynamic(f32, {2});
    b.op(binary(x, k, y));
    b.yields({y});
    b.weightsFile = file;
    b.weightsBytes = 8;
    b.weightsHash = 0x1234;
    return b.build();
  }
  void expectError(const Plan &p, const std::string &what) {
    EXPECT_EQ(coppice_context_create(p), nullptr);
    EXPECT_EQ(lastError(), "graph w: its weights in \"" + path + "\"" + what);
    Floats in({2}), out({2});
    EXPECT_EQ(run(p, {in, out}), failed);
  }
};

TEST_F(Weights, AreMappedOnceForAllThreads) {
  write(8, 0x1234, {10, 20});
  Plan p = plan(path);
  auto work = [&] {
    Floats in({2}, {1, 2}), out({2});
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(run(p, {in, out}), ok) << lastError();
      ASSERT_EQ(out.values(), (V{11, 22}));
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(coppice_open_weights(p), coppice_open_weights(p));
}

TEST_F(Weights, ARelativeNameIsLookedForBesideTheExecutable) {
  char exe[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", exe, sizeof exe - 1), 0);
  std::string name = "runtime_test_weights_" + std::to_string(getpid());
  path = std::string(exe, size_t(std::strrchr(exe, '/') - exe) + 1) + name;
  write(8, 0x1234, {10, 20});
  Plan p = plan(name);
  Floats in({2}, {1, 2}), out({2});
  ASSERT_EQ(run(p, {in, out}), ok) << lastError();
  EXPECT_EQ(out.values(), (V{11, 22}));
}

TEST_F(Weights, ThatAreMissingOrWrongAreAnError) {
  Plan p = plan(path);
  expectError(p, " are missing: no such file");
  write(8, 0x9999, {10, 20});
  expectError(p, " are not those that the program was linked with (hash differs)");
  write(12, 0x1234, {10, 20, 30});
  expectError(p, " are not those that the program was linked with (size differs)");
  write(8, 0x1234, {10});
  expectError(p, " cannot be used: the file has 68 bytes, not 72");
  write(8, 0x1234, {10, 20}, "ELFELFEL");
  expectError(p, " cannot be used: not a file of weights (it must begin with \"COPPICEW\")");
  std::ofstream(path) << "short";
  expectError(p, " cannot be used: not a file of weights (it must begin with \"COPPICEW\")");
  path = "/";
  expectError(plan("/"), " cannot be read: not a regular file");
}

// ---- C++ calls (graph.h). A tag as the macros make them, with a plan made by hand.

struct Add3Tag {
  using type = void;
  static constexpr const char *spelling() { return "add3"; }
  static const coppice_plan *plan() {
    static Plan p = add3();
    return p;
  }
};
constexpr coppice::detail::graph<Add3Tag> typedAdd3{};
struct OtherTag : Add3Tag {
  static const coppice_plan *plan() {
    static Plan p = one(increment, {-1, -1}, {-1, -1});
    return p;
  }
};
constexpr coppice::detail::graph<OtherTag> typedOther{};

TEST(TypedCall, TakesArraysContainersAndBorrowedMemory) {
  std::vector<float> x{1, 2};
  const std::array<float, 2> y{10, 20};
  const float z[2] = {100, 200};
  float memory[2];
  auto sum = coppice::borrow(memory, 2);
  ASSERT_EQ(typedAdd3(x, y, z, sum), coppice::status::ok) << coppice::last_error();
  EXPECT_EQ(memory[1], 222);
  ASSERT_EQ(typedAdd3(std::span<const float>(y), x, coppice::borrow(z, 2), x), coppice::status::ok)
      << coppice::last_error();
  EXPECT_EQ(x, (V{111, 222}));

  float matrix[2][3] = {{1, 2, 3}, {4, 5, 6}}, next[2][3];
  ASSERT_EQ(typedOther(matrix, next), coppice::status::ok) << coppice::last_error();
  EXPECT_EQ(next[1][2], 7);
}

TEST(TypedCall, EmptyContainersAreEmptyTensorsAndNullPointersAnError) {
  std::vector<float> none, sum;
  ASSERT_EQ(typedAdd3(none, none, none, sum), coppice::status::ok) << coppice::last_error();
  float *null = nullptr, x[2] = {};
  EXPECT_EQ(typedAdd3(x, x, x, coppice::borrow(null, 2)), coppice::status::failed);
  EXPECT_STREQ(coppice::last_error(), "graph add3: result 1 has no data");
  EXPECT_EQ(typedAdd3(x, coppice::borrow(null, 2), x, x), coppice::status::failed);
  EXPECT_STREQ(coppice::last_error(), "graph add3: argument 2 of shape (2) has no data");
}

TEST(TypedCall, ATensorIsAllocatedByTheGraphAndMayBeGivenAgain) {
  coppice::tensor<float, 1> t;
  EXPECT_EQ(t.data(), nullptr);
  EXPECT_EQ(t.size(), 0);
  float x[2] = {1, 2};
  ASSERT_EQ(typedAdd3(x, x, x, t), coppice::status::ok) << coppice::last_error();
  EXPECT_EQ(t.dim(0), 2);
  EXPECT_EQ(V(t.begin(), t.end()), (V{3, 6}));
  ASSERT_EQ(typedAdd3(t, t, x, t), coppice::status::ok) << coppice::last_error(); // argument and result
  EXPECT_EQ(V(t.begin(), t.end()), (V{7, 14}));
  const coppice::tensor<float, 1> moved = std::move(t);
  float y[3] = {1, 2, 3};
  ASSERT_EQ(typedAdd3(y, y, y, t), coppice::status::ok) << coppice::last_error(); // of another size
  EXPECT_EQ(t.size(), 3);
  EXPECT_EQ(typedAdd3(moved, t, moved, t), coppice::status::bad_shape);
  EXPECT_EQ(t.size(), 3) << "a failed run leaves it alone";

  coppice::tensor<float, 2> matrix;
  EXPECT_EQ(typedAdd3(x, x, x, matrix), coppice::status::bad_shape);
  EXPECT_STREQ(coppice::last_error(), "graph add3: result 1 has rank 2, the graph computes the shape (2)");
  coppice::tensor<int64_t, 1> integers;
  EXPECT_EQ(typedAdd3(x, x, x, integers), coppice::status::bad_shape);
  coppice::tensor<float> anyRank;
  ASSERT_EQ(typedAdd3(x, x, x, anyRank), coppice::status::ok) << coppice::last_error();
  EXPECT_EQ(anyRank.rank(), 1);
  coppice::tensor<float, 1> empty;
  EXPECT_EQ(typedAdd3(empty, x, x, t), coppice::status::bad_shape) << "nothing was ever written to it";
}

TEST(TypedCall, DLTensorsAndTheUntypedForm) {
  Floats x({2}, {1, 2}), sum({2});
  ASSERT_EQ(typedAdd3(x.dl, &x.dl, x.dl, sum.dl), coppice::status::ok) << coppice::last_error();
  EXPECT_EQ(sum.values(), (V{3, 6}));
  DLTensor *all[] = {x, x, sum, sum};
  ASSERT_EQ(typedAdd3(all, 4), coppice::status::ok) << coppice::last_error();
  EXPECT_EQ(sum.values(), (V{5, 10}));
}

TEST(TypedCall, InAContext) {
  coppice::context c(typedAdd3);
  ASSERT_TRUE(c);
  float x[2] = {1, 2}, sum[2];
  ASSERT_EQ(typedAdd3(c, x, x, x, sum), coppice::status::ok) << coppice::last_error();
  allocations = 0;
  ASSERT_EQ(typedAdd3(c, x, x, x, sum), coppice::status::ok) << coppice::last_error();
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(typedOther(c, x, sum), coppice::status::failed);
  EXPECT_STREQ(coppice::last_error(), "coppice_run_in: no context, or one that belongs to another graph");
}

} // namespace
