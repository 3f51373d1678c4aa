// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graphs of a program: found in what is linked, imported, resolved and compiled, to a fixpoint, since a compiled
// graph may extract members that hold further graphs.
#pragma once
#include "analysis/graph/graph_record.h"
#include "analysis/graph/import.h"
#include "analysis/graph/kernel_index.h"
#include "analysis/graph/plan.h"
#include "analysis/reach/resolve_symbols.h"
#include "linker/command_line.h"
#include "linker/plan_object.h"
#include <deque>

namespace coppice {

struct CompiledGraph {
  std::string name, file;
  bool fromFlag = false;              ///< --graph, not in a source file
  std::string objectName;             ///< what lld calls the object
  std::vector<std::string> filesRead; ///< besides `file`
  GraphPlan plan;
  PlanObject object;
};

struct CompiledGraphs {
  std::deque<CompiledGraph> graphs;
  /// Symbols of the kernels that graphs use, sorted.
  std::vector<std::string> usedKernels;
  /// Descriptors of those, by symbol.
  std::vector<const KernelDescriptor *> descriptors;

  // What the plans point into, until their objects are written and reports made.
  std::unique_ptr<mlir::MLIRContext> context;
  std::deque<ImportedGraph> imported;
  std::deque<ResolvedGraph> resolved;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> files;
};

/// The symbol that a compiled graph is called by.
std::string planSymbol(llvm::StringRef graph);

/// Grows `resolution` by what the plans refer to. `isKeyGraph`: which of options.graphs need no import, since they are
/// lists of keys for bindings. Everything that is wrong is reported.
CompiledGraphs compileGraphs(const LinkOptions &options, llvm::ArrayRef<char> isKeyGraph, SymbolResolution &resolution,
                             KernelIndex &index, Diagnostics &diagnostics);

} // namespace coppice
