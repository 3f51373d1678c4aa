// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "analysis/graph/import.h"

namespace coppice {

/// As importMlir(), of a module that need not have a graph.
ImportedGraph parseMlir(llvm::MemoryBufferRef text, mlir::MLIRContext &context, Diagnostics &diagnostics,
                        const TextOrigin *origin);

} // namespace coppice
