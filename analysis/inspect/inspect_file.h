// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects, archives, programs and models: which kernels and graphs are in them.
#pragma once
#include "analysis/inspect/inspect_graph.h"

namespace coppice {

/// Nullopt when nothing of the file can be read. What is wrong is reported (COP302, of kernels COP104, of graphs
/// COP2xx); the rest of the file is still there. `withText`: with the MLIR of the graphs.
std::optional<Inspection> inspectFile(llvm::StringRef path, bool withText, GraphInspector &graphs,
                                      Diagnostics &diagnostics);

} // namespace coppice
