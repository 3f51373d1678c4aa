// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/dominators.h"

using namespace llvm;

namespace coppice {

FlatGraph FlatGraph::reversed() const {
  FlatGraph result;
  result.first.assign(first.size(), 0);
  for (uint32_t target : targets) ++result.first[target + 1];
  for (uint32_t v = 0; v < size(); ++v) result.first[v + 1] += result.first[v];
  std::vector<uint32_t> next(result.first.begin(), result.first.end() - 1);
  result.targets.resize(targets.size());
  for (uint32_t v = 0; v < size(); ++v)
    for (uint32_t target : of(v)) result.targets[next[target]++] = v;
  return result;
}

namespace {

// Vertices by their number in a depth-first walk; all arrays but `number` are indexed by it.
class SemiNca {
public:
  SemiNca(const FlatGraph &successors, uint32_t root) : number(successors.size(), unreached) { walk(successors, root); }

  std::vector<uint32_t> run(const FlatGraph &predecessors) {
    uint32_t count = uint32_t(vertex.size());
    std::vector<uint32_t> dominator = ancestor; // of the walk, before eval() shortens its paths
    label.resize(count);
    for (uint32_t i = 0; i < count; ++i) label[i] = i;
    semi = label;
    for (uint32_t i = count; i-- > 1;) {
      semi[i] = dominator[i];
      for (uint32_t p : predecessors.of(vertex[i]))
        if (number[p] != unreached) semi[i] = std::min(semi[i], semi[eval(number[p], i + 1)]);
    }
    for (uint32_t i = 1; i < count; ++i)
      while (dominator[i] > semi[i]) dominator[i] = dominator[dominator[i]];
    std::vector<uint32_t> result(number.size());
    for (uint32_t v = 0; v < result.size(); ++v) result[v] = number[v] == unreached ? v : vertex[dominator[number[v]]];
    return result;
  }

private:
  static constexpr uint32_t unreached = ~0u;

  void walk(const FlatGraph &successors, uint32_t root) {
    std::vector<std::pair<uint32_t, uint32_t>> stack; // number, next edge
    auto enter = [&](uint32_t v, uint32_t from) {
      number[v] = uint32_t(vertex.size());
      vertex.push_back(v);
      ancestor.push_back(from);
      stack.push_back({number[v], successors.first[v]});
    };
    enter(root, 0);
    while (!stack.empty()) {
      auto &[at, edge] = stack.back();
      if (edge == successors.first[vertex[at] + 1]) {
        stack.pop_back();
        continue;
      }
      uint32_t target = successors.targets[edge++];
      if (number[target] == unreached) enter(target, at);
    }
  }

  // The vertex with the least semidominator on the path from v up to the part that is not linked yet (< `linked`).
  uint32_t eval(uint32_t v, uint32_t linked) {
    if (ancestor[v] < linked) return label[v];
    path.clear();
    do {
      path.push_back(v);
      v = ancestor[v];
    } while (ancestor[v] >= linked);
    uint32_t above = v, best = label[v];
    while (!path.empty()) {
      v = path.back();
      path.pop_back();
      ancestor[v] = ancestor[above];
      if (semi[best] < semi[label[v]])
        label[v] = best;
      else
        best = label[v];
      above = v;
    }
    return label[v];
  }

  std::vector<uint32_t> number, vertex, ancestor, label, semi, path;
};

} // namespace

std::vector<uint32_t> immediateDominators(const FlatGraph &successors, const FlatGraph &predecessors, uint32_t root) {
  return SemiNca(successors, root).run(predecessors);
}

TreeOrder::TreeOrder(ArrayRef<uint32_t> parents) : place(parents.size()), count(parents.size(), 1) {
  for (size_t v = parents.size(); v-- > 0;)
    if (parents[v] != v) count[parents[v]] += count[v];
  uint32_t nextRoot = 0;
  std::vector<uint32_t> next(parents.size());
  for (size_t v = 0; v < parents.size(); ++v) {
    uint32_t &at = parents[v] == v ? nextRoot : next[parents[v]];
    place[v] = at;
    at += count[v];
    next[v] = place[v] + 1;
  }
}

} // namespace coppice
