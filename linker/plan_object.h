// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled graph as an object file in memory.
#pragma once
#include "analysis/graph/plan.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/MemoryBuffer.h"
#include <string>

namespace coppice {

struct PlanObject {
  std::unique_ptr<llvm::MemoryBuffer> object;
  uint64_t planBytes = 0, weightsBytes = 0, graphBytes = 0;
  uint64_t weightsHash = 0;
  bool largeWeights = false; ///< they are in .lrodata
};

struct PlanObjectOptions {
  bool stripGraph = false; ///< no .coppice.graph
  std::string weightsFile; ///< not empty: the program opens this file, and the object holds no weights
};

/// The object defines `coppice.plan.<name>.needs_fuse_ld_coppice` and refers to the descriptors of the chosen kernels.
/// `module` gets the chosen kernels as attributes, for `coppice inspect`.
llvm::Expected<PlanObject> writePlanObject(const GraphPlan &plan, mlir::ModuleOp module,
                                           const PlanObjectOptions &options);

/// The file of --weights=FILE (runtime-stub/runtime/plan.h, coppice_weights_header), under another name until it is
/// committed: a link that fails must leave the old one to the old program.
llvm::Expected<std::unique_ptr<llvm::FileOutputBuffer>> writeWeightsFile(const GraphPlan &plan, uint64_t hash,
                                                                         llvm::StringRef path);

} // namespace coppice
