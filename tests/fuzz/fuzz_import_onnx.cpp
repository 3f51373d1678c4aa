// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an ONNX model: a module that MLIR's verifier accepts, or an error.
#include "analysis/graph/import.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::MemoryBufferRef file(bytes, "fuzz.onnx");
  coppice::identifyGraph(file);
  auto context = coppice::makeGraphContext();
  coppice::Diagnostics diagnostics;
  coppice::ImportedGraph graph = coppice::importOnnx(file, *context, diagnostics);
  if (!graph.module == !diagnostics.hasErrors()) abort();
  return 0;
}
