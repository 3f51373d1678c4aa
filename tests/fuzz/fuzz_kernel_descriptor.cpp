// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the descriptor of a kernel, and as its signature and versions.
#include "analysis/graph/kernel_index.h"
#include "analysis/graph/signature.h"
#include <cstdlib>

using namespace coppice;

static void check(const Signature &signature) {
  for (const Parameter &p : signature.parameters) {
    if (p.kind == Parameter::Kind::Attribute) {
      if (p.name.empty() || p.isInput() || p.isOutput()) abort();
      continue;
    }
    auto again = parseTensorSpec(p.tensor.str());
    if (!again || again->dtype != p.tensor.dtype || again->rank != p.tensor.rank) abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);

  // The symbol that fits, so that the rest is looked at too.
  size_t header = size < 4 ? size : std::min<size_t>(data[2] | data[3] << 8, size);
  auto [op, rest] = bytes.drop_front(header).split('\0');
  llvm::StringRef variant = rest.split('\0').first;
  std::string symbol = ("coppice.kernel." + op + (variant.empty() ? "" : "$") + variant).str();
  if (auto descriptor = parseKernelDescriptor(symbol, bytes)) {
    if (descriptor->op != op || descriptor->variant != variant) abort();
    check(descriptor->signature);
  } else {
    if (llvm::toString(descriptor.takeError()).empty()) abort();
  }

  if (auto signature = parseSignature(bytes))
    check(*signature);
  else
    llvm::consumeError(signature.takeError());
  if (auto versions = parseVersions(bytes))
    (void)versions->contains(1);
  else
    llvm::consumeError(versions.takeError());
  return 0;
}
