// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/import.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/Path.h"

using namespace coppice;
using llvm::StringRef;

namespace {

/// Text has no control characters; the first pages are enough to tell.
bool isText(StringRef contents) {
  return !contents.empty() && llvm::none_of(contents.take_front(4096), [](unsigned char c) {
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v') || c == 0x7f;
  });
}

/// MAX writes all that its graphs have inside after the op that they are.
bool beginsAsMax(StringRef text) {
  return text.ltrim().starts_with("mo.graph") || text.take_front(1 << 20).contains("\"mo.graph\"") ||
         text.take_front(4096).contains("mo.graph @");
}

/// The first line that is not empty is the magic number, alone.
bool beginsAsNcnn(StringRef text) { return text.ltrim().take_until(llvm::isSpace) == "7767517"; }

/// The first word that is not in a comment is one that a graph begins with.
bool beginsAsMlir(StringRef text) {
  for (;;) {
    text = text.ltrim();
    if (!text.starts_with("//")) break;
    text = text.split('\n').second;
  }
  for (StringRef word :
       {"module", "func.func", "builtin.module", "\"builtin.module\"", "\"func.func\"", "ml_program.", "{-#"})
    if (text.starts_with(word)) return true;
  // Aliases: "#map = affine_map<…>", "!type = …".
  return (text.starts_with("#") || text.starts_with("!")) &&
         text.take_until([](char c) { return c == '\n'; }).contains(" = ");
}

/// The wire type of each field of ModelProto (onnx-ml.proto), or -1.
int modelWireType(uint64_t field) {
  switch (field) {
  case 1:
  case 5:
    return 0; // ir_version, model_version
  case 2:
  case 3:
  case 4:
  case 6:
  case 7:
  case 8:
  case 14:
  case 20:
  case 25:
  case 26:
    return 2; // text, graph, opset_import …
  default:
    return -1;
  }
}

/// A file that was cut off is still recognised, so that the importer can say where it ends.
bool beginsAsOnnx(StringRef contents) {
  const auto *p = contents.bytes_begin(), *end = contents.bytes_end();
  for (int fields = 0;; ++fields) {
    if (p == end) return fields > 1;
    unsigned length = 0;
    const char *error = nullptr;
    auto number = [&] {
      // Ten bytes are what a number can have; of more the reader makes undefined shifts.
      uint64_t value = llvm::decodeULEB128(p, &length, end - p > 10 ? p + 10 : end, &error);
      p += length;
      return value;
    };
    uint64_t tag = number();
    if (error || modelWireType(tag >> 3) != static_cast<int>(tag & 7)) return false;
    uint64_t value = number();
    if (error) return fields > 0;
    if ((tag & 7) == 0) continue;
    if (tag >> 3 == 7 || value > static_cast<uint64_t>(end - p)) return fields > 0;
    p += value;
  }
}

} // namespace

GraphFormat coppice::identifyGraph(llvm::MemoryBufferRef file) {
  StringRef contents = file.getBuffer();
  if (contents.starts_with("ML\xEFR")) return GraphFormat::MlirBytecode;
  if (contents.starts_with(StringRef("\x5d\x86\x76\0", 4))) return GraphFormat::NcnnParamBinary; // 7767517
  if (isText(contents)) {
    if (beginsAsNcnn(contents)) return GraphFormat::NcnnParam;
    if (contents.starts_with("# op-list")) return GraphFormat::OpList;
    if (beginsAsMax(contents)) return GraphFormat::Max;
    if (beginsAsMlir(contents)) return GraphFormat::MlirText;
  }
  if (beginsAsOnnx(contents)) return GraphFormat::Onnx;

  StringRef extension = llvm::sys::path::extension(file.getBufferIdentifier());
  if (extension == ".mlir") return GraphFormat::MlirText;
  if (extension == ".mlirbc") return GraphFormat::MlirBytecode;
  if (extension == ".onnx") return GraphFormat::Onnx;
  if (extension == ".param") return GraphFormat::NcnnParam;
  if (file.getBufferIdentifier().ends_with(".param.bin")) return GraphFormat::NcnnParamBinary;
  if (extension == ".ops") return GraphFormat::OpList;
  return GraphFormat::Unknown;
}
