// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Edge cases of the ONNX kernels, each called by itself. The usual cases are those of PyPI's onnx (kernels/onnx/tests).
#include "run_kernel.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <thread>

using namespace coppice;
using namespace coppice::test;

namespace {

using floats = std::vector<float>;
using longs = std::vector<int64_t>;
constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

tensor f32(std::vector<int64_t> shape, floats values) { return tensor_of<float>(shape, values); }
tensor i64(longs values) { return tensor_of<int64_t>({int64_t(values.size())}, values); }
tensor random_tensor(std::vector<int64_t> shape, unsigned seed) {
  tensor t(dtype_of<float>(), shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = distribution(random);
  return t;
}

/// Runs the op on the kernels of all CPU levels, and in place where they may: all must say the same about shapes and
/// status, and the first is returned.
outcome run_all(const node &n) {
  outcome first;
  bool any = false;
  for (const kernel *k : fitting(n)) {
    if (!runnable(*k)) {
      std::cout << "skipped: " << k->op << "$" << k->variant << ", this CPU is not " << k->target << "\n";
      continue;
    }
    for (int over = -1; over < (k->in_place() ? int(n.inputs.size()) : 0); ++over) {
      outcome o = run(*k, n, over);
      if (!any) first = o;
      any = true;
      EXPECT_EQ(int(o.result), int(first.result)) << k->variant << " over " << over << ": " << o.message;
      if (o.result != status::ok || first.result != status::ok) continue;
      EXPECT_EQ(o.outputs[0].shape, first.outputs[0].shape) << k->variant;
      EXPECT_EQ(0,
                over < 0 ? 0 : memcmp(o.outputs[0].data(), first.outputs[0].data(), size_t(first.outputs[0].bytes())))
          << n.op << "$" << k->variant << " over operand " << over;
    }
  }
  EXPECT_TRUE(any) << "no kernel of " << n.op << " fits";
  return first;
}
floats floats_of(const node &n) {
  outcome o = run_all(n);
  EXPECT_EQ(o.result, status::ok) << n.op << ": " << o.message;
  return o.result == status::ok ? values_of<float>(o.outputs[0]) : floats{};
}
std::vector<int64_t> shape_of(const node &n) {
  outcome o = run_all(n);
  EXPECT_EQ(o.result, status::ok) << n.op << ": " << o.message;
  return o.result == status::ok ? o.outputs[0].shape : longs{};
}

TEST(OnnxBroadcast, BothOperandsRepeat) {
  tensor a = f32({1, 3}, {1, 2, 3}), b = f32({2, 1}, {10, 20});
  EXPECT_EQ(floats_of({"onnx.Add", 14, {}, {&a, &b}}), (floats{11, 12, 13, 21, 22, 23}));
}
TEST(OnnxBroadcast, ScalarAndEmpty) {
  tensor a = f32({}, {2}), b = f32({0, 3}, {}), c = f32({1, 1, 1}, {5});
  EXPECT_EQ(shape_of({"onnx.Mul", 14, {}, {&a, &b}}), (longs{0, 3}));
  EXPECT_EQ(shape_of({"onnx.Mul", 14, {}, {&a, &c}}), (longs{1, 1, 1}));
}
TEST(OnnxBroadcast, ThirdOperandBringsTheShape) {
  tensor a = f32({}, {1}), b = f32({1}, {2}), c = f32({4}, {0, 1, 2, 3});
  EXPECT_EQ(floats_of({"onnx.Max", 13, {}, {&a, &b, &c}}), (floats{2, 2, 2, 3}));
}
TEST(OnnxBroadcast, OneOperandTwice) {
  tensor a = f32({3}, {1, 2, 3}), b = f32({3}, {3, 2, 1});
  EXPECT_EQ(floats_of({"onnx.Add", 14, {}, {&a, &a}}), (floats{2, 4, 6}));
  EXPECT_EQ(floats_of({"onnx.Max", 13, {}, {&a, &b, &a}}), (floats{3, 2, 3}));
  EXPECT_EQ(floats_of({"onnx.Sum", 13, {}, {&a, &b, &a}}), (floats{5, 6, 7}));
}
TEST(OnnxBroadcast, ResultOfSmallerElementsIsNotInPlace) {
  // [1, 4] int32 and the [4, 4] bools of the result are both 16 bytes.
  tensor a = tensor_of<int32_t>({1, 4}, {0, 1, 2, 3}), b = tensor_of<int32_t>({4, 1}, {0, 1, 2, 3});
  outcome o = run_all({"onnx.Equal", 13, {}, {&a, &b}});
  EXPECT_EQ(values_of<uint8_t>(o.outputs[0]), (std::vector<uint8_t>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
}

TEST(OnnxArithmetic, IntegersNeverTrap) {
  int32_t lowest = std::numeric_limits<int32_t>::min();
  tensor a = tensor_of<int32_t>({3}, {lowest, 7, -7}), b = tensor_of<int32_t>({3}, {-1, 0, 2});
  outcome o = run_all({"onnx.Div", 14, {}, {&a, &b}});
  EXPECT_EQ(values_of<int32_t>(o.outputs[0]), (std::vector<int32_t>{lowest, 0, -3}));
  tensor c = tensor_of<uint16_t>({1}, {65535});
  o = run_all({"onnx.Mul", 14, {}, {&c, &c}});
  EXPECT_EQ(values_of<uint16_t>(o.outputs[0]), (std::vector<uint16_t>{1}));
}
TEST(OnnxArithmetic, NanIsKept) {
  tensor a = f32({4}, {nan, 1, nan, 2}), b = f32({4}, {1, nan, nan, 3});
  for (const char *op : {"onnx.Max", "onnx.Min"}) {
    floats z = floats_of({op, 13, {}, {&a, &b}});
    EXPECT_TRUE(std::isnan(z[0]) && std::isnan(z[1]) && std::isnan(z[2])) << op;
  }
  tensor c = f32({2, 40}, floats(80, 1));
  c.data<float>()[33] = nan;
  floats z = floats_of({"onnx.ReduceMax", 13, {attribute::of("axes", longs{1}), attribute::of("keepdims", 0)}, {&c}});
  EXPECT_TRUE(std::isnan(z[0]));
  EXPECT_EQ(z[1], 1);
  tensor d = f32({1, 1, 3}, {0, nan, 1});
  EXPECT_TRUE(std::isnan(floats_of({"onnx.GlobalMaxPool", 22, {}, {&d}})[0]));
}
TEST(OnnxArithmetic, FunctionsAtTheirEnds) {
  tensor x = f32({7}, {infinity, -infinity, nan, 0, -0.0f, 1000, -1000});
  floats e = floats_of({"onnx.Exp", 13, {}, {&x}}), t = floats_of({"onnx.Tanh", 13, {}, {&x}}),
         s = floats_of({"onnx.Sigmoid", 13, {}, {&x}});
  EXPECT_EQ(e[0], infinity);
  EXPECT_EQ(e[1], 0);
  EXPECT_TRUE(std::isnan(e[2]) && std::isnan(t[2]) && std::isnan(s[2]));
  EXPECT_EQ(e[3], 1);
  EXPECT_EQ(e[5], infinity);
  EXPECT_EQ(e[6], 0);
  EXPECT_EQ(t[0], 1);
  EXPECT_EQ(t[1], -1);
  EXPECT_EQ(t[3], 0);
  EXPECT_TRUE(std::signbit(t[4]));
  EXPECT_EQ(t[5], 1);
  EXPECT_EQ(s[0], 1);
  EXPECT_EQ(s[1], 0);
  EXPECT_EQ(s[3], 0.5f);
}
TEST(OnnxCast, OutOfRangeIsDefined) {
  tensor x = f32({5}, {nan, 3e9f, -3e9f, 300, -1.5f});
  int32_t lowest = std::numeric_limits<int32_t>::min();
  outcome o = run_all({"onnx.Cast", 13, {attribute::of("to", 6)}, {&x}});
  EXPECT_EQ(values_of<int32_t>(o.outputs[0]), (std::vector<int32_t>{lowest, lowest, lowest, 300, -1}));
  o = run_all({"onnx.Cast", 13, {attribute::of("to", 2)}, {&x}});
  EXPECT_EQ(values_of<uint8_t>(o.outputs[0]), (std::vector<uint8_t>{0, 0, 0, 44, 255}));
  tensor b = tensor_of<uint8_t>({3}, {0, 1, 200});
  b.dtype = dtype_of<bool>();
  o = run_all({"onnx.Cast", 13, {attribute::of("to", 1)}, {&b}});
  EXPECT_EQ(values_of<float>(o.outputs[0]), (floats{0, 1, 1}));
}

// The order of sums is part of the contract (docs/onnx-kernels.md): these compare bits.
TEST(OnnxReduce, MiddleAxisIsSummedInIndexOrder) {
  const int64_t a = 2, b = 777, c = 37;
  tensor x = random_tensor({a, b, c}, 1);
  floats want;
  for (int64_t i = 0; i < a; ++i)
    for (int64_t k = 0; k < c; ++k) {
      float sum = 0;
      for (int64_t j = 0; j < b; ++j) sum += x.data<float>()[(i * b + j) * c + k];
      want.push_back(sum);
    }
  tensor axes = i64({1});
  EXPECT_EQ(floats_of({"onnx.ReduceSum", 13, {attribute::of("keepdims", 0)}, {&x, &axes}}), want);
}
TEST(OnnxReduce, InnermostAxisIsSummedInSixteenParts) {
  const int64_t n = 1003;
  tensor x = random_tensor({n}, 2);
  float part[16] = {};
  for (int64_t i = 0; i < n / 16 * 16; ++i) part[i % 16] += x.data<float>()[i];
  for (int w = 8; w; w /= 2)
    for (int j = 0; j < w; ++j) part[j] += part[j + w];
  for (int64_t i = n / 16 * 16; i < n; ++i) part[0] += x.data<float>()[i];
  EXPECT_EQ(floats_of({"onnx.ReduceSum", 13, {}, {&x}}), floats{part[0]});
}
TEST(OnnxReduce, OfNothing) {
  tensor x = f32({2, 0}, {});
  tensor axes = i64({1});
  EXPECT_EQ(floats_of({"onnx.ReduceSum", 13, {attribute::of("keepdims", 0)}, {&x, &axes}}), (floats{0, 0}));
  EXPECT_EQ(floats_of({"onnx.ReduceMax", 18, {attribute::of("keepdims", 0)}, {&x, &axes}}),
            (floats{-infinity, -infinity}));
}

TEST(OnnxShape, PartsOfAShape) {
  tensor x(dtype_of<int8_t>(), {2, 3, 4});
  auto part = [&](int64_t start, int64_t end) {
    return values_of<int64_t>(
        run_all({"onnx.Shape", 15, {attribute::of("start", start), attribute::of("end", end)}, {&x}}).outputs[0]);
  };
  EXPECT_EQ(part(-2, 100), (longs{3, 4}));
  EXPECT_EQ(part(2, 1), longs{});
  EXPECT_EQ(part(-100, -1), (longs{2, 3}));
}

TEST(OnnxBadShape, IsReportedAndNeverRead) {
  tensor a = f32({2, 3}, floats(6, 1)), b = f32({2}, {1, 1}), s = f32({}, {1}), e = f32({0}, {});
  tensor x4 = f32({1, 2, 3, 3}, floats(18, 1)), w = f32({2, 2, 2, 2}, floats(16, 1)),
         w1 = f32({2, 1, 2, 2}, floats(8, 1));
  tensor bias = f32({3}, {1, 1, 1});
  std::vector<tensor> lists;
  lists.reserve(64); // pointers into it stay
  auto list = [&](longs v) { return &lists.emplace_back(i64(v)); };
  const int64_t huge = int64_t(1) << 62;
  node bad[] = {
      {"onnx.Add", 14, {}, {&a, &b}},
      {"onnx.Add", 6, {}, {&a, &b}},
      {"onnx.Add", 6, {attribute::of("broadcast", 1), attribute::of("axis", 1)}, {&a, &b}},
      {"onnx.Add", 6, {attribute::of("broadcast", 1), attribute::of("axis", -7)}, {&a, &b}},
      {"onnx.Max", 13, {}, {&a, &b}},
      {"onnx.Equal", 13, {}, {&a, &b}},
      {"onnx.MatMul", 13, {}, {&a, &a}},
      {"onnx.MatMul", 13, {}, {&a, &s}},
      {"onnx.MatMul", 13, {}, {&b, &bias}},
      {"onnx.ReduceSum", 13, {}, {&a, list({2})}},
      {"onnx.ReduceSum", 13, {}, {&a, list({-3})}},
      {"onnx.ReduceMax", 13, {attribute::of("axes", longs{huge})}, {&a}},
      {"onnx.GlobalMaxPool", 22, {}, {&b}},
      {"onnx.Reshape", 14, {}, {&a, list({4})}},
      {"onnx.Reshape", 14, {}, {&a, list({-1, -1})}},
      {"onnx.Reshape", 14, {}, {&a, list({-2, -3})}},
      {"onnx.Reshape", 14, {}, {&a, list({-1, 4})}},
      {"onnx.Reshape", 14, {}, {&a, list({1, 1, 0})}},
      {"onnx.Reshape", 14, {}, {&e, list({0, -1})}},
      {"onnx.Reshape", 14, {}, {&a, list({huge, 4})}},
      {"onnx.Reshape", 14, {}, {&a, list({1, 1, 1, 1, 1, 1, 1, 1, 6})}},
      {"onnx.Squeeze", 13, {}, {&a, list({0})}},
      {"onnx.Squeeze", 13, {}, {&a, list({2})}},
      {"onnx.Unsqueeze", 13, {}, {&a, list({4})}},
      {"onnx.Unsqueeze", 13, {}, {&a, list({0, 0})}},
      {"onnx.Unsqueeze", 13, {}, {&a, list({0, 1, 2, 3, 4, 5, 6})}},
      {"onnx.Transpose", 13, {attribute::of("perm", longs{0})}, {&a}},
      {"onnx.Transpose", 13, {attribute::of("perm", longs{0, 0})}, {&a}},
      {"onnx.Transpose", 13, {attribute::of("perm", longs{0, 2})}, {&a}},
      {"onnx.Expand", 13, {}, {&a, list({4})}},
      {"onnx.Expand", 13, {}, {&a, list({-2, 1, 1})}},
      {"onnx.Concat", 13, {attribute::of("axis", 2)}, {&a, &a}},
      {"onnx.Concat", 13, {attribute::of("axis", 0)}, {&a, &b}},
      {"onnx.Slice", 13, {}, {&a, list({0}), list({1, 1})}},
      {"onnx.Slice", 13, {}, {&a, list({0}), list({1}), list({2})}},
      {"onnx.Slice", 13, {}, {&a, list({0}), list({1}), list({0}), list({0})}},
      {"onnx.Slice", 13, {}, {&a, list({0, 0}), list({1, 1}), list({1, -1})}},
      {"onnx.Conv", 22, {}, {&a, &w}},
      {"onnx.Conv", 22, {}, {&x4, &w1}},
      {"onnx.Gemm", 13, {}, {&a, &a}},
      {"onnx.Gemm", 13, {attribute::of("transB", 1)}, {&a, &a, &bias}},
      {"onnx.Gather", 13, {}, {&a, list({2})}},
      {"onnx.Gather", 13, {}, {&a, list({-3})}},
      {"onnx.Gather", 13, {attribute::of("axis", 2)}, {&a, list({0})}},
      {"onnx.Softmax", 13, {attribute::of("axis", 2)}, {&a}},
      {"onnx.Conv", 22, {attribute::of("group", 0)}, {&x4, &w}},
      {"onnx.Conv", 22, {attribute::of("group", 3)}, {&x4, &w}},
      {"onnx.Conv", 22, {}, {&x4, &w, &bias}},
      {"onnx.Conv", 22, {attribute::of("strides", longs{0, 1})}, {&x4, &w}},
      {"onnx.Conv", 22, {attribute::of("strides", longs{1})}, {&x4, &w}},
      {"onnx.Conv", 22, {attribute::of("pads", longs{-1, 0, 0, 0})}, {&x4, &w}},
      {"onnx.Conv", 22, {attribute::of("pads", longs{1, 1})}, {&x4, &w}},
      {"onnx.Conv", 22, {attribute::of("dilations", longs{9, 9})}, {&x4, &w}},
      {"onnx.Conv", 22, {attribute::of("dilations", longs{huge, huge})}, {&x4, &w}},
      {"onnx.Conv", 22, {attribute::of("kernel_shape", longs{3, 3})}, {&x4, &w}},
  };
  for (const node &n : bad) {
    outcome o = run_all(n);
    EXPECT_EQ(o.result, status::bad_shape) << n.op << ", case " << &n - bad;
    EXPECT_FALSE(o.message.empty()) << n.op << ", case " << &n - bad;
  }
}
TEST(OnnxBadShape, OutOfMemoryIsPassedOn) {
  tensor a = f32({1}, {1}), shape = i64({int64_t(1) << 40, 1 << 20});
  EXPECT_EQ(run_all({"onnx.Expand", 13, {}, {&a, &shape}}).result, status::out_of_memory);
}

TEST(OnnxEmpty, TensorsWithoutElements) {
  tensor a = f32({0, 3}, {}), b = f32({3, 0}, {}), shape = i64({0, 3}), zero = i64({0}), one = i64({1});
  EXPECT_EQ(shape_of({"onnx.MatMul", 13, {}, {&a, &b}}), (longs{0, 0}));
  EXPECT_EQ(floats_of({"onnx.MatMul", 13, {}, {&b, &a}}), floats(9, 0));
  EXPECT_EQ(shape_of({"onnx.Transpose", 13, {}, {&a}}), (longs{3, 0}));
  EXPECT_EQ(shape_of({"onnx.Tanh", 13, {}, {&a}}), (longs{0, 3}));
  EXPECT_EQ(shape_of({"onnx.Concat", 13, {attribute::of("axis", 0)}, {&a, &a}}), (longs{0, 3}));
  EXPECT_EQ(shape_of({"onnx.Concat", 13, {attribute::of("axis", 1)}, {&a, &a}}), (longs{0, 6}));
  EXPECT_EQ(shape_of({"onnx.Expand", 13, {}, {&a, &shape}}), (longs{0, 3}));
  EXPECT_EQ(shape_of({"onnx.Slice", 13, {}, {&a, &zero, &one}}), (longs{0, 3}));
  EXPECT_EQ(shape_of({"onnx.Cast", 13, {attribute::of("to", 7)}, {&a}}), (longs{0, 3}));
  tensor x = f32({0, 2, 5}, {}), w = f32({4, 2, 3}, floats(24, 1));
  EXPECT_EQ(shape_of({"onnx.Conv", 22, {}, {&x, &w}}), (longs{0, 4, 3}));
}

/// Largest difference to the product in double, over the sum of magnitudes.
void expect_product(const kernel &k, int64_t m, int64_t n, int64_t depth) {
  tensor a = random_tensor({m, depth}, unsigned(m)), b = random_tensor({depth, n}, unsigned(n) + 100);
  outcome o = run(k, {"onnx.MatMul", 13, {}, {&a, &b}});
  ASSERT_EQ(o.result, status::ok);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double want = 0, magnitude = 0;
      for (int64_t p = 0; p < depth; ++p) {
        double term = double(a.data<float>()[i * depth + p]) * double(b.data<float>()[p * n + j]);
        want += term;
        magnitude += std::fabs(term);
      }
      ASSERT_NEAR(o.outputs[0].data<float>()[i * n + j], want, 1e-6 * magnitude + 1e-30)
          << k.variant << " " << m << "x" << depth << "x" << n << " at " << i << ", " << j;
    }
}
TEST(OnnxMatMul, AllSizesUpTo40OnAllLevels) {
  tensor probe = f32({1, 1}, {1});
  for (const kernel *k : fitting({"onnx.MatMul", 13, {}, {&probe, &probe}})) {
    if (!runnable(*k)) {
      std::cout << "skipped: " << k->variant << ", this CPU is not " << k->target << "\n";
      continue;
    }
    for (int64_t m = 1; m <= 40; ++m)
      for (int64_t n = 1; n <= 40; ++n) expect_product(*k, m, n, 1 + (m * 7 + n) % 40);
    for (int64_t depth : {319, 320, 321, 641, 1000}) expect_product(*k, 13, 33, depth); // around the blocks
    for (int64_t m : {119, 120, 121, 241}) expect_product(*k, m, 35, 30);
    for (int64_t n : {1023, 1024, 1025, 2050}) expect_product(*k, 7, n, 9);
    for (int64_t n : {1023, 1024, 1025, 2050}) expect_product(*k, 1, n, 330);
  }
}
TEST(OnnxMatMul, ManyThreadsAtOnce) {
  tensor a = random_tensor({130, 400}, 1), b = random_tensor({400, 70}, 2);
  node n{"onnx.MatMul", 13, {}, {&a, &b}};
  for (const kernel *k : fitting(n)) {
    if (!runnable(*k)) continue;
    floats want = values_of<float>(run(*k, n).outputs[0]);
    std::vector<std::thread> threads;
    std::vector<int> same(8);
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) same[size_t(t)] += values_of<float>(run(*k, n).outputs[0]) == want;
      });
    for (auto &t : threads) t.join();
    EXPECT_EQ(same, std::vector<int>(8, 20)) << k->variant;
  }
}

} // namespace
