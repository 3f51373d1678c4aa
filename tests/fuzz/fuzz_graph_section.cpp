// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the section .coppice.graph: records that lie in it one after another, which written again are the
// section.
#include "analysis/graph/graph_section.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef contents(reinterpret_cast<const char *>(data), size);
  coppice::GraphSection section = coppice::parseGraphSection(contents);
  std::string again;
  for (const coppice::GraphSectionRecord &record : section.records) {
    if (record.bytecode.data() != contents.data() + record.bytecodeOffset) abort();
    again += coppice::makeGraphSectionRecord(record.name, record.bytecode);
  }
  if (section.error) {
    if (section.error->offset > size || section.error->message.empty()) abort();
    return 0;
  }
  // Zeros behind the last record may be missing.
  if (!llvm::StringRef(again).starts_with(contents) || again.size() - size >= 8) abort();
  return 0;
}
