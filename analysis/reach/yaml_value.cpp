// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/yaml_value.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace llvm;

namespace coppice {
namespace {

constexpr unsigned deepest = 16;

class YamlReader {
public:
  YamlReader(MemoryBufferRef text, StringRef code, Diagnostics &diagnostics)
      : file(text.getBufferIdentifier()), text(text.getBuffer()), code(code), diagnostics(diagnostics) {}

  std::optional<YamlValue> run() {
    SourceMgr sources;
    sources.setDiagHandler(
        [](const SMDiagnostic &d, void *reader) {
          if (d.getKind() == SourceMgr::DK_Error) static_cast<YamlReader *>(reader)->parserSays(d);
        },
        this);
    // Its locations point into the text, which it does not copy.
    yaml::Stream stream(MemoryBufferRef(text, file), sources);
    yaml::document_iterator document = stream.begin();
    if (document == stream.end()) return fail("the file is empty", 0);
    yaml::Node *root = document->getRoot();
    std::optional<YamlValue> result = root ? read(*root, 0) : std::nullopt;
    if (failed || stream.failed()) {
      if (!failed) fail("this is not YAML", 0);
      return std::nullopt;
    }
    if (!result || result->kind == YamlValue::Null) return fail("the file is empty", 0);
    // Where a document ends early the parser takes the rest for another one.
    if (++document != stream.end()) {
      yaml::Node *next = document->getRoot();
      if (!failed && next && !isa<yaml::NullNode>(next))
        fail("a second document begins; one is expected", offsetOf(*next));
    }
    if (failed || stream.failed()) return std::nullopt;
    return result;
  }

private:
  std::nullopt_t fail(const Twine &message, size_t offset) {
    if (!failed) diagnostics.error(code, message.str(), placeAt(offset));
    failed = true; // what follows an error is noise
    return std::nullopt;
  }

  void parserSays(const SMDiagnostic &d) {
    size_t offset = d.getLoc().isValid() ? offsetOf(d.getLoc().getPointer()) : 0;
    fail("this is not YAML: " + StringRef(d.getMessage()).rtrim('.'), offset);
  }

  size_t offsetOf(const char *p) const {
    return p >= text.begin() && p <= text.end() ? static_cast<size_t>(p - text.begin()) : 0;
  }
  size_t offsetOf(const yaml::Node &node) const {
    return node.getSourceRange().isValid() ? offsetOf(node.getSourceRange().Start.getPointer()) : 0;
  }

  Place placeAt(size_t offset) const {
    StringRef before = text.take_front(offset);
    size_t lineBegin = before.rfind('\n') + 1; // npos + 1 is 0
    Place place{.file = file.str()};
    place.line = static_cast<unsigned>(before.count('\n') + 1);
    place.column = static_cast<unsigned>(offset - lineBegin + 1);
    place.snippet = text.substr(lineBegin).take_until([](char c) { return c == '\n' || c == '\r'; }).str();
    return place;
  }

  std::optional<YamlValue> read(yaml::Node &node, unsigned depth) {
    size_t offset = offsetOf(node);
    // The parser's ranges begin behind the bracket.
    if (isa<yaml::MappingNode, yaml::SequenceNode>(node) && offset && StringRef("{[").contains(text[offset - 1]))
      --offset;
    if (depth > deepest) return fail("values are nested more than 16 deep", offset);
    if (!node.getAnchor().empty() || isa<yaml::AliasNode>(node))
      return fail("anchors and aliases are not read here: write the value out", offset);
    if (!node.getRawTag().empty() && node.getRawTag() != "!") return fail("tags are not read here", offset);
    YamlValue value;
    value.place = placeAt(offset);
    if (auto *scalar = dyn_cast<yaml::ScalarNode>(&node)) {
      SmallString<64> storage;
      value.kind = YamlValue::Scalar;
      value.scalar = scalar->getValue(storage).str();
    } else if (auto *block = dyn_cast<yaml::BlockScalarNode>(&node)) {
      value.kind = YamlValue::Scalar;
      value.scalar = block->getValue().str();
    } else if (auto *sequence = dyn_cast<yaml::SequenceNode>(&node)) {
      value.kind = YamlValue::Sequence;
      for (yaml::Node &element : *sequence) {
        std::optional<YamlValue> read = this->read(element, depth + 1);
        if (!read || failed) return std::nullopt;
        value.elements.push_back(std::move(*read));
      }
    } else if (auto *mapping = dyn_cast<yaml::MappingNode>(&node)) {
      value.kind = YamlValue::Mapping;
      StringSet<> seen;
      for (yaml::KeyValueNode &entry : *mapping) {
        yaml::Node *keyNode = entry.getKey();
        std::optional<YamlValue> key = keyNode ? read(*keyNode, depth + 1) : std::nullopt;
        if (!key || failed) return std::nullopt;
        if (key->kind != YamlValue::Scalar) return fail("the name of a field is expected", offsetOf(*keyNode));
        if (!seen.insert(key->scalar).second)
          return fail("the field '" + key->scalar + "' stands twice", offsetOf(*keyNode));
        yaml::Node *valueNode = entry.getValue();
        std::optional<YamlValue> field = valueNode ? read(*valueNode, depth + 1) : std::nullopt;
        if (!field || failed) return std::nullopt;
        if (field->kind == YamlValue::Null) field->place = key->place; // it has none of its own
        value.fields.push_back({std::move(key->scalar), std::move(key->place), std::move(*field)});
      }
    }
    return value;
  }

  StringRef file, text, code;
  Diagnostics &diagnostics;
  bool failed = false;
};

} // namespace

// Here, where a YamlField is complete.
YamlValue::YamlValue() = default;
YamlValue::YamlValue(YamlValue &&) noexcept = default;
YamlValue &YamlValue::operator=(YamlValue &&) noexcept = default;
YamlValue::~YamlValue() = default;

std::optional<YamlValue> readYaml(MemoryBufferRef text, StringRef code, Diagnostics &diagnostics) {
  return YamlReader(text, code, diagnostics).run();
}

} // namespace coppice
