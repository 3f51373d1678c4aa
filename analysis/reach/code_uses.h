// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that a program's own code needs, whatever its graphs are: a function that makes an op by itself, a factory
// that is called with a constant (`uses` of a binding).
#pragma once
#include "analysis/reach/registrations.h"
#include "analysis/reach/section_graph.h"

namespace coppice {

struct CodeUses {
  std::vector<std::vector<UsedKey>> keys; ///< of each binding
  /// A factory gets what is not a constant: any key may be meant.
  struct Unknown {
    uint32_t binding = 0;
    std::string place; ///< "app.o: main"
    std::string callee;
  };
  std::vector<Unknown> unknown;
};

/// Looks at code that `live` says may run, of the bindings for which `wanted` is set.
CodeUses findCodeUses(const SectionGraph &graph, const std::vector<char> &live, llvm::ArrayRef<Binding> bindings,
                      const Registrations &registrations, llvm::ArrayRef<char> wanted);

} // namespace coppice
