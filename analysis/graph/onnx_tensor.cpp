// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/onnx_tensor.h"
#include "analysis/graph/onnx_wire.h"
#include "analysis/graph/unknown_type.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // g++ 12, wrongly: moving an empty llvm::unique_function
#endif

using namespace coppice;
using llvm::formatv;
using llvm::StringRef;
using mlir::Type;

Place OnnxFile::place(std::string node) const {
  Place place;
  place.file = path();
  place.node = std::move(node);
  return place;
}

void OnnxFile::error(StringRef code, std::string message, std::string node, std::string help) {
  constexpr unsigned limit = 50;
  if (++errors <= limit) diagnostics.error(code, std::move(message), place(std::move(node)), std::move(help));
  if (errors == limit + 1) diagnostics.error("COP205", "too many errors in this model; the rest is not shown", place());
}

//===-- Types -----------------------------------------------------------------------------------------------------===//

Type OnnxTypes::element(int32_t dataType) const {
  mlir::Builder b(&file.context);
  auto integer = [&](unsigned bits, bool isUnsigned) {
    return mlir::IntegerType::get(&file.context, bits,
                                  isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless);
  };
  switch (dataType) {
  case onnx::TensorProto::UNDEFINED:
    return unknownElementType(&file.context);
  case onnx::TensorProto::FLOAT:
    return b.getF32Type();
  case onnx::TensorProto::DOUBLE:
    return b.getF64Type();
  case onnx::TensorProto::FLOAT16:
    return b.getF16Type();
  case onnx::TensorProto::BFLOAT16:
    return b.getBF16Type();
  case onnx::TensorProto::INT8:
    return integer(8, false);
  case onnx::TensorProto::INT16:
    return integer(16, false);
  case onnx::TensorProto::INT32:
    return integer(32, false);
  case onnx::TensorProto::INT64:
    return integer(64, false);
  case onnx::TensorProto::UINT8:
    return integer(8, true);
  case onnx::TensorProto::UINT16:
    return integer(16, true);
  case onnx::TensorProto::UINT32:
    return integer(32, true);
  case onnx::TensorProto::UINT64:
    return integer(64, true);
  case onnx::TensorProto::BOOL:
    return b.getI1Type();
  case onnx::TensorProto::COMPLEX64:
    return mlir::ComplexType::get(b.getF32Type());
  case onnx::TensorProto::COMPLEX128:
    return mlir::ComplexType::get(b.getF64Type());
  case onnx::TensorProto::FLOAT8E4M3FN:
    return b.getType<mlir::Float8E4M3FNType>();
  case onnx::TensorProto::FLOAT8E4M3FNUZ:
    return b.getType<mlir::Float8E4M3FNUZType>();
  case onnx::TensorProto::FLOAT8E5M2:
    return b.getType<mlir::Float8E5M2Type>();
  case onnx::TensorProto::FLOAT8E5M2FNUZ:
    return b.getType<mlir::Float8E5M2FNUZType>();
  case onnx::TensorProto::FLOAT8E8M0:
    return b.getType<mlir::Float8E8M0FNUType>();
  case onnx::TensorProto::FLOAT6E2M3:
    return b.getType<mlir::Float6E2M3FNType>();
  case onnx::TensorProto::FLOAT6E3M2:
    return b.getType<mlir::Float6E3M2FNType>();
  case onnx::TensorProto::FLOAT4E2M1:
    return b.getType<mlir::Float4E2M1FNType>();
  case onnx::TensorProto::INT4:
    return integer(4, false);
  case onnx::TensorProto::UINT4:
    return integer(4, true);
  case onnx::TensorProto::INT2:
    return integer(2, false);
  case onnx::TensorProto::UINT2:
    return integer(2, true);
  case onnx::TensorProto::STRING:
    return mlir::OpaqueType::get(b.getStringAttr("onnx"), "string");
  default:
    return {};
  }
}

namespace {

bool isString(Type element) { return llvm::isa<mlir::OpaqueType>(element); }

unsigned bitsOf(Type element) {
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(element)) return 2 * bitsOf(complex.getElementType());
  if (llvm::isa<mlir::OpaqueType>(element)) return 8; // a string or unknown: at least a byte each
  bool isBool = element.isInteger(1);
  return isBool ? 8 : element.getIntOrFloatBitWidth();
}

/// The bytes that a tensor of these sizes takes, packed as ONNX packs; nullopt when that is more than a tensor may
/// have.
std::optional<uint64_t> bytesOf(llvm::ArrayRef<int64_t> dims, unsigned bits, uint64_t *count = nullptr) {
  uint64_t elements = 1, nonZero = 1;
  for (int64_t d : dims) {
    if (mlir::ShapedType::isDynamic(d)) continue;
    bool overflow = false;
    nonZero = llvm::SaturatingMultiply<uint64_t>(nonZero, std::max<uint64_t>(d, 1), &overflow);
    if (overflow || nonZero > maxTensorBytes * 8 / bits) return std::nullopt;
    elements *= d;
  }
  if (count) *count = elements;
  return llvm::divideCeil(elements * bits, 8);
}

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

} // namespace

Type OnnxTypes::unknown() const { return mlir::UnrankedTensorType::get(unknownElementType(&file.context)); }

Type OnnxTypes::tensor(int32_t dataType, const onnx::TensorShapeProto *shape, const std::string &subject,
                       const std::string &node) const {
  Type type = element(dataType);
  if (!type) {
    file.error("COP202", formatv("{0} has element type {1}, which ONNX 1.23 does not define", subject, dataType), node);
    return {};
  }
  if (!shape) return mlir::UnrankedTensorType::get(type);
  llvm::SmallVector<int64_t> dims;
  for (const auto &dim : shape->dim()) {
    // Some exporters write -1 for a size that is not known.
    if (!dim.has_dim_value() || dim.dim_value() == -1) {
      dims.push_back(mlir::ShapedType::kDynamic);
      continue;
    }
    if (dim.dim_value() < 0) {
      file.error("COP208", formatv("{0} has a negative dimension: {1}", subject, dim.dim_value()), node);
      return {};
    }
    dims.push_back(dim.dim_value());
  }
  if (!bytesOf(dims, bitsOf(type))) {
    file.error("COP208",
               formatv("{0} has shape [{1}], more than 2^40 bytes", subject,
                       llvm::join(llvm::map_range(dims,
                                                  [](int64_t d) {
                                                    return mlir::ShapedType::isDynamic(d) ? "?" : std::to_string(d);
                                                  }),
                                  ", ")),
               node);
    return {};
  }
  return mlir::RankedTensorType::get(dims, type);
}

Type OnnxTypes::value(const onnx::TypeProto &type, const std::string &subject, const std::string &node) const {
  auto opaque = [&](const std::string &text) -> Type {
    return mlir::OpaqueType::get(mlir::StringAttr::get(&file.context, "onnx"), text);
  };
  auto element = [&](const onnx::TypeProto &of) {
    Type t = value(of, subject, node);
    return t ? print(t) : std::string();
  };
  switch (type.value_case()) {
  case onnx::TypeProto::VALUE_NOT_SET:
    return unknown();
  case onnx::TypeProto::kTensorType: {
    const auto &t = type.tensor_type();
    return tensor(t.elem_type(), t.has_shape() ? &t.shape() : nullptr, subject, node);
  }
  case onnx::TypeProto::kSparseTensorType: {
    const auto &t = type.sparse_tensor_type();
    Type dense = tensor(t.elem_type(), t.has_shape() ? &t.shape() : nullptr, subject, node);
    return dense ? opaque("sparse<" + print(dense) + ">") : Type();
  }
  case onnx::TypeProto::kSequenceType: {
    std::string of = element(type.sequence_type().elem_type());
    return of.empty() ? Type() : opaque("sequence<" + of + ">");
  }
  case onnx::TypeProto::kOptionalType: {
    std::string of = element(type.optional_type().elem_type());
    return of.empty() ? Type() : opaque("optional<" + of + ">");
  }
  case onnx::TypeProto::kMapType: {
    Type key = tensor(type.map_type().key_type(), nullptr, subject, node);
    std::string of = element(type.map_type().value_type());
    if (!key || of.empty()) return {};
    return opaque("map<" + print(llvm::cast<mlir::TensorType>(key).getElementType()) + ", " + of + ">");
  }
  case onnx::TypeProto::kOpaqueType: {
    // What is between the brackets is printed as it is, so it must be a word.
    std::string name = type.opaque_type().domain() + "." + type.opaque_type().name();
    for (char &c : name)
      if (!llvm::isAlnum(c) && c != '.') c = '_';
    return opaque("opaque<" + name + ">");
  }
  }
  return unknown();
}

//===-- Tensor contents -------------------------------------------------------------------------------------------===//

struct OnnxTensors::Source {
  const std::string &subject, &node;
};

namespace {

/// The number of elements up to which a constant is readable as text.
constexpr uint64_t maxInlineElements = 64;

template <typename T, typename Field> void copyAs(const Field &field, llvm::MutableArrayRef<char> to) {
  for (int i = 0; i < field.size(); ++i) {
    T value = static_cast<T>(field[i]);
    memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
  }
}

/// Data of the fields that are lists of numbers, which one by TensorProto.data_type ("float_data" and so on in
/// onnx-ml.proto).
class TypedData {
public:
  TypedData(const onnx::TensorProto &t, unsigned bits) : t(t), bits(bits) {}

  /// The name of the field that `t` uses and how many entries it has.
  std::pair<const char *, uint64_t> field() const {
    switch (t.data_type()) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::COMPLEX64:
      return {"float_data", t.float_data_size()};
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::COMPLEX128:
      return {"double_data", t.double_data_size()};
    case onnx::TensorProto::INT64:
      return {"int64_data", t.int64_data_size()};
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64:
      return {"uint64_data", t.uint64_data_size()};
    default:
      return {"int32_data", t.int32_data_size()};
    }
  }

  uint64_t entriesFor(uint64_t elements) const {
    if (isComplex()) return 2 * elements;
    if (bits == 2 || bits == 4) return llvm::divideCeil(elements * bits, 8); // an entry is a byte of packed elements
    return elements;
  }

  void copyTo(llvm::MutableArrayRef<char> to) const {
    switch (t.data_type()) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::COMPLEX64:
      return copyAs<float>(t.float_data(), to);
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::COMPLEX128:
      return copyAs<double>(t.double_data(), to);
    case onnx::TensorProto::INT64:
      return copyAs<int64_t>(t.int64_data(), to);
    case onnx::TensorProto::UINT64:
      return copyAs<uint64_t>(t.uint64_data(), to);
    case onnx::TensorProto::UINT32:
      return copyAs<uint32_t>(t.uint64_data(), to);
    default:
      break;
    }
    if (bits == 32) return copyAs<int32_t>(t.int32_data(), to);
    if (bits == 16) return copyAs<int16_t>(t.int32_data(), to);
    if (bits != 6) return copyAs<int8_t>(t.int32_data(), to);
    for (char &byte : to) byte = 0;
    for (int i = 0; i < t.int32_data_size(); ++i)
      for (unsigned bit = 0, at = 6 * i; bit < 6; ++bit, ++at) to[at / 8] |= (t.int32_data(i) >> bit & 1) << at % 8;
  }

private:
  bool isComplex() const {
    return t.data_type() == onnx::TensorProto::COMPLEX64 || t.data_type() == onnx::TensorProto::COMPLEX128;
  }
  const onnx::TensorProto &t;
  unsigned bits;
};

/// MLIR keeps elements of fewer than 8 bits in a byte each; ONNX packs them, first element in the low bits.
mlir::DenseElementsAttr inlineElements(mlir::RankedTensorType type, StringRef data) {
  unsigned bits = bitsOf(type.getElementType());
  auto count = static_cast<size_t>(type.getNumElements());
  if (type.getElementType().isInteger(1)) {
    llvm::SmallVector<bool> values;
    for (char c : data) values.push_back(c != 0);
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(values));
  }
  llvm::SmallVector<char> unpacked(data.begin(), data.end());
  if (bits < 8) {
    unpacked.assign(count, 0);
    for (size_t at = 0; at < count * bits; ++at) unpacked[at / bits] |= (data[at / 8] >> at % 8 & 1) << at % bits;
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(type, unpacked);
}

} // namespace

mlir::ElementsAttr OnnxTensors::read(const onnx::TensorProto &t, StringRef key, const std::string &subject,
                                     const std::string &node) {
  Source source{subject, node};
  auto error = [&](StringRef code, const std::string &what) {
    file.error(code, subject + " " + what, node);
    return mlir::ElementsAttr();
  };

  Type element = types.element(t.data_type());
  if (!element) return error("COP202", formatv("has element type {0}, which ONNX 1.23 does not define", t.data_type()));
  if (t.data_type() == onnx::TensorProto::UNDEFINED) return error("COP205", "has no element type");
  if (t.has_segment()) return error("COP202", "is stored in segments, which Coppice does not read");
  llvm::ArrayRef<int64_t> dims(t.dims().data(), t.dims_size());
  for (int64_t d : dims)
    if (d < 0) return error("COP208", formatv("has a negative dimension: {0}", d));
  unsigned bits = bitsOf(element);
  uint64_t count = 0;
  std::optional<uint64_t> bytes = bytesOf(dims, bits, &count);
  if (!bytes)
    return error("COP208",
                 formatv("has shape [{0:$[, ]}], more than 2^40 bytes", llvm::make_range(dims.begin(), dims.end())));
  auto type = mlir::RankedTensorType::get(dims, element);

  if (isString(element)) {
    if (t.data_location() == onnx::TensorProto::EXTERNAL || t.has_raw_data())
      return error("COP205", "holds strings, which must be in string_data");
    if (static_cast<uint64_t>(t.string_data_size()) != count)
      return error("COP205", formatv("holds {0} strings, its shape needs {1}", t.string_data_size(), count));
    llvm::SmallVector<StringRef> strings(t.string_data().begin(), t.string_data().end());
    return mlir::DenseElementsAttr::get(type, strings);
  }

  std::optional<StringRef> data; // where it stays as it is
  if (t.data_location() == onnx::TensorProto::EXTERNAL) {
    data = external(t, *bytes, source);
    if (!data) return {};
  } else if (t.raw_data().size() == RawDataPlace::encodedSize) {
    RawDataPlace place = RawDataPlace::decode(t.raw_data());
    data = file.model.getBuffer().substr(place.offset, place.size);
  }
  if (data && data->size() != *bytes)
    return error("COP205", formatv("holds {0} bytes, its shape and type need {1}", data->size(), *bytes));

  TypedData typed(t, bits);
  if (!data) {
    auto [name, entries] = typed.field();
    if (entries != typed.entriesFor(count))
      return error("COP205",
                   formatv("holds {0} values in {1}, its shape needs {2}", entries, name, typed.entriesFor(count)));
  }

  if (count <= maxInlineElements) {
    llvm::SmallString<256> converted;
    if (!data) {
      converted.resize(*bytes);
      typed.copyTo(llvm::MutableArrayRef<char>(converted.data(), converted.size()));
    }
    return inlineElements(type, data ? *data : StringRef(converted));
  }

  mlir::AsmResourceBlob blob;
  if (data) {
    // Alignment 1: weights begin anywhere in a protobuf file. They are aligned where they are written.
    blob = mlir::UnmanagedAsmResourceBlob::allocateWithAlign(llvm::ArrayRef(data->data(), data->size()), 1);
  } else {
    blob = mlir::HeapAsmResourceBlob::allocate(*bytes, 64);
    typed.copyTo(blob.getMutableData());
  }
  return mlir::DenseResourceElementsAttr::get(type, key, std::move(blob));
}

//===-- External data ---------------------------------------------------------------------------------------------===//

std::optional<StringRef> OnnxTensors::external(const onnx::TensorProto &t, uint64_t bytes, const Source &source) {
  auto error = [&](const std::string &what) {
    file.error("COP206", source.subject + " " + what, source.node);
    return std::nullopt;
  };
  StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto &entry : t.external_data()) {
    uint64_t number = 0;
    bool isNumber = !StringRef(entry.value()).getAsInteger(10, number);
    if (entry.key() == "location") location = entry.value();
    if ((entry.key() == "offset" || entry.key() == "length") && !isNumber)
      return error(formatv("has external data whose {0} is not a number: '{1}'", entry.key(), entry.value()));
    if (entry.key() == "offset") offset = number;
    if (entry.key() == "length") length = number;
  }
  if (location.empty()) return error("has external data without a location");
  const llvm::MemoryBuffer *buffer = open(location, source);
  if (!buffer) return std::nullopt;
  uint64_t size = buffer->getBufferSize();
  if (offset > size || (length && *length > size - offset))
    return error(formatv("has external data at offset {0}, length {1}, but '{2}' has {3} bytes", offset,
                         length ? std::to_string(*length) : "unknown", buffer->getBufferIdentifier(), size));
  if (!length && size - offset < bytes)
    return error(formatv("has external data at offset {0} of '{1}', which needs {2} bytes; {3} are left", offset,
                         buffer->getBufferIdentifier(), bytes, size - offset));
  return buffer->getBuffer().substr(offset, length ? *length : bytes);
}

const llvm::MemoryBuffer *OnnxTensors::open(StringRef location, const Source &source) {
  namespace path = llvm::sys::path;
  const llvm::MemoryBuffer *&known = opened[location];
  if (known) return known;
  auto error = [&](const llvm::Twine &what, std::string help = {}) {
    file.error("COP206", source.subject + " " + what.str(), source.node, std::move(help));
    return nullptr;
  };
  // A model from elsewhere must not be able to put any file of this machine into the program.
  if (path::is_absolute(location) || location.contains('\0') ||
      llvm::is_contained(llvm::make_range(path::begin(location), path::end(location)), ".."))
    return error(formatv("has external data outside of the model's directory: '{0}'", location).str());

  llvm::SmallString<128> name(path::parent_path(file.model.getBufferIdentifier()));
  path::append(name, location);
  llvm::sys::fs::file_status status;
  std::error_code problem = llvm::sys::fs::status(name, status);
  if (!problem && !llvm::sys::fs::is_regular_file(status))
    return error(formatv("has external data in '{0}', which is not a file", name).str());
  if (!problem) {
    auto mapped = llvm::MemoryBuffer::getFile(name, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (mapped) {
      known = mapped->get();
      file.result.keepAlive.push_back(std::move(*mapped));
      file.result.filesRead.push_back(name.str().str());
      return known;
    }
    problem = mapped.getError();
  }
  return error(formatv("has external data in '{0}', which cannot be read: {1}", name, problem.message()).str(),
               "put the file beside the model, under the name that the model gives");
}
