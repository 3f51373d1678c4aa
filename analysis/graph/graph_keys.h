// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of a graph as keys of bindings (docs/bindings.md).
#pragma once
#include "analysis/graph/import.h"
#include "analysis/reach/binding.h"
#include <string>
#include <vector>

namespace coppice {

/// One for each key, by name, with what is known of all its uses in the module, regions and functions that nobody calls
/// too. A key is the op's name without the dialect that the importer gave it ("Convolution", "Conv", "mo.add"; of ONNX
/// ops of other domains and of MLIR the whole name); of MAX's mo.custom its symbol.
std::vector<UsedKey> keysOf(mlir::ModuleOp module, GraphFormat format, llvm::StringRef graphName);

} // namespace coppice
