// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// YAML as a tree of values with places: what LLVM's parser, which reads once from front to back, makes of a document.
#pragma once
#include "analysis/diagnostic.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <optional>
#include <string>
#include <vector>

namespace coppice {

struct YamlField;

struct YamlValue {
  enum Kind { Null, Scalar, Sequence, Mapping } kind = Null;
  std::string scalar;
  std::vector<YamlValue> elements;
  std::vector<YamlField> fields; ///< each name once
  Place place;

  YamlValue();
  YamlValue(YamlValue &&) noexcept;
  YamlValue &operator=(YamlValue &&) noexcept;
  ~YamlValue();
};

struct YamlField {
  std::string name;
  Place place; ///< of the name
  YamlValue value;
};

/// One document. What is not YAML, or more than the tree can hold (anchors, aliases, tags), is reported under `code`.
std::optional<YamlValue> readYaml(llvm::MemoryBufferRef text, llvm::StringRef code, Diagnostics &diagnostics);

} // namespace coppice
