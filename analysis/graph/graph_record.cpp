// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/graph_record.h"
#include "analysis/object_symbols.h"
#include <algorithm>

using namespace llvm;

namespace coppice {

static constexpr StringLiteral graphPrefix = "coppice.graph.", importPrefix = "coppice.import.",
                               callPrefix = "_ZN7coppice6detail11call_record";

static Error damaged(const ObjectRef &object, const DataSymbol &symbol, StringRef name) {
  return createStringError(object.name + ": the record '" + symbol.name + "' is damaged: it says that its name is '" +
                           name + "'");
}

Error readGraphRecords(const ObjectRef &object, GraphRecords &records) {
  if (!mentionsSymbol(object.buffer, graphPrefix) && !mentionsSymbol(object.buffer, importPrefix) &&
      !mentionsSymbol(object.buffer, callPrefix))
    return Error::success();
  auto symbols = readDataSymbols(object.buffer, [](StringRef name) {
    return name.starts_with(graphPrefix) || name.starts_with(importPrefix) || name.starts_with(callPrefix);
  });
  if (!symbols) return createStringError(object.name + ": " + toString(symbols.takeError()));
  for (const DataSymbol &symbol : *symbols) {
    if (!symbol.defined) continue;
    StringRef rest = symbol.bytes;
    auto next = [&] {
      auto [field, tail] = rest.split('\0');
      rest = tail;
      return field;
    };
    if (next() != "1")
      return createStringError(object.name + ": the record '" + symbol.name +
                               "' is of another version of Coppice's headers");
    auto isNamed = [&](StringRef prefix, StringRef name) {
      return StringRef(symbol.name).drop_front(prefix.size()) == name;
    };
    if (StringRef(symbol.name).starts_with(callPrefix)) {
      std::string name = next().str();
      records.calls.push_back({name, next().str(), object.name});
    } else if (StringRef(symbol.name).starts_with(importPrefix)) {
      ImportRecord record;
      record.name = next().str();
      record.file = next().str();
      (void)next().getAsInteger(10, record.line);
      record.types = next().str();
      record.object = object.name;
      if (!isNamed(importPrefix, record.name)) return damaged(object, symbol, record.name);
      records.imports.push_back(std::move(record));
    } else {
      GraphRecord record;
      record.name = next().str();
      record.file = next().str();
      auto [edge, line] = next().split(' ');
      (void)line.getAsInteger(10, record.line);
      record.text = rest.substr(0, rest.find('\0')).str();
      // Of a macro call that spans lines, gcc's __LINE__ is the first line and clang's the last.
      if (edge == "end") {
        unsigned newlines = unsigned(std::count(record.text.begin(), record.text.end(), '\n'));
        record.line = record.line > newlines ? record.line - newlines : 1;
      }
      record.object = object.name;
      if (!isNamed(graphPrefix, record.name)) return damaged(object, symbol, record.name);
      records.graphs.push_back(std::move(record));
    }
  }
  return Error::success();
}

} // namespace coppice
