// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a binding: a value or errors. What was read is then used on names and keys.
#include "analysis/reach/binding.h"
#include <cstdlib>

using namespace coppice;

namespace {

void match(const SymbolPattern &pattern) {
  for (const char *name : {"", "a", "ns::Convolution_layer_creator(void*)", "R::R(char const*, void (*)(float*))"})
    if (std::optional<llvm::StringRef> key = pattern.match(name); key && pattern.hasKey() && key->empty()) abort();
  if (pattern.hasKey() && !pattern.hasWildcard())
    if (!pattern.match(pattern.symbolFor("my.op"))) abort();
  pattern.literal();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics;
  std::optional<Binding> binding = readBinding(llvm::MemoryBufferRef(bytes, "fuzz.yaml"), diagnostics);
  if (binding.has_value() == diagnostics.hasErrors()) abort();
  if (!binding) return 0;
  for (const BindingEdge &edge : binding->edges) {
    if (auto *table = std::get_if<TableEdge>(&edge.shape)) {
      match(table->from);
      for (const SymbolPattern &pattern : table->to) match(pattern);
    } else if (auto *symbol = std::get_if<SymbolEdge>(&edge.shape)) {
      match(symbol->symbol);
    }
  }
  UsedKey key;
  key.key = binding->implies.empty() ? "my.op" : binding->implies.front().op;
  KeyClosure closure(*binding, key);
  for (const KeyClosure::Key &k : closure.keys())
    if (closure.chain(k.key).empty() || !closure.findIdentifier(identifierForm(k.key))) abort();
  keptVariants(*binding, VariantChoice::Best, 3, {"generic", "avx"});
  return 0;
}
