// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why each node of a program lives, or is dropped: shortest chains and dominators.
//
// Vertices are the nodes of the section graph and, above them, graphs, their ops, and keys. A registration that counts
// only with its key is an edge from the key to the kernel instead of one from the registry, so a kernel's parent is its
// op. A breadth-first walk from the program finds shortest chains; one from the keys that are missing continues over
// what is dead. What the walks do not meet is dead for any key.
#pragma once
#include "analysis/reach/shake.h"
#include "analysis/reach/why_record.h"

namespace coppice {

/// A graph whose plan is linked: what it makes of its ops.
struct PlanUse {
  std::string name, file, symbol; ///< symbol: of the plan
  struct Op {
    std::string op;
    Place place; ///< of the first
    uint64_t count = 0;
    std::vector<std::string> kernels; ///< symbols of their descriptors
  };
  std::vector<Op> ops;
};

struct ReasonsOptions {
  bool unreferenced = false; ///< items for what is dead for any key, too
};

/// `shaken`, `bindings` and `plans` must outlive the result, whose strings are theirs.
WhyRecord findReasons(const Shaken &shaken, llvm::ArrayRef<Binding> bindings, llvm::ArrayRef<PlanUse> plans,
                      const ReasonsOptions &options);

} // namespace coppice
