// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs in MLIR or ONNX, summed up.
#pragma once
#include "analysis/diagnostic.h"
#include "analysis/graph/import.h"
#include "analysis/inspect/inspection.h"

namespace coppice {

/// MLIR's context is made with the first graph.
class GraphInspector {
public:
  /// Nullopt when it cannot be read; that was reported. `withText` fills in the MLIR.
  std::optional<InspectedGraph> inspect(llvm::MemoryBufferRef file, GraphFormat format, bool withText,
                                        Diagnostics &diagnostics);

private:
  std::unique_ptr<mlir::MLIRContext> context;
};

} // namespace coppice
