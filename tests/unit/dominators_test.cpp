// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/dominators.h"
#include "gtest/gtest.h"
#include <random>

using namespace coppice;

namespace {

FlatGraph graphOf(const std::vector<std::vector<uint32_t>> &edges) {
  FlatGraph graph;
  for (const auto &targets : edges) {
    graph.targets.insert(graph.targets.end(), targets.begin(), targets.end());
    graph.endVertex();
  }
  return graph;
}

std::vector<char> reached(const FlatGraph &graph, uint32_t root, uint32_t without) {
  std::vector<char> seen(graph.size());
  std::vector<uint32_t> next = {root};
  if (root == without) return seen;
  seen[root] = true;
  while (!next.empty()) {
    uint32_t v = next.back();
    next.pop_back();
    for (uint32_t target : graph.of(v))
      if (!seen[target] && target != without) seen[target] = true, next.push_back(target);
  }
  return seen;
}

// By the definition: d dominates v if v is not reached without d. Of all those the immediate one is dominated by the
// others.
std::vector<uint32_t> naive(const FlatGraph &graph, uint32_t root) {
  std::vector<char> all = reached(graph, root, ~0u);
  std::vector<std::vector<char>> without;
  for (uint32_t d = 0; d < graph.size(); ++d) without.push_back(reached(graph, root, d));
  std::vector<uint32_t> result(graph.size());
  for (uint32_t v = 0; v < graph.size(); ++v) {
    result[v] = v;
    if (!all[v] || v == root) continue;
    for (uint32_t d = 0; d < graph.size(); ++d) {
      if (d == v || !all[d] || without[d][v]) continue;
      if (result[v] == v || !without[result[v]][d]) result[v] = d;
    }
  }
  return result;
}

std::vector<uint32_t> dominators(const FlatGraph &graph, uint32_t root) {
  return immediateDominators(graph, graph.reversed(), root);
}

} // namespace

TEST(Dominators, OfADiamondIsItsTop) {
  FlatGraph graph = graphOf({{1, 2}, {3}, {3}, {}});
  EXPECT_EQ(dominators(graph, 0), (std::vector<uint32_t>{0, 0, 0, 0}));
}

TEST(Dominators, VerticesThatAreNotReachedStandAlone) {
  FlatGraph graph = graphOf({{1}, {}, {1}}); // 2 has no say in what keeps 1
  EXPECT_EQ(dominators(graph, 0), (std::vector<uint32_t>{0, 0, 2}));
}

TEST(Dominators, AreThoseOfTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    uint32_t size = 1 + random() % 24;
    std::vector<std::vector<uint32_t>> edges(size);
    uint32_t count = random() % (3 * size);
    for (uint32_t i = 0; i < count; ++i) edges[random() % size].push_back(random() % size);
    FlatGraph graph = graphOf(edges);
    uint32_t root = random() % size;
    ASSERT_EQ(dominators(graph, root), naive(graph, root)) << "round " << round;
  }
}

TEST(Dominators, OfALongChainWithJumpsBackTakeLinearTime) {
  std::vector<std::vector<uint32_t>> edges(1000000);
  for (uint32_t v = 0; v + 1 < edges.size(); ++v) edges[v] = {v + 1, v / 2};
  std::vector<uint32_t> result = dominators(graphOf(edges), 0);
  for (uint32_t v = 1; v < edges.size(); ++v) ASSERT_EQ(result[v], v - 1);
}

TEST(TreeOrder, SaysWhoStandsAboveWhom) {
  TreeOrder order(std::vector<uint32_t>{0, 0, 1, 3, 0, 3, 2}); // 0: 1: 2: 6, 4. 3: 5.
  EXPECT_TRUE(order.isAbove(0, 6));
  EXPECT_TRUE(order.isAbove(1, 6));
  EXPECT_TRUE(order.isAbove(6, 6));
  EXPECT_FALSE(order.isAbove(6, 1));
  EXPECT_FALSE(order.isAbove(4, 6));
  EXPECT_FALSE(order.isAbove(3, 6));
  EXPECT_TRUE(order.isAbove(3, 5));
}
