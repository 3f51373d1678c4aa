// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a network of ncnn in either form and as a list of ops: a module whose ops are keys, or an error.
#include "analysis/graph/graph_keys.h"
#include "mlir/IR/Verifier.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::MemoryBufferRef file(bytes, "fuzz.param");
  auto context = coppice::makeGraphContext();
  for (coppice::GraphFormat format : {coppice::GraphFormat::NcnnParam, coppice::GraphFormat::OpList}) {
    coppice::Diagnostics diagnostics;
    coppice::ImportedGraph graph = coppice::importGraph(file, format, *context, diagnostics);
    if (!graph.module == !diagnostics.hasErrors()) abort();
    if (!graph.module) continue;
    if (mlir::failed(mlir::verify(*graph.module))) abort();
    if (coppice::keysOf(*graph.module, format, "fuzz").empty()) abort();
  }
  return 0;
}
