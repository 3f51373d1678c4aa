// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each test builds a small ONNX model and looks at the MLIR, or at the error, that it becomes.
#include "analysis/graph/import.h"
#include "analysis/graph/unknown_type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "onnx-ml.pb.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <functional>

using namespace coppice;
using onnx::AttributeProto;
using onnx::TensorProto;

namespace {

/// Builds a model of opset 17 whose graph is called "g".
struct Model {
  onnx::ModelProto proto;
  onnx::GraphProto &graph() { return *proto.mutable_graph(); }

  Model() {
    proto.set_ir_version(8);
    import("", 17);
    graph().set_name("g");
  }
  void import(const std::string &domain, int64_t version) {
    auto &set = *proto.add_opset_import();
    set.set_domain(domain);
    set.set_version(version);
  }
  static onnx::NodeProto &node(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes, const std::string &name,
                               const std::string &op, std::vector<std::string> inputs,
                               std::vector<std::string> outputs) {
    onnx::NodeProto &n = *nodes.Add();
    n.set_name(name);
    n.set_op_type(op);
    for (auto &i : inputs) n.add_input(i);
    for (auto &o : outputs) n.add_output(o);
    return n;
  }
  onnx::NodeProto &node(const std::string &name, const std::string &op, std::vector<std::string> inputs,
                        std::vector<std::string> outputs) {
    return node(*graph().mutable_node(), name, op, std::move(inputs), std::move(outputs));
  }
  /// A dimension is a number, or the name of one; "?" is neither.
  static void describe(onnx::ValueInfoProto &value, const std::string &name, int type, std::vector<std::string> dims) {
    value.set_name(name);
    auto &tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (auto &text : dims) {
      auto &dim = *tensor.mutable_shape()->add_dim();
      if (isdigit(text[0]) || text[0] == '-')
        dim.set_dim_value(stoll(text));
      else if (text != "?")
        dim.set_dim_param(text);
    }
  }
  void input(const std::string &name, int type, std::vector<std::string> dims) {
    describe(*graph().add_input(), name, type, std::move(dims));
  }
  void output(const std::string &name, int type, std::vector<std::string> dims) {
    describe(*graph().add_output(), name, type, std::move(dims));
  }
  TensorProto &initializer(const std::string &name, int type, std::vector<int64_t> dims) {
    TensorProto &t = *graph().add_initializer();
    t.set_name(name);
    t.set_data_type(type);
    for (int64_t d : dims) t.add_dims(d);
    return t;
  }
};

AttributeProto &attribute(onnx::NodeProto &node, const std::string &name, AttributeProto::AttributeType type) {
  AttributeProto &a = *node.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}

/// `x` -> Relu -> `y`, to which a test adds what it is about.
Model relu() {
  Model m;
  m.input("x", TensorProto::FLOAT, {"2"});
  m.output("y", TensorProto::FLOAT, {"2"});
  m.node("act", "Relu", {"x"}, {"y"});
  return m;
}

class ImportOnnx : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeGraphContext();
  std::string bytes; // of the model that the last result is from
  Diagnostics diagnostics;

  ImportedGraph import(std::string model, const std::string &path = "model.onnx") {
    bytes = std::move(model);
    diagnostics = {};
    return importOnnx(llvm::MemoryBufferRef(bytes, path), *context, diagnostics);
  }
  ImportedGraph import(const Model &model) { return import(model.proto.SerializeAsString()); }

  std::string text(const ImportedGraph &graph) {
    EXPECT_TRUE(graph.module) << errors();
    std::string s;
    llvm::raw_string_ostream os(s);
    if (graph.module) graph.module.get().print(os);
    return s;
  }
  std::string text(const Model &model) { return text(import(model)); }
  /// The function's lines without "module {" and braces' indentation.
  std::string body(const Model &model) {
    std::string s = text(model);
    size_t begin = s.find("  func.func"), end = s.rfind("  }\n}");
    return end == std::string::npos ? s : s.substr(begin, end + 3 - begin);
  }

  std::string errors() {
    std::string s;
    llvm::raw_string_ostream os(s);
    printText(os, diagnostics.all(), "", false);
    return s;
  }
  /// Everything that is said about a model that is refused.
  std::string refusal(std::string model) {
    EXPECT_FALSE(import(std::move(model)).module);
    EXPECT_TRUE(diagnostics.hasErrors());
    return errors();
  }
  std::string refusal(const Model &model) { return refusal(model.proto.SerializeAsString()); }
};

//===-- Graphs ----------------------------------------------------------------------------------------------------===//

TEST_F(ImportOnnx, GraphIsAFunctionWithNamesAndNamedDimensions) {
  Model m;
  m.graph().set_name("my graph.1");
  m.input("x", TensorProto::FLOAT, {"N", "3", "?"});
  m.output("y", TensorProto::FLOAT, {"N", "3", "?"});
  m.node("act", "Relu", {"x"}, {"y"});
  EXPECT_EQ(
      body(m),
      R"(  func.func @my_graph_1(%arg0: tensor<?x3x?xf32> {coppice.dims = ["N", "", ""], coppice.name = "x"}) -> (tensor<?x3x?xf32> {coppice.dims = ["N", "", ""], coppice.name = "y"}) {
    %0 = "onnx.Relu"(%arg0) {coppice.version = 17 : i64} : (tensor<?x3x?xf32>) -> tensor<?x3x?xf32>
    return %0 : tensor<?x3x?xf32>
  })");
}

TEST_F(ImportOnnx, MissingShapeIsUnrankedAndMissingTypeIsUnknown) {
  Model m = relu();
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  m.graph().mutable_output(0)->clear_type();
  ImportedGraph g = import(m);
  EXPECT_NE(text(g).find(R"((tensor<*xf32>) -> tensor<*x!coppice.unknown>)"), std::string::npos) << text(g);
  auto function = *g.module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_FALSE(hasUnknownElementType(function.getArgumentTypes()[0]));
  EXPECT_TRUE(hasUnknownElementType(function.getResultTypes()[0]));
}

TEST_F(ImportOnnx, ValueInfoGivesTypesOfIntermediateValues) {
  Model m;
  m.input("x", TensorProto::FLOAT, {"2"});
  m.output("z", TensorProto::FLOAT, {"2"});
  m.node("", "Relu", {"x"}, {"y"});
  m.node("", "Relu", {"y"}, {"z"});
  Model::describe(*m.graph().add_value_info(), "y", TensorProto::FLOAT, {"N"});
  EXPECT_NE(text(m).find("(tensor<2xf32>) -> tensor<?xf32>"), std::string::npos) << text(m);
}

TEST_F(ImportOnnx, NodesOutOfOrderAreSortedAndOthersStayInOrder) {
  Model m;
  m.input("x", TensorProto::FLOAT, {});
  m.output("d", TensorProto::FLOAT, {});
  m.node("", "Exp", {"b"}, {"c"});
  m.node("", "Neg", {"x"}, {"a"});
  m.node("", "Abs", {"a"}, {"b"});
  m.node("", "Log", {"c"}, {"d"});
  std::string s = text(m);
  EXPECT_LT(s.find("onnx.Neg"), s.find("onnx.Abs"));
  EXPECT_LT(s.find("onnx.Abs"), s.find("onnx.Exp"));
  EXPECT_LT(s.find("onnx.Exp"), s.find("onnx.Log"));
}

TEST_F(ImportOnnx, OptionalInputsAndOutputs) {
  Model m;
  m.input("x", TensorProto::FLOAT, {});
  m.output("y", TensorProto::FLOAT, {});
  m.node("", "Op", {"x", "", "x", ""}, {"", "y", ""});
  EXPECT_EQ(body(m),
            R"(  func.func @g(%arg0: tensor<f32> {coppice.name = "x"}) -> (tensor<f32> {coppice.name = "y"}) {
    %0 = "onnx.None"() : () -> none
    %1:2 = "onnx.Op"(%arg0, %0, %arg0) {coppice.version = 17 : i64} : (tensor<f32>, none, tensor<f32>) -> (none, tensor<f32>)
    return %1#1 : tensor<f32>
  })");
}

TEST_F(ImportOnnx, DomainsAndVersions) {
  Model m = relu();
  m.import("com.microsoft", 1);
  m.node("", "Gelu", {"x"}, {"z"}).set_domain("com.microsoft");
  m.node("", "Neg", {"x"}, {"w"}).set_domain("ai.onnx");
  std::string s = text(m);
  EXPECT_NE(s.find(R"("com.microsoft.Gelu"(%arg0) {coppice.version = 1 : i64})"), std::string::npos) << s;
  EXPECT_NE(s.find(R"("onnx.Neg"(%arg0) {coppice.version = 17 : i64})"), std::string::npos) << s;
}

TEST_F(ImportOnnx, EveryKindOfAttribute) {
  Model m = relu();
  onnx::NodeProto &n = *m.graph().mutable_node(0);
  attribute(n, "i", AttributeProto::INT).set_i(-3);
  attribute(n, "f", AttributeProto::FLOAT).set_f(0.5);
  attribute(n, "s", AttributeProto::STRING).set_s("text");
  auto &ints = attribute(n, "ints", AttributeProto::INTS);
  ints.add_ints(1), ints.add_ints(2);
  attribute(n, "floats", AttributeProto::FLOATS).add_floats(1.5);
  attribute(n, "strings", AttributeProto::STRINGS).add_strings("a");
  auto &t = *attribute(n, "t", AttributeProto::TENSOR).mutable_t();
  t.set_data_type(TensorProto::INT64);
  t.add_int64_data(7);
  attribute(n, "type", AttributeProto::TYPE_PROTO)
      .mutable_tp()
      ->mutable_tensor_type()
      ->set_elem_type(TensorProto::BOOL);
  EXPECT_NE(
      text(m).find(R"({coppice.version = 17 : i64, f = 5.000000e-01 : f32, floats = array<f32: 1.500000e+00>, )"
                   R"(i = -3 : i64, ints = array<i64: 1, 2>, s = "text", strings = ["a"], t = dense<7> : tensor<i64>, )"
                   R"(type = tensor<*xi1>})"),
      std::string::npos)
      << text(m);
}

TEST_F(ImportOnnx, LocationsNameTheNodes) {
  Model m = relu();
  m.node("", "Neg", {"y"}, {"z"});
  ImportedGraph g = import(m);
  std::vector<std::string> names;
  g.module->walk([&](mlir::Operation *op) {
    auto loc = mlir::dyn_cast<mlir::NameLoc>(op->getLoc());
    if (!loc || !op->getName().getStringRef().starts_with("onnx.")) return;
    auto file = mlir::cast<mlir::FileLineColLoc>(loc.getChildLoc());
    EXPECT_EQ(file.getFilename(), "model.onnx");
    EXPECT_EQ(file.getLine(), 0u);
    names.push_back(loc.getName().str());
  });
  EXPECT_EQ(names, (std::vector<std::string>{"act", "Neg#1"}));
}

//===-- Constants -------------------------------------------------------------------------------------------------===//

TEST_F(ImportOnnx, InitializersAreConstantsAndNoArguments) {
  Model m = relu();
  m.node("add", "Add", {"y", "w"}, {"z"});
  m.input("w", TensorProto::FLOAT, {"2"});
  auto &w = m.initializer("w", TensorProto::FLOAT, {2});
  w.add_float_data(1), w.add_float_data(2);
  m.initializer("unused", TensorProto::FLOAT, {}).add_float_data(5);
  std::string s = body(m);
  EXPECT_NE(s.find("func.func @g(%arg0: tensor<2xf32> {coppice.name = \"x\"}) ->"), std::string::npos) << s;
  EXPECT_NE(s.find("%cst = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>"), std::string::npos)
      << s;
  EXPECT_EQ(s.find("5.0"), std::string::npos) << s;
}

mlir::DenseResourceElementsAttr resource(const ImportedGraph &g) {
  mlir::DenseResourceElementsAttr found;
  g.module.get().walk(
      [&](mlir::arith::ConstantOp op) { found = mlir::dyn_cast<mlir::DenseResourceElementsAttr>(op.getValue()); });
  return found;
}

TEST_F(ImportOnnx, LargeRawDataStaysInTheFile) {
  Model m = relu();
  m.node("add", "Add", {"y", "weight"}, {"z"});
  std::string weights(4 * 100, 'w');
  m.initializer("weight", TensorProto::FLOAT, {100}).set_raw_data(weights);
  ImportedGraph g = import(m);
  auto attr = resource(g);
  ASSERT_TRUE(attr);
  EXPECT_EQ(attr.getRawHandle().getKey(), "weight");
  llvm::ArrayRef<char> data = attr.getRawHandle().getBlob()->getData();
  EXPECT_EQ(llvm::StringRef(data.data(), data.size()), weights);
  EXPECT_EQ(data.data(), bytes.data() + bytes.find(weights)); // not a copy
}

TEST_F(ImportOnnx, LargeTypedDataIsConverted) {
  Model m = relu();
  m.node("add", "Add", {"y", "w"}, {"z"});
  auto &w = m.initializer("w", TensorProto::INT8, {100});
  for (int i = 0; i < 100; ++i) w.add_int32_data(-i);
  auto attr = resource(import(m));
  ASSERT_TRUE(attr);
  llvm::ArrayRef<char> data = attr.getRawHandle().getBlob()->getData();
  ASSERT_EQ(data.size(), 100u);
  EXPECT_EQ(static_cast<int8_t>(data[99]), -99);
}

TEST_F(ImportOnnx, LargeBoolsAreOneByteEach) {
  Model m = relu();
  m.node("add", "Op", {"y", "w"}, {"z"});
  auto &w = m.initializer("w", TensorProto::BOOL, {100});
  for (int i = 0; i < 100; ++i) w.add_int32_data(i % 2);
  ImportedGraph g = import(m);
  auto attr = resource(g);
  ASSERT_TRUE(attr);
  EXPECT_TRUE(attr.getType().getElementType().isInteger(1));
  llvm::ArrayRef<char> data = attr.getRawHandle().getBlob()->getData();
  ASSERT_EQ(data.size(), 100u);
  EXPECT_EQ(data[98], 0);
  EXPECT_EQ(data[99], 1);
}

TEST_F(ImportOnnx, ConstantNodes) {
  Model m = relu();
  auto constant = [&](const std::string &output, const char *name,
                      AttributeProto::AttributeType type) -> AttributeProto & {
    return attribute(m.node("", "Constant", {}, {output}), name, type);
  };
  constant("a", "value_float", AttributeProto::FLOAT).set_f(2);
  constant("b", "value_ints", AttributeProto::INTS).add_ints(4);
  constant("c", "value_string", AttributeProto::STRING).set_s("s");
  constant("d", "value_floats", AttributeProto::FLOATS);
  auto &t = *constant("e", "value", AttributeProto::TENSOR).mutable_t();
  t.set_data_type(TensorProto::INT32);
  t.add_dims(2);
  t.set_raw_data(std::string("\1\0\0\0\2\0\0\0", 8));
  std::string s = text(m);
  for (const char *line :
       {"dense<2.000000e+00> : tensor<f32>", "dense<4> : tensor<1xi64>", "dense<\"s\"> : tensor<!onnx.string>",
        "dense<> : tensor<0xf32>", "dense<[1, 2]> : tensor<2xi32>"})
    EXPECT_NE(s.find(line), std::string::npos) << line << "\n" << s;
}

/// The one constant of a model with one initializer of two or three elements.
struct SmallType {
  int type;
  const char *mlir;
  std::function<void(TensorProto &)> fill;
};
class SmallTypes : public ImportOnnx, public testing::WithParamInterface<SmallType> {};

TEST_P(SmallTypes, AsText) {
  Model m = relu();
  m.node("use", "Op", {"w"}, {"z"});
  GetParam().fill(m.initializer("w", GetParam().type, {3}));
  std::string s = text(m);
  EXPECT_NE(s.find(std::string("arith.constant ") + GetParam().mlir + "\n"), std::string::npos) << s;
}

auto ints(std::vector<int> values) {
  return [=](TensorProto &t) {
    for (int v : values) t.add_int32_data(v);
  };
}
auto raw(std::string data) {
  return [=](TensorProto &t) { t.set_raw_data(data); };
}
INSTANTIATE_TEST_SUITE_P(
    , SmallTypes,
    testing::Values(
        SmallType{TensorProto::BOOL, "dense<[true, false, true]> : tensor<3xi1>", ints({1, 0, 1})},
        SmallType{TensorProto::BOOL, "dense<[true, false, true]> : tensor<3xi1>", raw({"\1\0\1", 3})},
        SmallType{TensorProto::INT8, "dense<[-1, 0, 127]> : tensor<3xi8>", ints({-1, 0, 127})},
        SmallType{TensorProto::UINT8, "dense<[255, 0, 1]> : tensor<3xui8>", ints({255, 0, 1})},
        SmallType{TensorProto::INT16, "dense<[-2, 0, 1]> : tensor<3xi16>", ints({-2, 0, 1})},
        SmallType{TensorProto::UINT16, "dense<[65535, 0, 1]> : tensor<3xui16>", ints({65535, 0, 1})},
        SmallType{TensorProto::FLOAT16, "dense<[1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<3xf16>",
                  ints({0x3C00, 0, 0x4000})},
        SmallType{TensorProto::BFLOAT16, "dense<[1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<3xbf16>",
                  ints({0x3F80, 0, 0x4000})},
        SmallType{TensorProto::FLOAT8E4M3FN, "dense<[1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<3xf8E4M3FN>",
                  ints({0x38, 0, 0x40})},
        SmallType{TensorProto::FLOAT8E5M2, "dense<[1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<3xf8E5M2>",
                  raw({"\x3C\0\x40", 3})},
        // Two elements a byte, the first in the low bits; the last byte is half used.
        SmallType{TensorProto::INT4, "dense<[1, -2, 7]> : tensor<3xi4>", ints({0xE1, 0x07})},
        SmallType{TensorProto::UINT4, "dense<[1, 14, 7]> : tensor<3xui4>", raw("\xE1\x07")},
        SmallType{TensorProto::FLOAT4E2M1, "dense<[1.000000e+00, 2.000000e+00, 5.000000e-01]> : tensor<3xf4E2M1FN>",
                  raw("\x42\x01")},
        // Four elements a byte.
        SmallType{TensorProto::INT2, "dense<[1, -1, -2]> : tensor<3xi2>", ints({0x2D})},
        SmallType{TensorProto::UINT2, "dense<[1, 3, 2]> : tensor<3xui2>", raw("\x2D")},
        // Four elements in three bytes as raw data, one in each entry of int32_data.
        SmallType{TensorProto::FLOAT6E3M2, "dense<[1.000000e+00, 2.000000e+00, 4.000000e+00]> : tensor<3xf6E3M2FN>",
                  ints({0x0C, 0x10, 0x14})},
        SmallType{TensorProto::FLOAT6E3M2, "dense<[1.000000e+00, 2.000000e+00, 4.000000e+00]> : tensor<3xf6E3M2FN>",
                  raw({"\x0C\x44\x01", 3})},
        SmallType{TensorProto::UINT64, "dense<[18446744073709551615, 0, 1]> : tensor<3xui64>",
                  [](TensorProto &t) { t.add_uint64_data(~0ull), t.add_uint64_data(0), t.add_uint64_data(1); }},
        SmallType{TensorProto::UINT32, "dense<[4294967295, 0, 1]> : tensor<3xui32>",
                  [](TensorProto &t) { t.add_uint64_data(~0u), t.add_uint64_data(0), t.add_uint64_data(1); }},
        SmallType{TensorProto::DOUBLE, "dense<[1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<3xf64>",
                  [](TensorProto &t) { t.add_double_data(1), t.add_double_data(0), t.add_double_data(2); }},
        SmallType{TensorProto::COMPLEX64,
                  "dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,4.000000e+00), (5.000000e+00,6.000000e+00)]> : "
                  "tensor<3xcomplex<f32>>",
                  [](TensorProto &t) {
                    for (int i = 1; i < 7; ++i) t.add_float_data(i);
                  }},
        SmallType{TensorProto::STRING, "dense<[\"a\", \"\", \"c\"]> : tensor<3x!onnx.string>",
                  [](TensorProto &t) { t.add_string_data("a"), t.add_string_data(""), t.add_string_data("c"); }}));

//===-- External data ---------------------------------------------------------------------------------------------===//

class ImportOnnxExternal : public ImportOnnx {
protected:
  llvm::SmallString<128> directory;
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("coppice-test", directory));
    write("weights.bin", "....abcdefgh");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }
  void write(const std::string &name, const std::string &contents) {
    std::error_code error;
    llvm::raw_fd_ostream((directory + "/" + name).str(), error) << contents;
    ASSERT_FALSE(error);
  }
  /// A model whose only weight is `dims` bytes in the file, with these keys.
  ImportedGraph importExternal(int64_t size, std::vector<std::pair<std::string, std::string>> keys) {
    Model m = relu();
    m.node("use", "Op", {"w"}, {"z"});
    auto &w = m.initializer("w", TensorProto::UINT8, {size});
    w.set_data_location(TensorProto::EXTERNAL);
    for (auto &[key, value] : keys) {
      auto &entry = *w.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return import(m.proto.SerializeAsString(), (directory + "/model.onnx").str());
  }
};

TEST_F(ImportOnnxExternal, IsReadBesideTheModel) {
  ImportedGraph g = importExternal(2, {{"location", "weights.bin"}, {"offset", "4"}, {"length", "2"}});
  EXPECT_NE(text(g).find("dense<[97, 98]> : tensor<2xui8>"), std::string::npos);
  EXPECT_EQ(g.filesRead, std::vector<std::string>{(directory + "/weights.bin").str()});
  EXPECT_EQ(g.keepAlive.size(), 1u);
}

TEST_F(ImportOnnxExternal, RefusesWhatIsNotThere) {
  using Keys = std::vector<std::pair<std::string, std::string>>;
  auto refuses = [&](int64_t size, Keys keys, const char *reason) {
    EXPECT_FALSE(importExternal(size, keys).module);
    EXPECT_NE(errors().find(reason), std::string::npos) << errors();
    EXPECT_NE(errors().find("initializer 'w'"), std::string::npos) << errors();
  };
  refuses(2, {{"location", "other.bin"}}, "error[COP206]");
  refuses(2, {{"location", "other.bin"}}, "other.bin', which cannot be read: No such file");
  refuses(2, {}, "without a location");
  refuses(2, {{"location", "weights.bin"}, {"offset", "11"}, {"length", "2"}}, "offset 11, length 2, but");
  refuses(2, {{"location", "weights.bin"}, {"offset", "99"}}, "has 12 bytes");
  refuses(100, {{"location", "weights.bin"}}, "needs 100 bytes; 12 are left");
  refuses(2, {{"location", "weights.bin"}, {"offset", "x"}}, "offset is not a number: 'x'");
  refuses(2, {{"location", "weights.bin"}, {"offset", "18446744073709551615"}, {"length", "2"}}, "COP206");
  refuses(2, {{"location", "weights.bin"}, {"length", "3"}}, "holds 3 bytes, its shape and type need 2");
  refuses(2, {{"location", "/etc/hostname"}}, "outside of the model's directory: '/etc/hostname'");
  refuses(2, {{"location", "sub/../../weights.bin"}}, "outside of the model's directory");
  refuses(2, {{"location", "."}}, "which is not a file");
}

//===-- Subgraphs -------------------------------------------------------------------------------------------------===//

TEST_F(ImportOnnx, SubgraphsAreRegionsThatSeeOuterNames) {
  Model m;
  m.input("c", TensorProto::BOOL, {});
  m.input("x", TensorProto::FLOAT, {});
  m.output("y", TensorProto::FLOAT, {});
  auto &branch = m.node("branch", "If", {"c"}, {"y"});
  auto &then = *attribute(branch, "then_branch", AttributeProto::GRAPH).mutable_g();
  Model::node(*then.mutable_node(), "", "Add", {"late", "k"}, {"t"});
  then.add_output()->set_name("t");
  auto &k = *then.add_initializer();
  k.set_name("k");
  k.set_data_type(TensorProto::FLOAT);
  k.add_float_data(1);
  auto &otherwise = *attribute(branch, "else_branch", AttributeProto::GRAPH).mutable_g();
  Model::describe(*otherwise.add_output(), "x", TensorProto::FLOAT, {});
  m.node("", "Neg", {"x"}, {"late"}); // the branch captures it, so it moves up
  EXPECT_EQ(
      body(m),
      R"(  func.func @g(%arg0: tensor<i1> {coppice.name = "c"}, %arg1: tensor<f32> {coppice.name = "x"}) -> (tensor<f32> {coppice.name = "y"}) {
    %0 = "onnx.Neg"(%arg1) {coppice.version = 17 : i64} : (tensor<f32>) -> tensor<*x!coppice.unknown>
    %1 = "onnx.If"(%arg0) ({
      %cst = arith.constant dense<1.000000e+00> : tensor<f32>
      %2 = "onnx.Add"(%0, %cst) {coppice.version = 17 : i64} : (tensor<*x!coppice.unknown>, tensor<f32>) -> tensor<*x!coppice.unknown>
      "onnx.Yield"(%2) : (tensor<*x!coppice.unknown>) -> ()
    }, {
      "onnx.Yield"(%arg1) : (tensor<f32>) -> ()
    }) {coppice.regions = ["then_branch", "else_branch"], coppice.version = 17 : i64} : (tensor<i1>) -> tensor<f32>
    return %1 : tensor<f32>
  })");
}

TEST_F(ImportOnnx, InputsOfASubgraphAreBlockArguments) {
  Model m = relu();
  auto &loop = m.node("loop", "Loop", {"", "", "y"}, {"z"});
  auto &bodyGraph = *attribute(loop, "body", AttributeProto::GRAPH).mutable_g();
  Model::describe(*bodyGraph.add_input(), "i", TensorProto::INT64, {});
  bodyGraph.add_input()->set_name("cond");
  bodyGraph.add_output()->set_name("cond");
  std::string s = text(m);
  EXPECT_NE(s.find("^bb0(%arg1: tensor<i64>, %arg2: tensor<*x!coppice.unknown>):\n      \"onnx.Yield\"(%arg2)"),
            std::string::npos)
      << s;
}

//===-- Functions -------------------------------------------------------------------------------------------------===//

onnx::FunctionProto &function(Model &m, const std::string &name, std::vector<std::string> inputs,
                              std::vector<std::string> outputs) {
  onnx::FunctionProto &f = *m.proto.add_functions();
  f.set_name(name);
  f.set_domain("local");
  for (auto &i : inputs) f.add_input(i);
  for (auto &o : outputs) f.add_output(o);
  for (auto [domain, version] : {std::pair("", 18), std::pair("local", 1)}) {
    f.add_opset_import()->set_domain(domain);
    f.mutable_opset_import(f.opset_import_size() - 1)->set_version(version);
  }
  return f;
}

onnx::NodeProto &call(onnx::NodeProto &node) {
  node.set_domain("local");
  return node;
}

TEST_F(ImportOnnx, CallsOfFunctionsAreReplacedByTheirBodies) {
  Model m = relu();
  attribute(call(m.node("call", "Outer", {"y"}, {"z"})), "a", AttributeProto::FLOAT).set_f(0.5);
  auto &outer = function(m, "Outer", {"p", "absent"}, {"r"});
  auto refer = [](onnx::NodeProto &n, const char *name, AttributeProto::AttributeType type, const char *to) {
    attribute(n, name, type).set_ref_attr_name(to);
  };
  refer(Model::node(*outer.mutable_node(), "leaky", "LeakyRelu", {"p", "absent"}, {"m"}), "alpha",
        AttributeProto::FLOAT, "a");
  refer(call(Model::node(*outer.mutable_node(), "", "Inner", {"m"}, {"r"})), "axis", AttributeProto::INT, "not_given");
  auto &inner = function(m, "Inner", {"p"}, {"r"});
  auto &axis = *inner.add_attribute_proto();
  axis.set_name("axis");
  axis.set_type(AttributeProto::INT);
  axis.set_i(-1);
  auto &softmax = Model::node(*inner.mutable_node(), "", "Softmax", {"p"}, {"r"});
  refer(softmax, "axis", AttributeProto::INT, "axis");
  refer(softmax, "other", AttributeProto::INT, "nothing");

  ImportedGraph g = import(m);
  std::string s = text(g);
  EXPECT_NE(
      s.find(
          R"(    %1 = "onnx.LeakyRelu"(%0) {alpha = 5.000000e-01 : f32, coppice.version = 18 : i64} : (tensor<2xf32>) -> tensor<*x!coppice.unknown>
    %2 = "onnx.Softmax"(%1) {axis = -1 : i64, coppice.version = 18 : i64})"),
      std::string::npos)
      << s;
  EXPECT_EQ(s.find("onnx.None"), std::string::npos) << s;
  std::string names;
  g.module->walk([&](mlir::Operation *op) {
    if (auto loc = mlir::dyn_cast<mlir::NameLoc>(op->getLoc())) names += loc.getName().str() + " ";
  });
  EXPECT_NE(names.find("call/leaky call/Inner#1/Softmax#0"), std::string::npos) << names;
}

TEST_F(ImportOnnx, OverloadsAreDifferentFunctions) {
  Model m = relu();
  call(m.node("call", "F", {"y"}, {"z"})).set_overload("two");
  auto &one = function(m, "F", {"p"}, {"r"});
  one.set_overload("one");
  Model::node(*one.mutable_node(), "", "Neg", {"p"}, {"r"});
  auto &two = function(m, "F", {"p"}, {"r"});
  two.set_overload("two");
  Model::node(*two.mutable_node(), "", "Abs", {"p"}, {"r"});
  EXPECT_NE(text(m).find("onnx.Abs"), std::string::npos);
  EXPECT_EQ(text(m).find("onnx.Neg"), std::string::npos);
}

TEST_F(ImportOnnx, RefusesFunctionsThatCallThemselves) {
  Model m = relu();
  call(m.node("call", "A", {"y"}, {"z"}));
  call(Model::node(*function(m, "A", {"p"}, {"r"}).mutable_node(), "b", "B", {"p"}, {"r"}));
  call(Model::node(*function(m, "B", {"p"}, {"r"}).mutable_node(), "a", "A", {"p"}, {"r"}));
  EXPECT_EQ(refusal(m), "error[COP207]: functions of the model call each other in a cycle: 'A' -> 'B' -> 'A'\n"
                        "  --> model.onnx: node \"call/b/a\"\n");
}

TEST_F(ImportOnnx, RefusesFunctionsThatGrowWithoutEnd) {
  Model m = relu();
  call(m.node("call", "F0", {"y"}, {"z"}));
  for (int i = 0; i < 30; ++i) { // 2^30 nodes
    auto &f = function(m, "F" + std::to_string(i), {"p"}, {"r"});
    std::string next = "F" + std::to_string(i + 1);
    if (i < 29) call(Model::node(*f.mutable_node(), "", next, {"p"}, {"q"}));
    if (i < 29) call(Model::node(*f.mutable_node(), "", next, {"q"}, {"r"}));
    if (i == 29) Model::node(*f.mutable_node(), "", "Neg", {"p"}, {"r"});
  }
  EXPECT_NE(refusal(m).find("error[COP208]: more than 262144 nodes"), std::string::npos);
}

//===-- Types that are no tensors of numbers ----------------------------------------------------------------------===//

TEST_F(ImportOnnx, OtherTypesAreKeptForResolutionToReport) {
  Model m = relu();
  auto tensor = [](onnx::TypeProto &t) { t.mutable_tensor_type()->set_elem_type(TensorProto::FLOAT); };
  auto add = [&](const char *name) -> onnx::TypeProto & {
    auto &input = *m.graph().add_input();
    input.set_name(name);
    return *input.mutable_type();
  };
  tensor(*add("seq").mutable_sequence_type()->mutable_elem_type());
  tensor(*add("opt").mutable_optional_type()->mutable_elem_type()->mutable_sequence_type()->mutable_elem_type());
  auto &map = *add("map").mutable_map_type();
  map.set_key_type(TensorProto::INT64);
  tensor(*map.mutable_value_type());
  add("sparse").mutable_sparse_tensor_type()->set_elem_type(TensorProto::DOUBLE);
  add("str").mutable_tensor_type()->set_elem_type(TensorProto::STRING);
  add("opaque").mutable_opaque_type()->set_name("a>b");
  std::string s = text(m);
  for (const char *type :
       {"!onnx.sequence<tensor<*xf32>>", "!onnx.optional<!onnx.sequence<tensor<*xf32>>>",
        "!onnx.map<i64, tensor<*xf32>>", "!onnx.sparse<tensor<*xf64>>", "tensor<*x!onnx.string>", "!onnx.opaque<.a_b>"})
    EXPECT_NE(s.find(type), std::string::npos) << type << "\n" << s;

  // What is printed can be read.
  auto other = makeGraphContext();
  EXPECT_TRUE(importMlir(llvm::MemoryBufferRef(s, "printed.mlir"), *other, diagnostics).module) << errors();
}

TEST_F(ImportOnnx, RefusesWhatHasNoFormInMlir) {
  Model m = relu();
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(99);
  EXPECT_EQ(refusal(m), "error[COP202]: input 'x' has element type 99, which ONNX 1.23 does not define\n"
                        "  --> model.onnx\n");
  m = relu();
  attribute(*m.graph().mutable_node(0), "sparse", AttributeProto::SPARSE_TENSOR);
  EXPECT_EQ(refusal(m), "error[COP202]: attribute 'sparse' has type SPARSE_TENSOR, which Coppice does not read\n"
                        "  --> model.onnx: node \"act\"\n");
  m = relu();
  m.import("arith", 1);
  m.node("n", "addf", {"x"}, {"z"}).set_domain("arith");
  EXPECT_EQ(refusal(m), "error[COP202]: the domain of op 'arith.addf' is a dialect of MLIR\n"
                        "  --> model.onnx: node \"n\"\n");
}

//===-- Broken models ---------------------------------------------------------------------------------------------===//

TEST_F(ImportOnnx, RefusesFilesThatAreNoModels) {
  EXPECT_NE(refusal("").find("error[COP205]: not an ONNX model: the file is empty\n  --> model.onnx\n"),
            std::string::npos);
  EXPECT_NE(refusal("<html>").find("error[COP205]: not an ONNX model, or a damaged one"), std::string::npos);
  EXPECT_NE(refusal("version https://git-lfs.github.com/spec/v1\n").find("help: git lfs pull"), std::string::npos);
  EXPECT_NE(refusal(onnx::ModelProto().SerializeAsString()).find("the file is empty"), std::string::npos);
  onnx::ModelProto noGraph;
  noGraph.set_ir_version(8);
  EXPECT_NE(refusal(noGraph.SerializeAsString()).find("the model has no graph"), std::string::npos);
  EXPECT_NE(refusal(Model()).find("the model's graph has no nodes"), std::string::npos);
}

TEST_F(ImportOnnx, RefusesEveryTruncation) {
  Model m = relu();
  m.initializer("w", TensorProto::FLOAT, {1}).set_raw_data("abcd");
  std::string whole = m.proto.SerializeAsString();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string s = refusal(whole.substr(0, size));
    EXPECT_NE(s.find("error[COP205]"), std::string::npos) << size << ": " << s;
  }
  EXPECT_NE(refusal(whole.substr(0, whole.size() - 1)).find("are left\n  --> model.onnx: offset "), std::string::npos)
      << errors();
}

TEST_F(ImportOnnx, RefusesCycles) {
  Model m;
  m.output("b", TensorProto::FLOAT, {});
  m.node("tail", "Neg", {"b"}, {"t"});
  m.node("first", "Neg", {"b"}, {"a"});
  m.node("second", "Abs", {"a"}, {"b"});
  EXPECT_EQ(refusal(m), "error[COP207]: the graph has a cycle: \"first\" -> \"second\" -> \"first\"\n"
                        "  --> model.onnx: node \"first\"\n");
  Model self;
  self.node("n", "Neg", {"a"}, {"a"});
  EXPECT_NE(refusal(self).find("cycle: \"n\" -> \"n\""), std::string::npos);
}

TEST_F(ImportOnnx, RefusesNamesThatAreUndefinedOrDefinedTwice) {
  Model m = relu();
  m.node("n", "Neg", {"nowhere"}, {"z"});
  EXPECT_EQ(refusal(m), "error[COP205]: nothing defines input 'nowhere'\n  --> model.onnx: node \"n\"\n");
  m = relu();
  m.output("z", TensorProto::FLOAT, {});
  EXPECT_EQ(refusal(m), "error[COP205]: nothing defines the output 'z' of the graph\n  --> model.onnx\n");
  m = relu();
  m.node("n", "Neg", {"x"}, {"y"});
  EXPECT_EQ(refusal(m),
            "error[COP205]: 'y' is defined twice: by node \"act\" and by this node\n  --> model.onnx: node \"n\"\n");
  m = relu();
  m.node("n", "Neg", {"x"}, {"x"});
  EXPECT_EQ(
      refusal(m),
      "error[COP205]: 'x' is defined twice: by the graph itself and by this node\n  --> model.onnx: node \"n\"\n");
  m = relu();
  m.initializer("w", TensorProto::FLOAT, {0});
  m.initializer("w", TensorProto::FLOAT, {0});
  EXPECT_NE(refusal(m).find("'w' is defined twice: by initializers"), std::string::npos);
  m = relu();
  m.input("x", TensorProto::FLOAT, {});
  EXPECT_NE(refusal(m).find("'x' is defined twice"), std::string::npos);
  m = relu();
  attribute(*m.graph().mutable_node(0), "a", AttributeProto::INT);
  attribute(*m.graph().mutable_node(0), "a", AttributeProto::INT);
  EXPECT_NE(refusal(m).find("attribute 'a'"), std::string::npos);
}

TEST_F(ImportOnnx, RefusesMissingImports) {
  Model m = relu();
  m.node("n", "Gelu", {"x"}, {"z"}).set_domain("com.microsoft");
  EXPECT_EQ(refusal(m),
            "error[COP205]: op 'Gelu' is of domain 'com.microsoft', and the model imports no operator set of it\n"
            "  --> model.onnx: node \"n\"\n");
  m = relu();
  m.proto.clear_opset_import();
  EXPECT_NE(refusal(m).find("domain 'ai.onnx'"), std::string::npos);
  m.proto.set_ir_version(2); // had no imports
  EXPECT_NE(text(m).find("coppice.version = 1 "), std::string::npos);
}

TEST_F(ImportOnnx, RefusesAbsurdSizes) {
  auto withWeight = [](std::vector<int64_t> dims) {
    Model m = relu();
    m.node("n", "Op", {"w"}, {"z"});
    m.initializer("w", TensorProto::FLOAT, dims);
    return m;
  };
  EXPECT_EQ(refusal(withWeight({int64_t(1) << 40})),
            "error[COP208]: initializer 'w' has shape [1099511627776], more than 2^40 bytes\n  --> model.onnx\n");
  EXPECT_NE(refusal(withWeight({int64_t(1) << 32, int64_t(1) << 32})).find("COP208"), std::string::npos);
  EXPECT_NE(refusal(withWeight({0, int64_t(1) << 62, 4})).find("COP208"), std::string::npos);
  EXPECT_NE(refusal(withWeight({-1})).find("COP208]: initializer 'w' has a negative dimension: -1"), std::string::npos);
  EXPECT_NE(refusal(withWeight({1 << 20}))
                .find("COP205]: initializer 'w' holds 0 values in float_data, its shape needs 1048576"),
            std::string::npos);

  auto withInput = [](std::vector<std::string> dims) {
    Model m = relu();
    m.graph().clear_input();
    m.input("x", TensorProto::FLOAT, dims);
    return m;
  };
  EXPECT_EQ(refusal(withInput({"N", "1099511627776"})),
            "error[COP208]: input 'x' has shape [?, 1099511627776], more than 2^40 bytes\n  --> model.onnx\n");
  EXPECT_NE(refusal(withInput({"-2"})).find("COP208"), std::string::npos);
  EXPECT_NE(text(withInput({"-1"})).find("tensor<?xf32>"), std::string::npos); // some exporters' "any"
}

TEST_F(ImportOnnx, RefusesTensorsOfAnotherSize) {
  Model m = relu();
  m.node("n", "Op", {"w"}, {"z"});
  m.initializer("w", TensorProto::FLOAT, {2}).set_raw_data("1234567");
  EXPECT_EQ(refusal(m), "error[COP205]: initializer 'w' holds 7 bytes, its shape and type need 8\n  --> model.onnx\n");
}

TEST_F(ImportOnnx, ReportsAllNodesButNotWithoutEnd) {
  Model m = relu();
  m.node("one", "Neg", {"nowhere"}, {"a"});
  m.node("two", "Neg", {"nowhere"}, {"b"});
  refusal(m);
  EXPECT_EQ(diagnostics.all().size(), 2u);
  for (int i = 0; i < 1000; ++i) m.node("", "Neg", {"nowhere"}, {"c" + std::to_string(i)});
  refusal(m);
  EXPECT_EQ(diagnostics.all().size(), 51u);
}

} // namespace
