// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the macros of coppice/graph.h leave in an object (docs/calling-graphs.md).
#pragma once
#include "analysis/input_file.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace coppice {

/// COPPICE_GRAPH: symbol coppice.graph.<name>, "1" \0 name \0 file \0 "begin N" or "end N" \0 MLIR text \0.
struct GraphRecord {
  std::string name, file, text;
  unsigned line = 1; ///< of the first character of the text
  std::string object;
};

/// COPPICE_IMPORT_GRAPH: symbol coppice.import.<name>, "1" \0 name \0 file \0 line \0 types \0.
struct ImportRecord {
  std::string name, file, types;
  unsigned line = 0;
  std::string object;
};

/// A typed call: symbol _ZN7coppice6detail11call_record…, "1" \0 name \0 types \0.
struct CallRecord {
  std::string name, types, object;
};

struct GraphRecords {
  std::vector<GraphRecord> graphs;
  std::vector<ImportRecord> imports;
  std::vector<CallRecord> calls;
};

/// Appends the records of one object.
llvm::Error readGraphRecords(const ObjectRef &object, GraphRecords &records);

} // namespace coppice
