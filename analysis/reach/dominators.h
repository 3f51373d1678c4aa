// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dominators of a directed graph: d dominates v if every path from the root to v leads through d. What v's immediate
// dominator keeps alive includes v; if it goes, v goes. Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators
// and Related Problems", 2005), the algorithm of LLVM's own dominator trees, on flat arrays.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace coppice {

/// Edges of vertex v: targets[first[v]] up to targets[first[v + 1]].
struct FlatGraph {
  std::vector<uint32_t> first = {0}, targets;

  uint32_t size() const { return uint32_t(first.size() - 1); }
  llvm::ArrayRef<uint32_t> of(uint32_t vertex) const {
    return llvm::ArrayRef(targets).slice(first[vertex], first[vertex + 1] - first[vertex]);
  }
  /// Closes the edges of the next vertex, which were appended to `targets`.
  void endVertex() { first.push_back(uint32_t(targets.size())); }
  /// The edges the other way.
  FlatGraph reversed() const;
};

/// For each vertex its immediate dominator; for the root, and what it does not reach, the vertex itself.
std::vector<uint32_t> immediateDominators(const FlatGraph &successors, const FlatGraph &predecessors, uint32_t root);

/// A tree in which each parent has a lower number than its children, to ask who stands above whom.
class TreeOrder {
public:
  /// A root is its own parent.
  explicit TreeOrder(llvm::ArrayRef<uint32_t> parents);
  /// Is `above` on the way from `below` to its root, or `below` itself?
  bool isAbove(uint32_t above, uint32_t below) const {
    return place[above] <= place[below] && place[below] - place[above] < count[above];
  }

private:
  std::vector<uint32_t> place, count;
};

} // namespace coppice
