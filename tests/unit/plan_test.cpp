// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory and lifetimes of plans, on graphs whose ops all have one made-up kernel.
#include "analysis/graph/import.h"
#include "analysis/graph/plan.h"
#include "gtest/gtest.h"

using namespace coppice;
using namespace llvm;

namespace {
struct Planned {
  std::unique_ptr<mlir::MLIRContext> context = makeGraphContext();
  Diagnostics diagnostics;
  ImportedGraph imported;
  ResolvedGraph resolved;
  KernelDescriptor kernel;
  std::optional<GraphPlan> plan;

  explicit Planned(StringRef text, uint32_t flags = 0) {
    kernel.flags = flags;
    kernel.symbol = "coppice.kernel.t.op";
    imported = importMlir({text, "test.mlir"}, *context, diagnostics);
    if (!imported.module) return;
    resolved.name = "g";
    resolved.module = *imported.module;
    resolved.module.walk([&](mlir::Operation *op) {
      if (!isStructural(op)) resolved.choices[op].kernels = {&kernel};
    });
    plan = buildPlan(resolved, "test.mlir", diagnostics);
  }
};

constexpr char chain[] = R"(func.func @g(%a: tensor<256xf32>) -> tensor<256xf32> {
  %0 = "t.op"(%a) : (tensor<256xf32>) -> tensor<256xf32>
  %1 = "t.op"(%0) : (tensor<256xf32>) -> tensor<256xf32>
  %2 = "t.op"(%1) : (tensor<256xf32>) -> tensor<256xf32>
  %3 = "t.op"(%2) : (tensor<256xf32>) -> tensor<256xf32>
  return %3 : tensor<256xf32>
})";
} // namespace

TEST(Plan, AChainNeedsTwoBuffers) {
  Planned p(chain);
  ASSERT_TRUE(p.plan);
  EXPECT_EQ(p.plan->arenaBytes, 2048u);
  EXPECT_TRUE(p.plan->allStatic);
  EXPECT_EQ(p.plan->ops[1].releases, std::vector<int>{1}); // %0 dies where it is read last
}

TEST(Plan, AChainInPlaceNeedsOne) {
  Planned p(chain, /*COPPICE_IN_PLACE*/ 1);
  ASSERT_TRUE(p.plan);
  EXPECT_EQ(p.plan->arenaBytes, 1024u);
}

TEST(Plan, AValueThatIsReadLaterIsNotOverwritten) {
  Planned p(R"(func.func @g(%a: tensor<256xf32>) -> tensor<256xf32> {
    %0 = "t.op"(%a) : (tensor<256xf32>) -> tensor<256xf32>
    %1 = "t.op"(%0) : (tensor<256xf32>) -> tensor<256xf32>
    %2 = "t.op"(%1, %0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    return %2 : tensor<256xf32>
  })",
            1);
  ASSERT_TRUE(p.plan);
  EXPECT_NE(p.plan->values[1].offset, p.plan->values[2].offset);
  EXPECT_EQ(p.plan->arenaBytes, 2048u);
}

TEST(Plan, CallsAreWrittenOutAndConstantsSharedAndAligned) {
  Planned p(R"(func.func @g(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = func.call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
      %c = arith.constant dense<1.0> : tensor<4xf32>
      %d = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %0 = "t.op"(%a, %c, %d) : (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })");
  ASSERT_TRUE(p.plan);
  EXPECT_EQ(p.plan->ops.size(), 2u);
  ASSERT_EQ(p.plan->constants.size(), 2u);
  EXPECT_EQ(p.plan->values[p.plan->constants[1].value].offset, 64u);
  EXPECT_EQ(p.plan->constants[0].bytes().size(), 16u); // the splat is written out
  EXPECT_EQ(p.plan->weightsBytes, 72u);
}

TEST(Plan, RecursionAndAbsurdSizesAreReported) {
  Planned loop(R"(func.func @g(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  })");
  EXPECT_FALSE(loop.plan);
  ASSERT_TRUE(loop.diagnostics.hasErrors());
  EXPECT_EQ(loop.diagnostics.all()[0].code, "COP207");
  Planned large(R"(func.func @g(%a: tensor<4xf32>) -> tensor<1099511627776xf32> {
    %0 = "t.op"(%a) : (tensor<4xf32>) -> tensor<1099511627776xf32>
    return %0 : tensor<1099511627776xf32>
  })");
  EXPECT_FALSE(large.plan);
  EXPECT_EQ(large.diagnostics.all()[0].code, "COP208");
}
