// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/onnx_wire.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"
#include <utility>

using namespace coppice;
using llvm::StringRef;
namespace endian = llvm::support::endian;

std::string RawDataPlace::encode() const {
  std::string bytes(encodedSize, '\0');
  endian::write64le(bytes.data(), offset);
  endian::write64le(bytes.data() + 8, size);
  return bytes;
}

RawDataPlace RawDataPlace::decode(StringRef field) {
  return {endian::read64le(field.data()), endian::read64le(field.data() + 8)};
}

namespace {

// Field numbers of onnx-ml.proto (onnx 1.23.2), which the format never changes.
enum class Message { Model, Graph, Node, Attribute, Tensor, SparseTensor, Function, Other };
struct Field {
  Message in;
  uint64_t number;
  Message message;
};
constexpr Field nestedMessages[] = {
    {Message::Model, 7, Message::Graph},             // graph
    {Message::Model, 25, Message::Function},         // functions
    {Message::Graph, 1, Message::Node},              // node
    {Message::Graph, 5, Message::Tensor},            // initializer
    {Message::Graph, 15, Message::SparseTensor},     // sparse_initializer
    {Message::Node, 5, Message::Attribute},          // attribute
    {Message::Attribute, 5, Message::Tensor},        // t
    {Message::Attribute, 6, Message::Graph},         // g
    {Message::Attribute, 10, Message::Tensor},       // tensors
    {Message::Attribute, 11, Message::Graph},        // graphs
    {Message::Attribute, 22, Message::SparseTensor}, // sparse_tensor
    {Message::Attribute, 23, Message::SparseTensor}, // sparse_tensors
    {Message::SparseTensor, 1, Message::Tensor},     // values
    {Message::SparseTensor, 2, Message::Tensor},     // indices
    {Message::Function, 7, Message::Node},           // node
    {Message::Function, 11, Message::Attribute},     // attribute_proto
};
constexpr uint64_t tensorRawData = 9, modelTrainingInfo = 20;

Message nestedMessage(Message in, uint64_t number) {
  for (const Field &f : nestedMessages)
    if (f.in == in && f.number == number) return f.message;
  return Message::Other;
}

/// https://protobuf.dev/programming-guides/encoding/: a message is a list of tag and value; tag = field number << 3 |
/// wire type; variable-length integers are LEB128.
class WeightlessCopy {
public:
  WeightlessCopy(StringRef model, std::string &copy) : begin(model.bytes_begin()), out(copy) {}

  WireError error;

  bool message(Message kind, const uint8_t *p, const uint8_t *end, unsigned depth) {
    // Protobuf's own limit; a subgraph takes three levels.
    if (depth > 100) return fail(p, "messages are nested more than 100 deep");
    while (p != end) {
      const uint8_t *start = p;
      uint64_t tag, length = 0;
      if (!number(p, end, start, tag)) return false;
      uint64_t field = tag >> 3;
      if (field == 0 || field > 0x1fffffff)
        return fail(start, "field number " + llvm::Twine(field) + " does not exist");
      switch (tag & 7) {
      case 0:
        if (!number(p, end, start, length)) return false;
        break;
      case 1:
        length = 8;
        [[fallthrough]];
      case 5:
        if (!length) length = 4;
        if (!skip(p, end, start, field, length)) return false;
        break;
      case 2: {
        if (!number(p, end, start, length)) return false;
        const uint8_t *value = p;
        if (!skip(p, end, start, field, length)) return false;
        if (kind == Message::Model && field == modelTrainingInfo) continue;
        if (kind == Message::Tensor && field == tensorRawData) {
          out += static_cast<char>(tensorRawData << 3 | 2);
          out += static_cast<char>(RawDataPlace::encodedSize);
          out += RawDataPlace{static_cast<uint64_t>(value - begin), length}.encode();
          continue;
        }
        if (Message nested = nestedMessage(kind, field); nested != Message::Other) {
          if (!nestedCopy(nested, tag, value, p, depth)) return false;
          continue;
        }
        break;
      }
      default:
        return fail(start, llvm::formatv("field {0} has wire type {1}, which ONNX does not use", field, tag & 7).str());
      }
      out.append(reinterpret_cast<const char *>(start), p - start);
    }
    return true;
  }

private:
  /// The length is not known before the contents are written: it gets five bytes, which a varint may have.
  bool nestedCopy(Message kind, uint64_t tag, const uint8_t *p, const uint8_t *end, unsigned depth) {
    uint8_t varint[10];
    out.append(reinterpret_cast<char *>(varint), llvm::encodeULEB128(tag, varint));
    size_t lengthAt = out.size();
    out.append(5, '\0');
    size_t contentsAt = out.size();
    if (!message(kind, p, end, depth + 1)) return false;
    llvm::encodeULEB128(out.size() - contentsAt, varint, /*PadTo=*/5);
    out.replace(lengthAt, 5, reinterpret_cast<char *>(varint), 5);
    return true;
  }

  bool number(const uint8_t *&p, const uint8_t *end, const uint8_t *start, uint64_t &value) {
    unsigned length = 0;
    const char *problem = nullptr;
    const uint8_t *limit = end - p > 10 ? p + 10 : end; // 64 bits take at most ten bytes
    value = llvm::decodeULEB128(p, &length, limit, &problem);
    if (problem) return fail(start, p + length == end ? "it ends inside a field" : "an integer has more than 64 bits");
    p += length;
    return true;
  }

  bool skip(const uint8_t *&p, const uint8_t *end, const uint8_t *start, uint64_t field, uint64_t length) {
    uint64_t left = end - p;
    if (length > left)
      return fail(start, llvm::formatv("field {0} needs {1} bytes, {2} are left", field, length, left).str());
    p += length;
    return true;
  }

  bool fail(const uint8_t *at, const llvm::Twine &what) {
    error = {static_cast<uint64_t>(at - begin), what.str()};
    return false;
  }

  const uint8_t *begin;
  std::string &out;
};

} // namespace

WireError coppice::copyWithoutWeights(StringRef model, std::string &copy) {
  WeightlessCopy walk(model, copy);
  walk.message(Message::Model, model.bytes_begin(), model.bytes_end(), 0);
  return std::move(walk.error);
}
