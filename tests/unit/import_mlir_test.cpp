// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each test reads a small MLIR text, or bytecode made from one, and looks at the module or at the error.
#include "analysis/graph/import.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace coppice;

namespace {

class ImportMlir : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeGraphContext();
  Diagnostics diagnostics;

  ImportedGraph import(llvm::StringRef text, const TextOrigin *origin = nullptr) {
    diagnostics = {};
    return importMlir(llvm::MemoryBufferRef(text, "graph.mlir"), *context, diagnostics, origin);
  }
  std::string print(const ImportedGraph &graph) {
    EXPECT_TRUE(graph.module) << errors();
    std::string s;
    llvm::raw_string_ostream os(s);
    if (graph.module) graph.module.get().print(os);
    return s;
  }
  std::string bytecode(llvm::StringRef text) {
    ImportedGraph graph = import(text);
    EXPECT_TRUE(graph.module) << errors();
    std::string s;
    llvm::raw_string_ostream os(s);
    EXPECT_TRUE(mlir::succeeded(mlir::writeBytecodeToFile(*graph.module, os)));
    return s;
  }
  std::string errors() {
    std::string s;
    llvm::raw_string_ostream os(s);
    printText(os, diagnostics.all(), "", false);
    return s;
  }
  std::string refusal(llvm::StringRef text, const TextOrigin *origin = nullptr) {
    EXPECT_FALSE(import(text, origin).module);
    EXPECT_TRUE(diagnostics.hasErrors());
    return errors();
  }
};

constexpr llvm::StringRef negate = R"(func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = "my.neg"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
)";

constexpr llvm::StringRef resources = R"(func.func @f() -> tensor<4xf32> {
  %0 = arith.constant dense_resource<w> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x400000000000803F000000400000404000008040"
    }
  }
#-}
)";

TEST_F(ImportMlir, FunctionWithoutModuleIsWrapped) {
  EXPECT_EQ(print(import(negate)), R"(module {
  func.func @f(%arg0: tensor<?xf32>) -> tensor<?xf32> {
    %0 = "my.neg"(%arg0) : (tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
)");
}

TEST_F(ImportMlir, TextNeedNotEndInANull) {
  std::string text = (negate + "this is outside of the text").str();
  EXPECT_TRUE(import(llvm::StringRef(text).take_front(negate.size())).module) << errors();
}

TEST_F(ImportMlir, OpsOfUpstreamDialectsStay) {
  std::string s = print(import(R"(func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = tosa.tanh %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  })"));
  EXPECT_NE(s.find("linalg.matmul"), std::string::npos);
  EXPECT_NE(s.find("tosa.tanh"), std::string::npos);
}

TEST_F(ImportMlir, OpsHavePlaces) {
  ImportedGraph graph = import(negate);
  ASSERT_TRUE(graph.module);
  graph.module->walk([](mlir::Operation *op) {
    if (op->getName().getStringRef() != "my.neg") return;
    auto at = mlir::cast<mlir::FileLineColLoc>(op->getLoc());
    EXPECT_EQ(at.getFilename(), "graph.mlir");
    EXPECT_EQ(at.getLine(), 2u);
    EXPECT_EQ(at.getColumn(), 8u);
  });
}

TEST_F(ImportMlir, ErrorsShowTheLine) {
  EXPECT_EQ(refusal("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %z : tensor<?xf32>\n}\n"),
            "error[COP201]: use of undeclared SSA value name\n"
            "  --> graph.mlir:2:10\n"
            "  |   return %z : tensor<?xf32>\n"
            "  |          ^\n");
}

TEST_F(ImportMlir, NotesHavePlacesOfTheirOwn) {
  EXPECT_EQ(
      refusal("func.func @f(%x: tensor<?xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"),
      "error[COP201]: use of value '%x' expects different type than prior uses: 'tensor<2xf32>' vs 'tensor<?xf32>'\n"
      "  --> graph.mlir:2:10\n"
      "  |   return %x : tensor<2xf32>\n"
      "  |          ^\n"
      "  note: prior use here\n"
      "    --> graph.mlir:1:14\n"
      "    | func.func @f(%x: tensor<?xf32>) -> tensor<2xf32> {\n"
      "    |              ^\n");
}

TEST_F(ImportMlir, TheVerifierRuns) {
  std::string s = refusal("func.func @f(%x: tensor<?xf32>) {\n  return %x : tensor<?xf32>\n}\n");
  EXPECT_NE(s.find("'func.return' op has 1 operands, but enclosing function (@f) returns 0\n  --> graph.mlir:2:3\n"),
            std::string::npos)
      << s;
}

TEST_F(ImportMlir, HelpForOpsOfOtherDialects) {
  std::string s = refusal("func.func @f(%x: tensor<?xf32>) {\n  %y = my.neg %x : tensor<?xf32>\n  return\n}\n");
  EXPECT_NE(s.find("--> graph.mlir:2:8\n"), std::string::npos) << s;
  EXPECT_NE(s.find("help: write ops of other dialects in generic form: \"dialect.op\"("), std::string::npos) << s;
  EXPECT_EQ(s.find("allow-unregistered"), std::string::npos) << s; // flags of mlir-opt help no one
}

//===-- Text in a C++ file ----------------------------------------------------------------------------------------===//

// demo.cpp, line 7, column 29 is where the text begins.
const TextOrigin demo{"demo.cpp", 7, 29};

TEST_F(ImportMlir, PlacesAreThoseOfTheCxxFile) {
  // On the first line columns are moved; later lines begin where those of the C++ file do.
  EXPECT_NE(refusal("func.func @f( {}", &demo).find("--> demo.cpp:7:42\n"), std::string::npos) << errors();
  EXPECT_EQ(refusal("\n  func.func @f() {\n    return %z : tensor<f32>\n  }", &demo),
            "error[COP201]: use of undeclared SSA value name\n"
            "  --> demo.cpp:9:12\n"
            "  |     return %z : tensor<f32>\n"
            "  |            ^\n");
  ImportedGraph graph = import(negate, &demo);
  ASSERT_TRUE(graph.module);
  auto function = *graph.module->getOps<mlir::func::FuncOp>().begin();
  auto at = mlir::cast<mlir::FileLineColLoc>(function.getLoc());
  EXPECT_EQ(at.getFilename(), "demo.cpp");
  EXPECT_EQ(at.getLine(), 7u);
  EXPECT_EQ(at.getColumn(), 29u);
}

TEST_F(ImportMlir, ErrorsWithoutPlaceAreAtTheTextsBegin) {
  EXPECT_EQ(refusal("  ", &demo), "error[COP201]: not MLIR: the text is empty\n  --> demo.cpp:7:29\n");
}

TEST_F(ImportMlir, WrongOriginsCostNothing) {
  TextOrigin wrong{"demo.cpp", ~0u, ~0u};
  EXPECT_TRUE(import(negate, &wrong).module);
  TextOrigin none{"demo.cpp", 0, 0};
  EXPECT_TRUE(import(negate, &none).module);
}

//===-- What is no graph ------------------------------------------------------------------------------------------===//

TEST_F(ImportMlir, RefusesModulesWithoutAFunction) {
  for (llvm::StringRef text : {"module {}", "func.func private @f()", "func.func private @f() { return }",
                               "module { module { func.func @f() { return } } }"})
    EXPECT_NE(refusal(text).find("error[COP202]: the module has no public func.func with a body"), std::string::npos)
        << text.str() << errors();
}

TEST_F(ImportMlir, RefusesGarbage) {
  EXPECT_EQ(refusal(""), "error[COP201]: not MLIR: the text is empty\n  --> graph.mlir\n");
  EXPECT_NE(refusal("hello").find("--> graph.mlir:1:1\n"), std::string::npos) << errors();
  EXPECT_NE(refusal(llvm::StringRef("\0\1\2\xff", 4)).find("error[COP201]"), std::string::npos) << errors();
  EXPECT_NE(refusal(negate.drop_back(3)).find("error[COP201]"), std::string::npos) << errors();
}

TEST_F(ImportMlir, SurvivesCrashesOfTheParser) {
  std::string deep = "func.func @f() {\n  \"my.op\"() {map = affine_map<(i) -> (" + std::string(1000000, '-') +
                     "i)>} : () -> ()\n  return\n}\n";
  EXPECT_NE(refusal(deep).find("error[COP201]: MLIR's parser crashes on it: Segmentation fault\n  --> graph.mlir\n"),
            std::string::npos)
      << errors();
}

//===-- Resources and bytecode ------------------------------------------------------------------------------------===//

TEST_F(ImportMlir, BytecodeIsTheSameModule) {
  std::string bytes = bytecode(negate);
  EXPECT_EQ(print(import(bytes)), print(import(negate)));
}

TEST_F(ImportMlir, ResourcesOfBytecodeStayWhereTheFileIsMapped) {
  std::string bytes = bytecode(resources);
  auto page = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(bytes.size(), "page", llvm::Align(4096));
  memcpy(page->getBufferStart(), bytes.data(), bytes.size());
  auto fresh = makeGraphContext();
  ImportedGraph graph = importMlir(*page, *fresh, diagnostics);
  ASSERT_TRUE(graph.module) << errors();
  unsigned seen = 0;
  graph.module->walk([&](mlir::Operation *op) {
    auto attr = op->getAttrOfType<mlir::DenseResourceElementsAttr>("value");
    if (!attr) return;
    ++seen;
    const char *data = attr.getRawHandle().getBlob()->getData().data();
    EXPECT_TRUE(data > page->getBufferStart() && data < page->getBufferEnd());
  });
  EXPECT_EQ(seen, 1u);
}

TEST_F(ImportMlir, BytecodeAtAnyAddress) {
  std::string bytes = " " + bytecode(resources);
  auto fresh = makeGraphContext();
  ImportedGraph graph =
      importMlir(llvm::MemoryBufferRef(llvm::StringRef(bytes).drop_front(), "b"), *fresh, diagnostics);
  EXPECT_NE(print(graph).find("dense_resource<w>"), std::string::npos);
}

TEST_F(ImportMlir, RefusesEveryTruncationOfBytecode) {
  std::string bytes = bytecode(negate);
  for (size_t size = 4; size < bytes.size(); ++size) {
    std::string s = refusal(llvm::StringRef(bytes).take_front(size));
    EXPECT_NE(s.find("error[COP201]: damaged MLIR bytecode"), std::string::npos) << size << ": " << s;
    EXPECT_NE(s.find("offset"), std::string::npos) << size << ": " << s;
  }
}

TEST_F(ImportMlir, RefusesBytecodeOfALaterVersion) {
  std::string bytes = bytecode(negate);
  bytes[4] = static_cast<char>(99 << 1 | 1); // of one byte
  EXPECT_EQ(refusal(bytes),
            "error[COP201]: damaged MLIR bytecode: it has version 99, and this Coppice reads versions 0 to 6\n"
            "  --> graph.mlir: offset 4\n");
}

TEST_F(ImportMlir, SurvivesChangedBytes) {
  std::string bytes = bytecode(negate);
  for (size_t at = 4; at < bytes.size(); at += 7)
    for (char value : {'\0', '\3', '\xff'}) {
      std::string changed = bytes;
      changed[at] = value;
      auto fresh = makeGraphContext();
      Diagnostics d;
      ImportedGraph graph = importMlir(llvm::MemoryBufferRef(changed, "b"), *fresh, d);
      EXPECT_NE(!graph.module, !d.hasErrors());
    }
}

//===-- identifyGraph ---------------------------------------------------------------------------------------------===//

TEST(IdentifyGraph, ByContentThenByName) {
  auto identify = [](llvm::StringRef contents, llvm::StringRef name) {
    return identifyGraph(llvm::MemoryBufferRef(contents, name));
  };
  EXPECT_EQ(identify(negate, "x"), GraphFormat::MlirText);
  EXPECT_EQ(identify("// comment\n\n#map = affine_map<() -> ()>\n", "x.onnx"), GraphFormat::MlirText);
  EXPECT_EQ(identify("module attributes {} {}", "x.onnx"), GraphFormat::MlirText);
  EXPECT_EQ(identify("ML\xEFR", "x.onnx"), GraphFormat::MlirBytecode);
  llvm::StringRef onnx("\x08\x08\x12\x04test\x3A\x64", 10); // ir_version, producer, and a graph that is cut off
  EXPECT_EQ(identify(onnx, "x.mlir"), GraphFormat::Onnx);
  EXPECT_EQ(identify(onnx.take_front(5), "x"), GraphFormat::Onnx);
  EXPECT_EQ(identify("", "x.mlir"), GraphFormat::MlirText);
  EXPECT_EQ(identify("garbage", "dir.onnx/x.mlirbc"), GraphFormat::MlirBytecode);
  EXPECT_EQ(identify("garbage", "x.onnx"), GraphFormat::Onnx);
  EXPECT_EQ(identify("7767517\n3 3\n", "net.param"), GraphFormat::NcnnParam);
  EXPECT_EQ(identify("", "x"), GraphFormat::Unknown);
}

} // namespace
