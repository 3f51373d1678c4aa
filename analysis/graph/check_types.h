// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C++ types that a program calls a graph with, against the graph's own.
#pragma once
#include "analysis/diagnostic.h"
#include "analysis/graph/graph_record.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace coppice {

/// Reports COP204 for each declaration and call that does not fit.
void checkTypes(llvm::StringRef graphName, mlir::FunctionOpInterface function, const GraphRecords &records,
                Diagnostics &diagnostics);

} // namespace coppice
