// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/binding.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace coppice;

namespace {

std::string errors(llvm::StringRef yaml) {
  Diagnostics diagnostics;
  std::optional<Binding> binding = readBinding(llvm::MemoryBufferRef(yaml, "b.yaml"), diagnostics);
  EXPECT_EQ(binding.has_value(), !diagnostics.hasErrors());
  std::string out;
  for (const Diagnostic &d : diagnostics.all()) {
    EXPECT_EQ(d.code, "COP401");
    out += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + ": " + d.message + "\n";
  }
  return out;
}

Binding read(llvm::StringRef yaml) {
  Diagnostics diagnostics;
  std::optional<Binding> binding = readBinding(llvm::MemoryBufferRef(yaml, "b.yaml"), diagnostics);
  for (const Diagnostic &d : diagnostics.all()) ADD_FAILURE() << d.place.str() << ": " << d.message;
  return binding ? std::move(*binding) : Binding();
}

constexpr char head[] = "name: b\ngraphs: [op-list]\n";
std::string withEdge(llvm::StringRef edge) { return head + ("edges: [" + edge + "]\n").str(); }

TEST(Binding, AllShapes) {
  Binding b = read(R"yaml(
name: all
graphs: [op-list, onnx, mlir, max, ncnn-param]
variants:
  - generic
  - {name: avx512, cpu: x86-64-v4}
  - {name: arch, cpu: x86-64-v2, fallback: true}
edges:
  - {from: "ns::table", to: ["ns::{op}_a(void*)", "ns::{op}_b(void*)"], dropped: null, variant: generic}
  - {from: "(anonymous namespace)::records", record: {stride: 24, key: 0, length: 8, function: 16}}
  - call: "Registrar::Registrar(char const*, void (*)(float*))"
    key: 2
    function: 3
    length: 4
    dropped: my_trap
  - {call: "reg(Kernel const*, unsigned long)", array: {position: 1, count: 2, stride: 32, key: 0, function: 24}}
  - {call: "reg4(Kernel const*)", array: {position: 1, records: 4, stride: 32, key: 0, function: 16, length: 8}}
  - {symbol: "kernel_{op}"}
  - {symbol: "k_{op}", dropped: trap}
  - object: "{*}.o"
    strings: ["aten::{*}", "prim::{op}"]
    symbols: "kernel_{op}({*})"
    refers: "Registry::add({*})"
implies:
  - op: [Convolution, Convolution1D]
    brings: ReLU
    when: {attribute: 9, is: [1, 2], absent: 0}
  - {op: "*", brings: [Cast, Packing]}
  - {op: A, brings: B, when: [{attribute: x, not: y}, {attribute: z, is: 1}]}
uses:
  - {symbol: ["ns::flatten({*})", "ns::reshape({*})"], brings: [Flatten]}
  - {symbol: "ns::create(char const*)", key: 1}
  - {symbol: "ns::create(int)", index: 1, of: "ns::table", stride: 16}
own-code: ["ns::Net::{*}", "ns::{op}::{*}"]
always: [Input]
)yaml");
  ASSERT_EQ(b.name, "all");
  EXPECT_TRUE(b.reads("onnx"));
  EXPECT_FALSE(b.reads("tflite"));
  EXPECT_EQ(b.file, "b.yaml");
  ASSERT_EQ(b.edges.size(), 8U);

  auto *table = std::get_if<TableEdge>(&b.edges[0].shape);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->from.str(), "ns::table");
  ASSERT_EQ(table->to.size(), 2U);
  EXPECT_EQ(table->to[1].match("ns::Add_b(void*)"), "Add");
  EXPECT_EQ(b.edges[0].dropped.kind, Dropped::Null);
  EXPECT_EQ(b.edges[0].variant, "generic");
  EXPECT_EQ(b.edges[0].place.line, 9U);

  table = std::get_if<TableEdge>(&b.edges[1].shape);
  ASSERT_TRUE(table && table->record);
  EXPECT_EQ(table->record->stride, 24U);
  EXPECT_EQ(table->record->keyOffset, 0U);
  EXPECT_EQ(table->record->lengthOffset, 8U);
  EXPECT_EQ(table->record->functionOffset, 16U);
  EXPECT_EQ(b.edges[1].dropped.kind, Dropped::Trap);

  auto *call = std::get_if<CallEdge>(&b.edges[2].shape);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->key, 2U);
  EXPECT_EQ(call->function, 3U);
  EXPECT_EQ(call->length, 4U);
  EXPECT_FALSE(call->array);
  EXPECT_EQ(b.edges[2].dropped.kind, Dropped::Symbol);
  EXPECT_EQ(b.edges[2].dropped.symbol, "my_trap");

  call = std::get_if<CallEdge>(&b.edges[3].shape);
  ASSERT_TRUE(call && call->array);
  EXPECT_EQ(call->array->position, 1U);
  EXPECT_EQ(call->array->count, 2U);
  EXPECT_EQ(call->array->functionOffset, 24U);
  call = std::get_if<CallEdge>(&b.edges[4].shape);
  ASSERT_TRUE(call && call->array);
  EXPECT_FALSE(call->array->count);
  EXPECT_EQ(call->array->fixedCount, 4U);
  EXPECT_EQ(call->array->lengthOffset, 8U);

  auto *symbol = std::get_if<SymbolEdge>(&b.edges[5].shape);
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->symbol.symbolFor("add"), "kernel_add");
  EXPECT_EQ(b.edges[5].dropped.kind, Dropped::Keep);
  EXPECT_EQ(b.edges[6].dropped.kind, Dropped::Trap);

  auto *object = std::get_if<ObjectEdge>(&b.edges[7].shape);
  ASSERT_TRUE(object && object->refers);
  ASSERT_EQ(object->strings.size(), 2U);
  EXPECT_EQ(object->strings[0].match("aten::add.out"), "aten::add.out");
  EXPECT_EQ(object->strings[1].match("prim::If"), "If");
  EXPECT_EQ(object->symbols.front().match("kernel_add(int)"), "add");

  ASSERT_EQ(b.implies.size(), 4U);
  EXPECT_EQ(b.implies[1].op, "Convolution1D");
  EXPECT_EQ(b.implies[1].brings, std::vector<std::string>{"ReLU"});
  ASSERT_EQ(b.implies[1].when.size(), 1U);
  EXPECT_EQ(b.implies[1].when[0].values, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(b.implies[1].when[0].absent, "0");
  EXPECT_TRUE(b.implies[3].when[0].negated);
  EXPECT_EQ(b.implies[3].when.size(), 2U);
  EXPECT_EQ(b.always, std::vector<std::string>{"Input"});

  ASSERT_EQ(b.uses.size(), 4U);
  EXPECT_EQ(b.uses[0].brings, std::vector<std::string>{"Flatten"});
  EXPECT_EQ(b.uses[1].symbol.str(), "ns::reshape({*})");
  EXPECT_EQ(b.uses[2].argument, 1U);
  EXPECT_FALSE(b.uses[2].indexOf);
  EXPECT_TRUE(b.uses[3].indexOf->matches("ns::table"));
  EXPECT_EQ(b.uses[3].stride, 16U);
  ASSERT_EQ(b.ownCode.size(), 2U);
  EXPECT_TRUE(b.ownCode[0].matches("ns::Net::load(int)"));
  EXPECT_EQ(b.ownCode[1].match("ns::Conv::forward()"), "Conv");

  ASSERT_EQ(b.variants.size(), 3U);
  EXPECT_EQ(b.variants[1].cpuLevel, 4U);
  EXPECT_TRUE(b.variants[2].isFallback);
}

TEST(Binding, NotYaml) {
  EXPECT_EQ(errors(""), "1:1: the file is empty\n");
  EXPECT_EQ(errors("# nothing\n"), "1:1: the file is empty\n");
  EXPECT_EQ(errors("[name"), "1:5: this is not YAML: Could not find closing ]!\n");
  EXPECT_EQ(errors("- a\n- b\n"), "1:1: a binding has fields; a list is not expected here\n");
  EXPECT_EQ(errors("just text\n"), "1:1: a binding has fields; 'just text' is not expected here\n");
  EXPECT_EQ(errors("name: a\n---\nname: b\n"), "3:1: a second document begins; one is expected\n");
  EXPECT_EQ(errors("name: &x a\n"), "1:10: anchors and aliases are not read here: write the value out\n");
  EXPECT_EQ(errors("name: a\nname: b\n"), "2:1: the field 'name' stands twice\n");
  EXPECT_EQ(errors("name: " + std::string(40, '[') + std::string(40, ']') + "\n"),
            "1:23: values are nested more than 16 deep\n");
}

TEST(Binding, UnknownAndMissingFields) {
  EXPECT_EQ(errors("nam: b\n"), "1:1: 'name' is missing in a binding\n"
                                "1:1: 'graphs' is missing in a binding\n"
                                "1:1: 'edges' is missing in a binding\n"
                                "1:1: unknown field 'nam' of a binding\n");
  Diagnostics diagnostics;
  readBinding(llvm::MemoryBufferRef(withEdge("{form: t, to: 'k_{op}'}"), "b.yaml"), diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].message, "an edge needs one of 'from', 'call', 'symbol' and 'object'");
  EXPECT_EQ(diagnostics.all()[0].place.str(), "b.yaml:3:9");
  EXPECT_EQ(diagnostics.all()[0].place.snippet, "edges: [{form: t, to: 'k_{op}'}]");
  EXPECT_EQ(errors(withEdge("{from: t, to: 'k_{op}', droped: null}")), "3:33: unknown field 'droped' of an edge\n");
  EXPECT_EQ(errors(withEdge("{from: t, record: {stride: 16, key: 0, func: 8}}")),
            "3:27: 'function' is missing in 'record'\n3:48: unknown field 'func' of 'record'\n");
}

TEST(Binding, NearNamesAreOffered) {
  Diagnostics diagnostics;
  readBinding(llvm::MemoryBufferRef("name: b\ngraph: [onnx]\nedges: []\n", "b.yaml"), diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 3U);
  EXPECT_EQ(diagnostics.all()[2].message, "unknown field 'graph' of a binding");
  EXPECT_EQ(diagnostics.all()[2].help,
            "did you mean 'graphs'? known are name, graphs, variants, edges, implies, uses, own-code, always");
}

TEST(Binding, WrongValues) {
  EXPECT_EQ(errors("name: a/b\ngraphs: [onnxx]\nedges: []\n"), "1:7: 'name' may have letters, digits, - and _\n"
                                                               "2:10: unknown format 'onnxx'\n"
                                                               "3:8: a binding without edges binds nothing\n");
  EXPECT_EQ(errors("name: [a]\ngraphs: {}\nedges: 1\n"), "1:7: 'name' is a text; a list is not\n"
                                                         "2:9: a format of 'graphs' is a text; a mapping is not\n"
                                                         "3:8: 'edges' is a list; '1' is not\n");
  EXPECT_EQ(errors("name:\ngraphs: []\nedges: [x]\n"), "1:1: 'name' is a text; nothing is not\n"
                                                       "2:9: a format of 'graphs' is an empty list\n"
                                                       "3:9: an edge has fields; 'x' is not expected here\n");
}

TEST(Binding, WrongEdges) {
  EXPECT_EQ(errors(withEdge("{from: t, call: f}")),
            "3:9: an edge has one of 'from', 'call', 'symbol' and 'object'; this has several\n");
  EXPECT_EQ(errors(withEdge("{from: t}")), "3:16: a table needs 'to' or 'record': where the key stands\n");
  EXPECT_EQ(errors(withEdge("{from: 't_{op}', to: 'k_{op}'}")),
            "3:16: 'from' has an {op}, but the key does not stand there\n");
  EXPECT_EQ(errors(withEdge("{from: t, to: k}")), "3:23: 'to' has no {op}, which is where the key stands\n");
  EXPECT_EQ(errors(withEdge("{from: t, to: 'k_{key}'}")),
            "3:23: 'to': there is no {key}: {op} is the key, {*} is anything\n");
  EXPECT_EQ(errors(withEdge("{from: t, record: {stride: 16, key: 4, function: 8}}")),
            "3:27: the fields of a record overlap or do not fit: each takes 8 bytes, a record 16\n");
  EXPECT_EQ(errors(withEdge("{from: t, record: {stride: -1, key: x, function: 99999999}}")),
            "3:36: 'stride' is a number from 16 to 65536; '-1' is not\n"
            "3:45: 'key' is a number from 0 to 65528; 'x' is not\n"
            "3:58: 'function' is a number from 0 to 65528; '99999999' is not\n");
  EXPECT_EQ(errors(withEdge("{call: f, key: 1}")),
            "3:16: a call needs 'key' and 'function', or 'array': where its arguments stand\n");
  EXPECT_EQ(errors(withEdge("{call: f, key: 1, function: 1}")), "3:37: 'key' and 'function' are the same argument\n");
  EXPECT_EQ(errors(withEdge("{call: f, key: 7, function: 0}")),
            "3:24: 'key' is a number from 1 to 6; '7' is not\n"
            "3:37: 'function' is a number from 1 to 6; '0' is not\n");
  EXPECT_EQ(
      errors(withEdge("{call: f, key: 1, array: {position: 1, stride: 32, key: 0, function: 16}}")),
      "3:24: with 'array' the key and the function stand in its records, not in arguments\n"
      "3:34: an array needs one of 'count' (the argument that has the number of records) and 'records' (the number)\n");
  EXPECT_EQ(errors(withEdge("{symbol: kernel}")), "3:18: 'symbol' has no {op}, which is where the key stands\n");
  EXPECT_EQ(errors(withEdge("{symbol: 'k_{op}_{*}'}")),
            "3:18: 'symbol' has a {*}, but the name of a key's symbol must be certain\n");
  EXPECT_EQ(errors(withEdge("{object: '{*}.o'}")),
            "3:9: an object needs 'strings' or 'symbols', or an {op} in its name: what its keys are\n");
  EXPECT_EQ(errors(withEdge("{symbol: 'k_{op}', variant: avx}")),
            "3:9: 'variants' does not have the variant 'avx' of this edge\n");
}

TEST(Binding, WrongRules) {
  std::string good = withEdge("{symbol: 'k_{op}'}");
  EXPECT_EQ(errors(good + "implies: [{op: A}]\n"), "4:11: 'brings' is missing in a rule of 'implies'\n");
  EXPECT_EQ(errors(good + "implies: [{op: A, brings: B, when: {attribute: 9}}]\n"),
            "4:36: a condition has one of 'is' and 'not'\n");
  EXPECT_EQ(errors(good + "implies: [{op: A, brings: B, attributes: some}]\n"),
            "4:42: 'attributes' may only be 'same'\n");
  EXPECT_EQ(
      errors(good + "uses: [{symbol: f}]\n"),
      "4:8: an element of 'uses' has one of 'brings', 'key' (the argument that is the key) and 'index' (the argument "
      "that is the index of an entry)\n");
  EXPECT_EQ(errors(good + "variants: [a, a, {name: b, cpu: x86-64-v9}]\n"),
            "4:15: variant 'a' stands twice\n4:33: unknown CPU level 'x86-64-v9'\n");
}

TEST(Binding, BuiltIn) {
  std::vector<Binding> bindings = builtinBindings();
  ASSERT_FALSE(bindings.empty());
  bool hasNcnn = false;
  for (const Binding &binding : bindings) hasNcnn |= binding.name == "ncnn" && binding.reads("ncnn-param");
  EXPECT_TRUE(hasNcnn);
}

//===-- Keys ------------------------------------------------------------------------------------------------------===//

constexpr char rules[] = R"yaml(
name: b
graphs: [op-list]
edges: [{symbol: "k_{op}"}]
implies:
  - {op: Conv, brings: [Padding]}
  - {op: Conv, brings: ReLU, when: {attribute: 9, is: [1, 2], absent: 0}}
  - {op: Conv, brings: Clip, when: {attribute: 9, is: 3, absent: 0}}
  - {op: Conv, brings: Quantize, when: {attribute: 8, not: 0, absent: 0}}
  - {op: DepthWise, brings: Conv}
  - {op: Padding, brings: Pad2}
  - {op: "*", brings: Cast}
always: [Input]
)yaml";

std::string names(const KeyClosure &closure) {
  std::string out;
  for (const KeyClosure::Key &key : closure.keys()) out += (out.empty() ? "" : " ") + key.key;
  return out;
}

UsedKey used(std::string key) {
  UsedKey result;
  result.key = std::move(key);
  return result;
}

TEST(KeyClosure, RulesToAFixpoint) {
  Binding b = read(rules);
  std::vector<UsedKey> keys{used("Conv")};
  KeyClosure closure(b, keys);
  EXPECT_EQ(names(closure), "Cast Conv Input Pad2 Padding");
  EXPECT_EQ(closure.find("Conv")->used, &keys[0]);
  EXPECT_EQ(closure.find("Pad2")->from, "Padding");
  EXPECT_EQ(closure.find("Pad2")->rule->place.line, 11U);
  EXPECT_FALSE(closure.find("Input")->rule);
  std::vector<const KeyClosure::Key *> chain = closure.chain("Pad2");
  ASSERT_EQ(chain.size(), 3U);
  EXPECT_EQ(chain[1]->key, "Padding");
  EXPECT_EQ(chain[2]->key, "Conv");
  EXPECT_FALSE(closure.find("ReLU"));
  EXPECT_TRUE(closure.chain("ReLU").empty());
  EXPECT_EQ(names(KeyClosure(b, {})), "Cast Input");
}

TEST(KeyClosure, Conditions) {
  Binding b = read(rules);
  auto with = [&](std::string attribute, std::set<std::string> values, uint64_t uses = 1, bool unknown = false) {
    UsedKey key = used("Conv");
    key.attributes[attribute] = {std::move(values), uses, unknown};
    return names(KeyClosure(b, key));
  };
  EXPECT_EQ(with("9", {"1"}), "Cast Conv Input Pad2 Padding ReLU");
  EXPECT_EQ(with("9", {"2", "3"}), "Cast Clip Conv Input Pad2 Padding ReLU");
  EXPECT_EQ(with("9", {"4"}), "Cast Conv Input Pad2 Padding");
  EXPECT_EQ(with("9", {}, 1, true), "Cast Clip Conv Input Pad2 Padding ReLU");
  EXPECT_EQ(with("8", {"0"}), "Cast Conv Input Pad2 Padding");
  EXPECT_EQ(with("8", {"101"}), "Cast Conv Input Pad2 Padding Quantize");
  // By hand or by a rule: nobody knows the attributes.
  UsedKey byHand = used("Conv");
  byHand.attributesKnown = false;
  EXPECT_EQ(names(KeyClosure(b, byHand)), "Cast Clip Conv Input Pad2 Padding Quantize ReLU");
  std::vector<UsedKey> both{used("Conv"), used("DepthWise")};
  KeyClosure closure(b, both);
  EXPECT_EQ(names(closure), "Cast Clip Conv DepthWise Input Pad2 Padding Quantize ReLU");
  EXPECT_TRUE(closure.find("Conv")->used);
}

TEST(KeyClosure, AnAbsentAttribute) {
  Binding b = read(R"yaml(
name: b
graphs: [op-list]
edges: [{symbol: "k_{op}"}]
implies:
  - {op: A, brings: Default, when: {attribute: x, is: 1, absent: 1}}
  - {op: A, brings: NoDefault, when: {attribute: x, is: 1}}
)yaml");
  UsedKey key = used("A");
  key.count = 2;
  EXPECT_EQ(names(KeyClosure(b, key)), "A Default");
  key.attributes["x"] = {{"2"}, 1, false}; // of two
  EXPECT_EQ(names(KeyClosure(b, key)), "A Default");
  key.attributes["x"] = {{"2"}, 2, false};
  EXPECT_EQ(names(KeyClosure(b, key)), "A");
  key.attributes["x"] = {{"1", "2"}, 2, false};
  EXPECT_EQ(names(KeyClosure(b, key)), "A Default NoDefault");
}

TEST(KeyClosure, AttributesThatAreHandedOn) {
  Binding b = read(R"yaml(
name: b
graphs: [op-list]
edges: [{symbol: "k_{op}"}]
implies:
  - {op: Group, brings: Conv, attributes: same}
  - {op: Conv, brings: ReLU, when: {attribute: 9, is: 1}}
  - {op: Conv, brings: Clip, when: {attribute: 9, is: 3}}
  - {op: Other, brings: Group}
)yaml");
  UsedKey group = used("Group");
  group.attributes["9"] = {{"1"}, 1, false};
  EXPECT_EQ(names(KeyClosure(b, group)), "Conv Group ReLU");
  // A use of its own besides.
  UsedKey conv = used("Conv");
  conv.attributes["9"] = {{"3"}, 1, false};
  EXPECT_EQ(names(KeyClosure(b, {conv, group})), "Clip Conv Group ReLU");
  EXPECT_EQ(names(KeyClosure(b, conv)), "Clip Conv");
  // Of what is handed on nothing is known.
  EXPECT_EQ(names(KeyClosure(b, {group, used("Other")})), "Clip Conv Group Other ReLU");
  UsedKey recorded = used("Group");
  recorded.isExact = true;
  EXPECT_EQ(names(KeyClosure(b, recorded)), "Group");
}

TEST(KeyClosure, KeysAsSymbolsSpellThem) {
  Binding b = read(rules);
  UsedKey key = used("my.add");
  KeyClosure closure(b, key);
  EXPECT_FALSE(closure.find("my_add"));
  ASSERT_TRUE(closure.findIdentifier("my_add"));
  EXPECT_EQ(closure.findIdentifier("my_add")->key, "my.add");
  EXPECT_TRUE(closure.findIdentifier("Input"));
  EXPECT_FALSE(closure.findIdentifier("my"));
}

TEST(Variants, Kept) {
  Binding b;
  b.variants = {{"generic", 1, true}, {"x86", 1, false}, {"avx", 3, false}, {"avx512", 4, false}};
  using Names = std::vector<std::string>;
  Names all{"generic", "x86", "avx", "avx512"};
  EXPECT_EQ(keptVariants(b, VariantChoice::All, 1, all), all);
  EXPECT_EQ(keptVariants(b, VariantChoice::Generic, 4, all), Names{"generic"});
  EXPECT_EQ(keptVariants(b, VariantChoice::Generic, 4, {"avx", "avx512"}), Names{"avx"});
  EXPECT_EQ(keptVariants(b, VariantChoice::Best, 1, all), (Names{"generic", "x86"}));
  EXPECT_EQ(keptVariants(b, VariantChoice::Best, 3, all), (Names{"generic", "avx"}));
  EXPECT_EQ(keptVariants(b, VariantChoice::Best, 4, {"generic", "avx"}), (Names{"generic", "avx"}));
  EXPECT_EQ(keptVariants(b, VariantChoice::Best, 1, {"avx512"}), Names{"avx512"});
  EXPECT_EQ(keptVariants(b, VariantChoice::All, 1, {}), Names{});
}

} // namespace
