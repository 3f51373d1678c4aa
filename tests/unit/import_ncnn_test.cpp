// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ncnn's two forms, lists of ops and MAX: the modules that they become, the keys in them, and what is refused.
#include "analysis/graph/graph_keys.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace coppice;

namespace {

class ImportNcnn : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeGraphContext();
  Diagnostics diagnostics;

  ImportedGraph import(llvm::StringRef text, llvm::StringRef name = "net.param") {
    diagnostics = {};
    llvm::MemoryBufferRef file(text, name);
    return importGraph(file, identifyGraph(file), *context, diagnostics);
  }
  std::string print(llvm::StringRef text, llvm::StringRef name = "net.param") {
    ImportedGraph graph = import(text, name);
    EXPECT_TRUE(graph.module) << errors();
    std::string s;
    llvm::raw_string_ostream os(s);
    if (graph.module) graph.module->print(os);
    return s;
  }
  std::string errors() {
    std::string s;
    for (const Diagnostic &d : diagnostics.all()) s += d.code + " " + d.place.str() + ": " + d.message + "\n";
    return s;
  }
  std::string refusal(llvm::StringRef text, llvm::StringRef name = "net.param") {
    EXPECT_FALSE(import(text, name).module);
    EXPECT_TRUE(diagnostics.hasErrors());
    return errors();
  }
  std::string keys(llvm::StringRef text, llvm::StringRef name = "net.param") {
    ImportedGraph graph = import(text, name);
    EXPECT_TRUE(graph.module) << errors();
    std::string s;
    if (graph.module)
      for (const UsedKey &key : keysOf(*graph.module, identifyGraph(llvm::MemoryBufferRef(text, name)), "g"))
        s += key.key + " " + std::to_string(key.count) + " " + key.place.str() + "\n";
    return s;
  }
};

std::string ints(std::initializer_list<int32_t> values) {
  std::string bytes;
  for (int32_t value : values)
    for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(static_cast<uint32_t>(value) >> (8 * i));
  return bytes;
}

constexpr int32_t magic = 7767517, end = -233;

TEST_F(ImportNcnn, BlobsConnectLayers) {
  // A blob that no layer makes is an argument; those that none reads are results. A second blob of one name is another.
  std::string module = print("7767517\n3 5\n"
                             "ReLU a 1 1 in x\n"
                             "Split b 1 2 x y x\n"
                             "Noop c 1 0 y\n");
  EXPECT_EQ(module, R"(module {
  func.func @net(%arg0: tensor<*x!coppice.unknown> {coppice.name = "in"}) -> (tensor<*x!coppice.unknown> {coppice.name = "x"}) {
    %0 = "ncnn.ReLU"(%arg0) : (tensor<*x!coppice.unknown>) -> tensor<*x!coppice.unknown>
    %1:2 = "ncnn.Split"(%0) : (tensor<*x!coppice.unknown>) -> (tensor<*x!coppice.unknown>, tensor<*x!coppice.unknown>)
    "ncnn.Noop"(%1#0) : (tensor<*x!coppice.unknown>) -> ()
    return %1#1 : tensor<*x!coppice.unknown>
  }
}
)");
}

TEST_F(ImportNcnn, Parameters) {
  std::string module = print("7767517\n1 1\n"
                             "A a 0 1 x 0=-3 1=1.5 2=+7 3=1e3 4=1,2 5=1.5,2 -23306=2,4,5 -23307=0 -23308=1,0.5 9=word "
                             "10=\"two words\" 11=4, 0=9\r\n");
  for (llvm::StringRef attribute :
       {"\"0\" = 9 : i64", "\"1\" = 1.500000e+00 : f32", "\"2\" = 7 : i64", "\"3\" = 1.000000e+03 : f32",
        "\"4\" = array<i64: 1, 2>", "\"5\" = array<f32: 1.500000e+00, 2.000000e+00>", "\"6\" = array<i64: 4, 5>",
        "\"7\" = array<i64>", "\"8\" = array<f32: 5.000000e-01>", "\"9\" = \"word\"", "\"10\" = \"two words\"",
        "\"11\" = array<i64: 4>"})
    EXPECT_TRUE(llvm::StringRef(module).contains(attribute)) << attribute.str() << " in " << module;
}

TEST_F(ImportNcnn, ALayerMayBeOnSeveralLines) {
  // As ncnn's scanf reads it; parameters end with the line of the last blob.
  EXPECT_EQ(keys("\n 7767517 1\n2 A\n  a\n0 2 x\ny 0=1\n"), "A 1 net.param:3:3\n");
}

TEST_F(ImportNcnn, BadText) {
  EXPECT_EQ(refusal("", "x.param"), "COP211 x.param:1:1: not an ncnn model: it begins with '', not with 7767517\n");
  EXPECT_EQ(refusal("77675 1 1\n"),
            "COP211 net.param:1:1: not an ncnn model: it begins with '77675', not with 7767517\n");
  EXPECT_EQ(refusal("7767517\n"), "COP211 net.param:2:1: the number of layers is expected here, not ''\n");
  EXPECT_EQ(refusal("7767517\nx 1\n"), "COP211 net.param:2:1: the number of layers is expected here, not 'x'\n");
  EXPECT_EQ(refusal("7767517\n0 1\n"),
            "COP208 net.param:2:1: the number of layers is 0; from 1 to 1000000 is what ncnn reads\n");
  EXPECT_EQ(refusal("7767517\n1 9999999999\n"),
            "COP211 net.param:2:3: the number of blobs is expected here, not '9999999999'\n");
  std::string head = "7767517\n1 1\n";
  EXPECT_EQ(refusal(head), "COP211 net.param:3:1: the file ends after 0 of 1 layers\n");
  EXPECT_EQ(refusal(head + "A"), "COP211 net.param:3:2: the file ends where the name of a layer is expected\n");
  EXPECT_EQ(refusal(head + "A a 0 -1\n"),
            "COP208 net.param:3:7: the number of outputs is -1; from 0 to 1000000 is what ncnn reads\n");
  EXPECT_EQ(refusal(head + "A a 0 3 x\n"),
            "COP211 net.param:4:1: the file ends where the name of an output is expected\n");
  EXPECT_EQ(refusal(head + "A a 1 1 x y\n"),
            "COP211 net.param:3:11: 'y' is one blob more than the 1 that the file announces\n");
  EXPECT_EQ(refusal(head + std::string(300, 'A') + " a 0 1 x\n"),
            "COP211 net.param:3:1: the type of a layer has 300 characters; ncnn reads 255\n");
  std::string layer = head + "A a 0 1 x ";
  EXPECT_EQ(refusal(layer + "0:1"), "COP211 net.param:3:11: a parameter, NUMBER=VALUE, is expected here\n");
  EXPECT_EQ(refusal(layer + "0=1 y"), "COP211 net.param:3:15: a parameter, NUMBER=VALUE, is expected here\n");
  EXPECT_EQ(refusal(layer + "32=1"), "COP211 net.param:3:11: parameter 32 is not one of 0 to 31\n");
  EXPECT_EQ(refusal(layer + "-1=1"), "COP211 net.param:3:11: parameter -1 is not one of 0 to 31\n");
  EXPECT_EQ(refusal(layer + "0="), "COP211 net.param:3:13: '' is not a number that ncnn can read\n");
  EXPECT_EQ(refusal(layer + "0=0x10"), "COP211 net.param:3:13: '0x10' is not a number that ncnn can read\n");
  EXPECT_EQ(refusal(layer + "0=2147483648"),
            "COP211 net.param:3:13: '2147483648' is not a number that ncnn can read\n");
  EXPECT_EQ(refusal(layer + "0=1,,2"), "COP211 net.param:3:13: '' is not a number\n");
  EXPECT_EQ(refusal(layer + "0=\"no end"), "COP211 net.param:3:13: a string has no end\n");
  EXPECT_EQ(refusal(layer + "-23300=3,1,2"), "COP211 net.param:3:18: an array of length 3 has 2 elements\n");
  EXPECT_EQ(refusal(layer + "-23300=x,1,2"), "COP211 net.param:3:18: 'x' is not the length of an array\n");
}

TEST_F(ImportNcnn, Binary) {
  std::string module = print(ints({magic,
                                   3,
                                   4, //
                                   16,
                                   0,
                                   1,
                                   0,
                                   /*parameters*/ 0,
                                   14,
                                   end, // Input
                                   6,
                                   1,
                                   1,
                                   0,
                                   1,
                                   9,
                                   2,
                                   -23310,
                                   2,
                                   0x3f000000,
                                   1,
                                   1,
                                   0x3f800000,
                                   end, // Convolution
                                   256 + 7,
                                   1,
                                   2,
                                   1,
                                   2,
                                   3,
                                   -23402,
                                   2,
                                   'h' | 'i' << 8,
                                   end}),
                             "dir/tiny-v1.param.bin");
  EXPECT_EQ(module, R"(module {
  func.func @tiny_v1() -> (tensor<*x!coppice.unknown> {coppice.name = "2"}, tensor<*x!coppice.unknown> {coppice.name = "3"}) {
    %0 = "ncnn.Input"() {"0" = 14 : i64} : () -> tensor<*x!coppice.unknown>
    %1 = "ncnn.Convolution"(%0) {"1" = 1.000000e+00 : f32, "10" = array<f32: 5.000000e-01, 1.401300e-45>, "9" = 2 : i64} : (tensor<*x!coppice.unknown>) -> tensor<*x!coppice.unknown>
    %2:2 = "ncnn.custom.7"(%1) {"2" = "hi"} : (tensor<*x!coppice.unknown>) -> (tensor<*x!coppice.unknown>, tensor<*x!coppice.unknown>)
    return %2#0, %2#1 : tensor<*x!coppice.unknown>, tensor<*x!coppice.unknown>
  }
}
)");
  EXPECT_EQ(keys(ints({magic, 1, 1, 109, 0, 1, 0, end}), "a.param.bin"),
            "RotaryEmbed 1 a.param.bin: node \"layer 0\"\n");
}

TEST_F(ImportNcnn, LayersOfABinaryFileMayBeInAnyOrder) {
  std::string module = print(ints({magic, 2, 2, 26, 1, 1, 0, 1, end, 16, 0, 1, 0, end}), "a.param.bin");
  EXPECT_LT(module.find("ncnn.Input"), module.find("ncnn.ReLU")) << module;
  EXPECT_EQ(
      refusal(ints({magic, 2, 2, 26, 1, 1, 0, 1, end, 26, 1, 1, 1, 0, end}), "a.param.bin"),
      "COP207 a.param.bin: node \"layer 0\": the graph has a cycle: 'layer 0' needs its own output, or that of such "
      "a layer\n");
}

TEST_F(ImportNcnn, BadBinary) {
  auto error = [&](std::initializer_list<int32_t> values) { return refusal(ints(values), "a.param.bin"); };
  EXPECT_EQ(refusal("\x5d\x86", "a.param.bin"),
            "COP211 a.param.bin: offset 0: the file ends where the magic number is expected\n");
  EXPECT_EQ(error({1, 1, 1}), "COP211 a.param.bin: offset 0: not an ncnn model: it begins with 1, not with 7767517\n");
  EXPECT_EQ(error({magic, 1}), "COP211 a.param.bin: offset 8: the file ends where the number of blobs is expected\n");
  EXPECT_EQ(error({magic, 1, -1}),
            "COP208 a.param.bin: offset 8: the number of blobs is -1; from 1 to 1000000 is what ncnn reads\n");
  EXPECT_EQ(
      error({magic, 1, 1, 110, 0, 1, 0, end}),
      "COP211 a.param.bin: offset 12: layer 0 has type 110, of which Coppice knows no name: it knows the 110 types of "
      "ncnn 1.0.20261020\n");
  EXPECT_EQ(error({magic, 1, 1, 26, 1, 1, 1, 0, end}),
            "COP211 a.param.bin: offset 24: an input is blob 1; the file announces 1\n");
  EXPECT_EQ(error({magic, 1, 1, 16, 0, 1, 0, 32, 1, end}),
            "COP211 a.param.bin: offset 28: parameter 32 of layer 0 is not one of 0 to 31\n");
  EXPECT_EQ(error({magic, 1, 1, 16, 0, 1, 0, -23300, 1 << 30, end}),
            "COP208 a.param.bin: offset 32: a parameter of layer 0 has length 1073741824, but 4 bytes are left\n");
  EXPECT_EQ(error({magic, 1, 1, 16, 0, 1, 0, -23400, 5, end}),
            "COP208 a.param.bin: offset 32: a parameter of layer 0 has length 5, but 4 bytes are left\n");
  EXPECT_EQ(
      error({magic, 1, 1, 16, 0, 1, 0, 3, 1}),
      "COP211 a.param.bin: offset 36: the file ends where a parameter, or the end of the parameters, is expected\n");
}

TEST_F(ImportNcnn, Keys) {
  constexpr llvm::StringRef text = "7767517\n4 4\n"
                                   "Input i 0 1 a\n"
                                   "Convolution c1 1 1 a b 0=8 9=1\n"
                                   "  Convolution c2 1 1 b c 0=8 9=2 10=1.5\n"
                                   "Convolution c3 1 1 c d 0=8\n";
  EXPECT_EQ(keys(text), "Convolution 3 net.param:4:1\nInput 1 net.param:3:1\n");
  ImportedGraph graph = import(text);
  std::vector<UsedKey> list = keysOf(*graph.module, GraphFormat::NcnnParam, "net");
  ASSERT_EQ(list.size(), 2U);
  const UsedKey &conv = list[0];
  EXPECT_EQ(conv.graph, "net");
  EXPECT_TRUE(conv.attributesKnown);
  ASSERT_EQ(conv.attributes.size(), 3U);
  EXPECT_EQ(conv.attributes.at("9").values, (std::set<std::string>{"1", "2"}));
  EXPECT_EQ(conv.attributes.at("9").uses, 2U);
  EXPECT_EQ(conv.attributes.at("0").uses, 3U);
  EXPECT_TRUE(conv.attributes.at("10").isUnknown);
}

TEST_F(ImportNcnn, KeysOfOtherFormats) {
  EXPECT_EQ(keys("# op-list\nadd\naten::mul.out # c\n\nadd\na#b\n", "list"),
            "a#b 1 list:6:1\nadd 2 list:2:1\naten::mul.out 1 list:3:1\n");
  EXPECT_EQ(keys("add\r\nmul\r\n", "list.ops"), "add 1 list.ops:1:1\nmul 1 list.ops:2:1\n");
  ImportedGraph list = import("add\n", "list.ops");
  EXPECT_FALSE(keysOf(*list.module, GraphFormat::OpList, "l")[0].attributesKnown);
  EXPECT_EQ(
      keys(R"("builtin.module"() ({
  "mo.graph"() <{sym_name = "g"}> ({
  ^bb0(%a: !mo.tensor<[4], f32>):
    %1 = "mo.custom"(%a) <{device = #M.device_ref<"cpu", 0>, symbol = "add_one"}> : (!mo.tensor<[4], f32>) -> !mo.tensor<[4], f32>
    %2 = "rmo.mo.relu"(%1) : (!mo.tensor<[4], f32>) -> !mo.tensor<[4], f32>
    %3 = "rmo.matmul"(%1, %2) : (!mo.tensor<[4], f32>, !mo.tensor<[4], f32>) -> !mo.tensor<[4], f32>
    %4 = "mo.constant"() : () -> !mo.tensor<[4], f32>
    "mo.output"(%3) : (!mo.tensor<[4], f32>) -> ()
  }) : () -> ()
}) : () -> ()
)",
           "max.mlir"),
      "add_one 1 max.mlir:4:10\nmo.constant 1 max.mlir:7:10\nmo.matmul 1 max.mlir:6:10\nmo.relu 1 max.mlir:5:10\n");
  // Also what is in regions and in functions that nobody calls.
  EXPECT_EQ(keys(R"(func.func @f(%c: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %w = arith.constant dense<1.0> : tensor<2xf32>
  %y = "onnx.If"(%c) ({
    %0 = "my.add"(%x, %x) {n = 3 : i64, coppice.version = 1 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    "onnx.Yield"(%0) : (tensor<?xf32>) -> ()
  }) : (tensor<i1>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func private @g(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = "my.neg"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
)",
                 "m.mlir"),
            "my.add 1 m.mlir:4:10\nmy.neg 1 m.mlir:10:8\nonnx.If 1 m.mlir:3:8\n");
}

TEST_F(ImportNcnn, BadLists) {
  EXPECT_EQ(refusal("# op-list\n\n", "l.ops"), "COP211 l.ops: the list has no op\n");
  EXPECT_EQ(refusal("a b\n", "l.ops"), "COP211 l.ops:1:1: one op a line is expected, without blanks: 'a b'\n");
  EXPECT_EQ(refusal("ok\n  " + std::string(2000, 'x') + "\n", "l.ops"),
            "COP211 l.ops:2:3: the name of an op has 2000 characters; 1024 are allowed\n");
}

TEST_F(ImportNcnn, BadMax) {
  EXPECT_EQ(refusal("mo.graph @g() {\n}\n", "max.mlir"),
            "COP202 max.mlir: this graph of MAX is in the syntax that only MAX can read\n");
  EXPECT_EQ(refusal("\"builtin.module\"() ({\n  \"mo.graph\"() : () -> ()\n}) : () -> ()\n", "max.mlir"),
            "COP202 max.mlir:2:3: a mo.graph is one block that ends in mo.output; this one is not\n");
  EXPECT_EQ(
      refusal("\"builtin.module\"() ({ \"a.b\"() {n = \"\\\"mo.graph\\\"\"} : () -> () ", "max.mlir").substr(0, 6),
      "COP201");
}

} // namespace
