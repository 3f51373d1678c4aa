// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/binding.h"
#include <cassert>

using namespace coppice;

std::vector<Binding> coppice::builtinBindings() {
  constexpr std::pair<const char *, const char *> texts[] = {
#include "bindings.inc"
  };
  std::vector<Binding> bindings;
  for (auto [file, text] : texts) {
    Diagnostics diagnostics;
    std::optional<Binding> binding = readBinding(llvm::MemoryBufferRef(text, file), diagnostics);
    assert(binding && "a binding of bindings/ cannot be read");
    if (binding) bindings.push_back(std::move(*binding));
  }
  return bindings;
}
