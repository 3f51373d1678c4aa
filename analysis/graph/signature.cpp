// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/signature.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace coppice {

std::string TensorSpec::str() const {
  std::string s;
  if (rank < 0) s = "*x";
  for (int i = 0; i < rank; ++i) s += "?x";
  return s + dtype;
}

Expected<TensorSpec> parseTensorSpec(StringRef text) {
  TensorSpec spec;
  StringRef rest = text;
  if (!rest.consume_front("*x")) {
    spec.rank = 0;
    while (rest.consume_front("?x")) ++spec.rank;
  }
  static const StringRef dtypes[] = {"f32", "f64", "f16",  "bf16", "i1",   "i8",  "i16", "i32",
                                     "i64", "ui8", "ui16", "ui32", "ui64", "any", "any2"};
  if (!is_contained(dtypes, rest))
    return createStringError("'" + text + "' is no tensor type such as ?x?xf32 or *xany");
  spec.dtype = rest.str();
  return spec;
}

static Expected<Parameter> parseParameter(StringRef text) {
  using Kind = Parameter::Kind;
  Parameter p;
  auto [word, rest] = text.split(' ');
  std::optional<Kind> kind = StringSwitch<std::optional<Kind>>(word)
                                 .Case("in", Kind::In)
                                 .Case("in?", Kind::OptionalIn)
                                 .Case("in...", Kind::VariadicIn)
                                 .Case("out", Kind::Out)
                                 .Case("out?", Kind::OptionalOut)
                                 .Case("out...", Kind::VariadicOut)
                                 .Case("inout", Kind::InOut)
                                 .Case("attr", Kind::Attribute)
                                 .Default(std::nullopt);
  if (!kind) return createStringError("'" + text + "' does not begin with in, out, inout or attr");
  p.kind = *kind;
  if (p.kind != Kind::Attribute) {
    auto tensor = parseTensorSpec(rest);
    if (!tensor) return tensor.takeError();
    p.tensor = std::move(*tensor);
    return p;
  }
  using Type = Parameter::AttributeType;
  static const std::pair<StringRef, Type> types[] = {
      {"i64 ", Type::I64},       {"f64 ", Type::F64},          {"i1 ", Type::I1},
      {"string ", Type::String}, {"list i64 ", Type::ListI64}, {"list f32 ", Type::ListF32}};
  bool known = false;
  for (auto [name, type] : types)
    if (!known && rest.consume_front(name)) {
      p.type = type;
      known = true;
    }
  if (!known) return createStringError("'" + text + "': an attribute is i64, f64, i1, string, list i64 or list f32");
  auto [name, value] = rest.split('=');
  p.name = name.str();
  if (rest.contains('=')) {
    p.isConstraint = value.consume_front("=");
    p.hasDefault = !p.isConstraint;
    p.value = value.str();
  }
  if (name.empty()) return createStringError("'" + text + "': the attribute has no name");
  bool valid = true;
  int64_t integer;
  double number;
  if (p.hasDefault || p.isConstraint) {
    if (p.type == Type::I64)
      valid = !StringRef(p.value).getAsInteger(0, integer);
    else if (p.type == Type::F64)
      valid = !StringRef(p.value).getAsDouble(number);
    else if (p.type == Type::I1)
      valid = p.value == "true" || p.value == "false" || p.value == "0" || p.value == "1";
    else if (p.type != Type::String)
      valid = StringRef(p.value).starts_with("[") && StringRef(p.value).ends_with("]");
  }
  if (!valid) return createStringError("'" + text + "': '" + p.value + "' is no value of this type");
  return p;
}

Expected<Signature> parseSignature(StringRef text) {
  Signature result;
  result.text = text.str();
  StringRef rest = text;
  while (!rest.empty()) {
    // A list default holds commas: "axes=[0, 1]".
    size_t end = 0, depth = 0;
    for (; end < rest.size(); ++end) {
      if (rest[end] == '[') ++depth;
      if (rest[end] == ']' && depth) --depth;
      if (rest[end] == ',' && !depth) break;
    }
    auto parameter = parseParameter(rest.take_front(end).trim(' '));
    if (!parameter) return parameter.takeError();
    result.parameters.push_back(std::move(*parameter));
    rest = rest.drop_front(std::min(rest.size(), end + 1));
  }
  return result;
}

Expected<VersionRange> parseVersions(StringRef text) {
  VersionRange range;
  if (text.empty()) return range;
  auto [first, last] = text.split('-');
  if (first.getAsInteger(10, range.first) || !text.contains('-') ||
      (!last.empty() && last.getAsInteger(10, range.last)))
    return createStringError("'" + text + "' is no range of versions such as 13- or 7-12");
  return range;
}

} // namespace coppice
