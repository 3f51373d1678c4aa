// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as MLIR text or bytecode: a module with a function in it, or an error.
#include "analysis/graph/import.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::MemoryBufferRef file(bytes, "fuzz.mlir");
  coppice::identifyGraph(file);
  auto context = coppice::makeGraphContext();
  coppice::Diagnostics diagnostics;
  coppice::ImportedGraph graph = coppice::importMlir(file, *context, diagnostics);
  if (!graph.module == !diagnostics.hasErrors()) abort();
  return 0;
}
