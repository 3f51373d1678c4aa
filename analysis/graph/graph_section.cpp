// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/graph_section.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace coppice {

static constexpr StringLiteral magic = "CPGRAPH1";
static constexpr size_t headerSize = 24, alignment = 8;

std::string makeGraphSectionRecord(StringRef graphName, StringRef bytecode) {
  char sizes[16];
  support::endian::write64le(sizes, graphName.size());
  support::endian::write64le(sizes + 8, bytecode.size());
  std::string record = magic.str();
  record.reserve(alignTo(headerSize + graphName.size() + bytecode.size(), alignment));
  record.append(sizes, sizeof sizes);
  record += graphName;
  record += bytecode;
  record.resize(alignTo(record.size(), alignment));
  return record;
}

GraphSection parseGraphSection(StringRef contents) {
  GraphSection result;
  uint64_t at = 0;
  auto stop = [&](uint64_t offset, const Twine &message) {
    result.error = GraphSectionError{offset, message.str()};
    return std::move(result);
  };
  while (at < contents.size()) {
    StringRef rest = contents.drop_front(at);
    if (!rest.starts_with(magic)) return stop(at, "no graph begins here: 'CPGRAPH1' was expected");
    if (rest.size() < headerSize)
      return stop(at, "the header of a graph is cut off: 24 bytes were expected, there are " + Twine(rest.size()));
    uint64_t nameSize = support::endian::read64le(rest.data() + 8), size = support::endian::read64le(rest.data() + 16);
    rest = rest.drop_front(headerSize);
    if (nameSize > rest.size())
      return stop(at + 8,
                  "the name of a graph would have " + Twine(nameSize) + " bytes, " + Twine(rest.size()) + " are left");
    GraphSectionRecord record;
    record.name = rest.take_front(nameSize);
    if (record.name.empty()) return stop(at + 8, "a graph has no name");
    rest = rest.drop_front(nameSize);
    if (size > rest.size())
      return stop(at + 16,
                  "the bytecode of a graph would have " + Twine(size) + " bytes, " + Twine(rest.size()) + " are left");
    record.bytecode = rest.take_front(size);
    record.bytecodeOffset = at + headerSize + nameSize;
    result.records.push_back(record);
    // The last record need not be padded: objcopy may have cut the section.
    uint64_t end = record.bytecodeOffset + size, next = std::min<uint64_t>(alignTo(end, alignment), contents.size());
    if (any_of(contents.slice(end, next), [](char c) { return c != 0; }))
      return stop(end, "zeros were expected between two graphs");
    at = next;
  }
  return result;
}

} // namespace coppice
