// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// YAML -> Binding (docs/bindings.md). Everything that is wrong is reported, each at its place.
#include "analysis/reach/binding.h"
#include "analysis/reach/yaml_value.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace coppice {
namespace {

constexpr StringLiteral code = "COP401";
constexpr StringLiteral graphFormats[] = {"ncnn-param", "op-list", "onnx", "mlir", "max"};
constexpr unsigned registerArguments = 6; // x86-64; AArch64 has 8

class BindingReader {
public:
  BindingReader(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  std::optional<Binding> read(const YamlValue &root);

private:
  /// The fields of one mapping. Each is asked for once; what nobody asked for is unknown.
  class Fields {
  public:
    Fields(BindingReader &reader, const YamlValue &value, std::string of)
        : reader(reader), value(value), of(std::move(of)) {}
    /// Null if it is not there. `isNeeded`: then that is reported.
    const YamlValue *get(StringRef name, bool isNeeded = false) {
      known.push_back(name);
      for (const YamlField &field : value.fields)
        if (field.name == name) return &field.value;
      if (isNeeded) reader.error("'" + name + "' is missing in " + of, value);
      return nullptr;
    }
    bool has(StringRef name) {
      return any_of(value.fields, [&](const YamlField &field) { return field.name == name; });
    }
    void finish() {
      for (const YamlField &field : value.fields)
        if (!is_contained(known, field.name)) reader.unknown("field", field.name, field.place, of, known);
    }

  private:
    BindingReader &reader;
    const YamlValue &value;
    std::string of;
    std::vector<StringRef> known;
  };

  void error(const Twine &message, const YamlValue &at, const Twine &help = "") {
    diagnostics.error(code, message.str(), at.place, help.str());
  }

  static StringRef nearestOf(StringRef word, ArrayRef<StringRef> known) {
    StringRef nearest;
    unsigned distance = 3;
    for (StringRef name : known)
      if (unsigned d = word.edit_distance(name, true, distance); d < distance) distance = d, nearest = name;
    return nearest;
  }

  void unknown(StringRef what, StringRef word, const Place &place, StringRef of, ArrayRef<StringRef> known) {
    std::string help = "known are " + join(known, ", ");
    if (StringRef nearest = nearestOf(word, known); !nearest.empty())
      help = ("did you mean '" + nearest + "'? " + help).str();
    std::string message = ("unknown " + what + " '" + word + (of.empty() ? "'" : "' of ") + of).str();
    diagnostics.error(code, std::move(message), place, std::move(help));
  }

  bool isMapping(const YamlValue &value, StringRef what) {
    if (value.kind == YamlValue::Mapping) return true;
    error(what + " has fields; " + describe(value) + " is not expected here", value);
    return false;
  }

  static std::string describe(const YamlValue &value) {
    switch (value.kind) {
    case YamlValue::Null:
      return "nothing";
    case YamlValue::Scalar:
      return "'" + value.scalar + "'";
    case YamlValue::Sequence:
      return "a list";
    case YamlValue::Mapping:
      return "a mapping";
    }
    return {};
  }

  std::string text(const YamlValue *value, const Twine &what) {
    if (!value) return {};
    if (value->kind == YamlValue::Scalar && !value->scalar.empty()) return value->scalar;
    error(what + " is a text; " + describe(*value) + " is not", *value);
    return {};
  }

  /// One text or a list of them.
  std::vector<const YamlValue *> texts(const YamlValue *value, const Twine &what) {
    std::vector<const YamlValue *> result;
    if (!value) return result;
    auto add = [&](const YamlValue &element) {
      if (!text(&element, what).empty()) result.push_back(&element);
    };
    if (value->kind != YamlValue::Sequence)
      add(*value);
    else
      for (const YamlValue &element : value->elements) add(element);
    if (value->kind == YamlValue::Sequence && value->elements.empty()) error(what + " is an empty list", *value);
    return result;
  }

  std::vector<std::string> strings(const YamlValue *value, const Twine &what) {
    std::vector<std::string> result;
    for (const YamlValue *element : texts(value, what)) result.push_back(element->scalar);
    return result;
  }

  std::optional<uint64_t> number(const YamlValue *value, const Twine &what, uint64_t least, uint64_t most) {
    if (!value) return std::nullopt;
    uint64_t result = 0;
    bool isNumber = value->kind == YamlValue::Scalar && !StringRef(value->scalar).getAsInteger(10, result);
    if (isNumber && result >= least && result <= most) return result;
    error(what + " is a number from " + Twine(least) + " to " + Twine(most) + "; " + describe(*value) + " is not",
          *value);
    return std::nullopt;
  }

  bool flag(const YamlValue *value, const Twine &what) {
    if (!value) return false;
    if (value->kind == YamlValue::Scalar && value->scalar == "true") return true;
    if (value->kind != YamlValue::Scalar || value->scalar != "false")
      error(what + " is true or false; " + describe(*value) + " is not", *value);
    return false;
  }

  enum class KeyIn { Required, Optional, Forbidden };
  SymbolPattern pattern(const YamlValue *value, const Twine &what, KeyIn key,
                        SymbolPattern::KeyText keyText = SymbolPattern::KeyText::Identifier) {
    std::string source = text(value, what);
    if (source.empty()) return {};
    Expected<SymbolPattern> result = SymbolPattern::parse(source, keyText);
    if (!result) {
      error(what + ": " + toString(result.takeError()), *value);
      return {};
    }
    if (key == KeyIn::Required && !result->hasKey())
      error(what + " has no {op}, which is where the key stands", *value);
    if (key == KeyIn::Forbidden && result->hasKey())
      error(what + " has an {op}, but the key does not stand there", *value);
    return std::move(*result);
  }

  std::vector<SymbolPattern> patterns(const YamlValue *value, const Twine &what, KeyIn key,
                                      SymbolPattern::KeyText keyText = SymbolPattern::KeyText::Identifier) {
    std::vector<SymbolPattern> result;
    for (const YamlValue *element : texts(value, what)) result.push_back(pattern(element, what, key, keyText));
    return result;
  }

  Dropped dropped(const YamlValue *value, Dropped::Kind otherwise) {
    if (!value) return {otherwise, {}};
    // `null` and nothing are both YAML's null, whatever the parser makes of them.
    std::string word = value->kind == YamlValue::Null ? "null" : text(value, "'dropped'");
    if (word == "null" || word == "~") return {Dropped::Null, {}};
    if (word == "trap" || word.empty()) return {Dropped::Trap, {}};
    return {Dropped::Symbol, word};
  }

  /// Offsets of 8-byte fields in a record.
  void checkRecord(const YamlValue &at, uint64_t stride, std::initializer_list<std::optional<uint64_t>> offsets) {
    std::vector<uint64_t> sorted;
    for (std::optional<uint64_t> offset : offsets)
      if (offset) sorted.push_back(*offset);
    llvm::sort(sorted);
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] + 8 > (i + 1 < sorted.size() ? sorted[i + 1] : stride))
        return error("the fields of a record overlap or do not fit: each takes 8 bytes, a record " + Twine(stride), at);
  }

  BindingEdge edge(const YamlValue &value);
  TableEdge tableEdge(Fields &fields);
  // Where the parts of a record are: of a table's entries, and of arrays that are handed over.
  template <class Record> void recordFields(Fields &fields, const YamlValue &at, Record &r) {
    r.stride = number(fields.get("stride", true), "'stride'", 16, 65536).value_or(16);
    r.keyOffset = number(fields.get("key", true), "'key'", 0, 65528).value_or(0);
    r.functionOffset = number(fields.get("function", true), "'function'", 0, 65528).value_or(8);
    r.lengthOffset = number(fields.get("length"), "'length'", 0, 65528);
    fields.finish();
    checkRecord(at, r.stride, {r.keyOffset, r.functionOffset, r.lengthOffset});
  }
  CallEdge callEdge(Fields &fields);
  ObjectEdge objectEdge(Fields &fields, const YamlValue &value);
  std::optional<BindingVariant> variant(const YamlValue &value);
  void implication(const YamlValue &value, std::vector<Implication> &rules);
  void use(const YamlValue &value, std::vector<CodeUse> &uses);
  AttributeCondition condition(const YamlValue &value);

  Diagnostics &diagnostics;
};

TableEdge BindingReader::tableEdge(Fields &fields) {
  TableEdge table;
  const YamlValue *from = fields.get("from"), *to = fields.get("to"), *record = fields.get("record");
  table.from = pattern(from, "'from'", KeyIn::Forbidden);
  if (!to == !record)
    error(to ? "'to' and 'record' exclude each other" : "a table needs 'to' or 'record': where the key stands",
          to ? *to : *from,
          "write to: \"NAME_{op}\" if the key is in the name of the function, record: {stride: 16, key: 0, function: "
          "8} if it is "
          "a string beside it");
  table.to = patterns(to, "'to'", KeyIn::Required);
  if (!record || !isMapping(*record, "'record'")) return table;
  Fields inner(*this, *record, "'record'");
  TableEdge::Record r;
  recordFields(inner, *record, r);
  table.record = r;
  return table;
}

CallEdge BindingReader::callEdge(Fields &fields) {
  CallEdge call;
  const YamlValue *callee = fields.get("call");
  call.call = pattern(callee, "'call'", KeyIn::Forbidden);
  auto position = [&](const YamlValue *value, const Twine &what) {
    return static_cast<unsigned>(number(value, what, 1, registerArguments).value_or(0));
  };
  const YamlValue *key = fields.get("key"), *function = fields.get("function"), *length = fields.get("length"),
                  *array = fields.get("array");
  if (!array) {
    if (!key || !function)
      error("a call needs 'key' and 'function', or 'array': where its arguments stand", *callee,
            "write key: 1 and function: 2 for f(char const*, void (*)()); `this` of a constructor counts as the first");
    call.key = position(key, "'key'");
    call.function = position(function, "'function'");
    if (length) call.length = position(length, "'length'");
    if (call.key && call.key == call.function) error("'key' and 'function' are the same argument", *function);
    return call;
  }
  for (const YamlValue *value : {key, function, length})
    if (value) error("with 'array' the key and the function stand in its records, not in arguments", *value);
  if (!isMapping(*array, "'array'")) return call;
  Fields inner(*this, *array, "'array'");
  CallEdge::Array a;
  a.position = position(inner.get("position", true), "'position'");
  const YamlValue *count = inner.get("count"), *records = inner.get("records");
  if (!count == !records)
    error("an array needs one of 'count' (the argument that has the number of records) and 'records' (the number)",
          count ? *count : *array);
  if (count) a.count = position(count, "'count'");
  a.fixedCount = number(records, "'records'", 1, 1 << 20).value_or(0);
  recordFields(inner, *array, a);
  call.array = a;
  return call;
}

ObjectEdge BindingReader::objectEdge(Fields &fields, const YamlValue &value) {
  ObjectEdge object;
  object.object = pattern(fields.get("object"), "'object'", KeyIn::Optional);
  object.strings = patterns(fields.get("strings"), "'strings'", KeyIn::Optional, SymbolPattern::KeyText::Word);
  object.symbols = patterns(fields.get("symbols"), "'symbols'", KeyIn::Required);
  if (const YamlValue *refers = fields.get("refers")) object.refers = pattern(refers, "'refers'", KeyIn::Forbidden);
  if (object.strings.empty() && object.symbols.empty() && !object.object.hasKey())
    error("an object needs 'strings' or 'symbols', or an {op} in its name: what its keys are", value);
  return object;
}

BindingEdge BindingReader::edge(const YamlValue &value) {
  BindingEdge edge;
  edge.place = value.place;
  if (!isMapping(value, "an edge")) return edge;
  Fields fields(*this, value, "an edge");
  constexpr StringRef shapes[] = {"from", "call", "symbol", "object"};
  if (unsigned count = count_if(shapes, [&](StringRef name) { return fields.has(name); }); count != 1) {
    std::string help = "see docs/bindings.md";
    for (const YamlField &field : value.fields)
      if (StringRef nearest = nearestOf(field.name, shapes); !count && !nearest.empty())
        help = ("did you mean '" + nearest + "' by '" + field.name + "'?").str();
    error(count ? "an edge has one of 'from', 'call', 'symbol' and 'object'; this has several"
                : "an edge needs one of 'from', 'call', 'symbol' and 'object'",
          value, help);
    return edge;
  }
  Dropped::Kind otherwise = Dropped::Trap;
  if (fields.has("from")) {
    edge.shape = tableEdge(fields);
  } else if (fields.has("call")) {
    edge.shape = callEdge(fields);
  } else if (fields.has("symbol")) {
    const YamlValue *symbol = fields.get("symbol");
    SymbolEdge shape{pattern(symbol, "'symbol'", KeyIn::Required)};
    if (shape.symbol.hasWildcard())
      error("'symbol' has a {*}, but the name of a key's symbol must be certain", *symbol);
    edge.shape = std::move(shape);
    otherwise = Dropped::Keep;
  } else {
    edge.shape = objectEdge(fields, value);
  }
  edge.dropped = dropped(fields.get("dropped"), otherwise);
  edge.variant = text(fields.get("variant"), "'variant'");
  fields.finish();
  return edge;
}

std::optional<BindingVariant> BindingReader::variant(const YamlValue &value) {
  BindingVariant variant;
  if (value.kind == YamlValue::Scalar) {
    variant.name = text(&value, "a variant");
    return variant;
  }
  if (!isMapping(value, "a variant")) return std::nullopt;
  Fields fields(*this, value, "a variant");
  variant.name = text(fields.get("name", true), "'name'");
  if (const YamlValue *cpu = fields.get("cpu")) {
    std::string level = text(cpu, "'cpu'");
    constexpr StringRef levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    auto found = find(levels, StringRef(level));
    if (found == std::end(levels))
      unknown("CPU level", level, cpu->place, "", levels);
    else
      variant.cpuLevel = static_cast<unsigned>(found - levels) + 1;
  }
  variant.isFallback = flag(fields.get("fallback"), "'fallback'");
  fields.finish();
  return variant;
}

AttributeCondition BindingReader::condition(const YamlValue &value) {
  AttributeCondition condition;
  if (!isMapping(value, "a condition")) return condition;
  Fields fields(*this, value, "a condition");
  condition.attribute = text(fields.get("attribute", true), "'attribute'");
  const YamlValue *is = fields.get("is"), *isNot = fields.get("not");
  if (!is == !isNot) error("a condition has one of 'is' and 'not'", value);
  condition.negated = isNot != nullptr;
  condition.values = strings(isNot ? isNot : is, "a value");
  condition.absent = text(fields.get("absent"), "'absent'");
  fields.finish();
  return condition;
}

void BindingReader::implication(const YamlValue &value, std::vector<Implication> &rules) {
  if (!isMapping(value, "a rule of 'implies'")) return;
  Implication rule;
  rule.place = value.place;
  Fields fields(*this, value, "a rule of 'implies'");
  std::vector<std::string> ops = strings(fields.get("op", true), "'op'");
  rule.brings = strings(fields.get("brings", true), "'brings'");
  if (const YamlValue *when = fields.get("when")) {
    if (when->kind == YamlValue::Sequence)
      for (const YamlValue &element : when->elements) rule.when.push_back(condition(element));
    else
      rule.when.push_back(condition(*when));
  }
  if (const YamlValue *attributes = fields.get("attributes")) {
    rule.sameAttributes = text(attributes, "'attributes'") == "same";
    if (!rule.sameAttributes) error("'attributes' may only be 'same'", *attributes);
  }
  fields.finish();
  for (std::string &op : ops) {
    rule.op = std::move(op);
    rules.push_back(rule);
  }
}

void BindingReader::use(const YamlValue &value, std::vector<CodeUse> &uses) {
  if (!isMapping(value, "an element of 'uses'")) return;
  CodeUse use;
  use.place = value.place;
  Fields fields(*this, value, "an element of 'uses'");
  std::vector<SymbolPattern> symbols = patterns(fields.get("symbol", true), "'symbol'", KeyIn::Forbidden);
  const YamlValue *brings = fields.get("brings"), *key = fields.get("key"), *index = fields.get("index");
  if (!!brings + !!key + !!index != 1)
    error("an element of 'uses' has one of 'brings', 'key' (the argument that is the key) and 'index' (the argument "
          "that is the "
          "index of an entry)",
          value);
  use.brings = strings(brings, "'brings'");
  if (const YamlValue *argument = key ? key : index)
    use.argument = static_cast<unsigned>(number(argument, key ? "'key'" : "'index'", 1, registerArguments).value_or(1));
  if (const YamlValue *of = fields.get("of", index != nullptr)) {
    use.indexOf = pattern(of, "'of'", KeyIn::Forbidden);
    if (!index) error("'of' is for 'index': the table of the entry", *of);
  }
  use.stride = number(fields.get("stride", index != nullptr), "'stride'", 8, 65536).value_or(0);
  fields.finish();
  for (SymbolPattern &symbol : symbols) {
    use.symbol = std::move(symbol);
    uses.push_back(use);
  }
}

std::optional<Binding> BindingReader::read(const YamlValue &root) {
  Binding binding;
  if (!isMapping(root, "a binding")) return std::nullopt;
  Fields fields(*this, root, "a binding");
  const YamlValue *name = fields.get("name", true);
  binding.name = text(name, "'name'");
  if (!all_of(binding.name,
              [](char c) { return isAlnum(c) || c == '-' || c == '_'; })) // as --gc-kernels=NAME,NAME says it
    error("'name' may have letters, digits, - and _", *name);
  for (const YamlValue *format : texts(fields.get("graphs", true), "a format of 'graphs'")) {
    if (!is_contained(graphFormats, format->scalar))
      unknown("format", format->scalar, format->place, "",
              SmallVector<StringRef>(std::begin(graphFormats), std::end(graphFormats)));
    binding.graphs.push_back(format->scalar);
  }
  auto list = [&](const YamlValue *value, StringRef what, auto read) {
    if (!value) return;
    if (value->kind != YamlValue::Sequence)
      return error("'" + what + "' is a list; " + describe(*value) + " is not", *value);
    for (const YamlValue &element : value->elements) read(element);
  };
  StringSet<> variants;
  list(fields.get("variants"), "variants", [&](const YamlValue &value) {
    std::optional<BindingVariant> read = variant(value);
    if (!read) return;
    if (!variants.insert(read->name).second) error("variant '" + read->name + "' stands twice", value);
    binding.variants.push_back(std::move(*read));
  });
  const YamlValue *edges = fields.get("edges", true);
  list(edges, "edges", [&](const YamlValue &value) {
    binding.edges.push_back(edge(value));
    const std::string &variant = binding.edges.back().variant;
    if (!variant.empty() && !variants.contains(variant))
      error("'variants' does not have the variant '" + variant + "' of this edge", value);
  });
  if (edges && edges->kind == YamlValue::Sequence && edges->elements.empty())
    error("a binding without edges binds nothing", *edges);
  list(fields.get("implies"), "implies", [&](const YamlValue &value) { implication(value, binding.implies); });
  list(fields.get("uses"), "uses", [&](const YamlValue &value) { use(value, binding.uses); });
  binding.ownCode = patterns(fields.get("own-code"), "a pattern of 'own-code'", KeyIn::Optional);
  binding.always = strings(fields.get("always"), "a key of 'always'");
  fields.finish();
  return binding;
}

} // namespace

bool Binding::reads(StringRef format) const { return is_contained(graphs, format); }

std::optional<Binding> readBinding(MemoryBufferRef yaml, Diagnostics &diagnostics) {
  std::optional<YamlValue> root = readYaml(yaml, code, diagnostics);
  if (!root) return std::nullopt;
  Diagnostics found;
  std::optional<Binding> binding = BindingReader(found).read(*root);
  if (found.hasErrors()) binding.reset();
  diagnostics.append(std::move(found));
  if (binding) binding->file = yaml.getBufferIdentifier().str();
  return binding;
}

} // namespace coppice
