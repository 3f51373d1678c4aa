// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ncnn's .param and .param.bin -> MLIR (docs/graph-form.md): a list of layers, each with a type, names of blobs that it
// reads and makes, and numbered parameters. Both forms become that list; then each layer is an op. What is accepted is
// what ncnn 1.0.20261020 accepts (Net::load_param, Net::load_param_bin, ParamDict).
#include "analysis/graph/import.h"
#include "analysis/graph/ncnn_layer_types.h"
#include "analysis/graph/unknown_type.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <bit>
#include <limits>
#include <queue>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // g++ 12, wrongly: moving an empty llvm::unique_function
#endif

using namespace coppice;
using llvm::formatv;
using llvm::StringRef;

namespace {

constexpr int magic = 7767517;
constexpr int64_t maxCount = 1000000; // layers, blobs, operands: ncnn's own limit
constexpr int maxParameter = 32;      // likewise

struct Layer {
  std::string type, name;
  unsigned line = 0, column = 0;       ///< of the type, in text
  std::vector<uint32_t> bottoms, tops; ///< blobs
  std::vector<mlir::NamedAttribute> parameters;
};

struct Network {
  std::vector<Layer> layers;
  std::vector<std::string> blobs; ///< names; of .param.bin empty
};

/// A decimal number, as ncnn's own parsers take it: with a sign, nothing around it.
std::optional<int32_t> parseInt(StringRef text) {
  int64_t value = 0;
  text.consume_front("+");
  if (text.empty() || !llvm::isDigit(text.back()) || text.getAsInteger(10, value) ||
      value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return static_cast<int32_t>(value);
}

bool isReal(StringRef text) { return text.find_first_of(".eE") != StringRef::npos; }

std::optional<float> parseReal(StringRef text) {
  double value = 0;
  text.consume_front("+");
  if (text.find_first_not_of("-+.0123456789eE") != StringRef::npos || text.getAsDouble(value)) return std::nullopt;
  constexpr double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -most, most));
}

/// The parameters of one layer; a later one of the same number wins.
class Parameters {
public:
  explicit Parameters(mlir::MLIRContext &context) : b(&context) {}
  void set(int number, mlir::Attribute value) { values[number] = value; }
  std::vector<mlir::NamedAttribute> take() {
    std::vector<mlir::NamedAttribute> result;
    for (int i = 0; i < maxParameter; ++i)
      if (values[i]) result.push_back(b.getNamedAttr(std::to_string(i), values[i]));
    return result;
  }

  mlir::Builder b;

private:
  mlir::Attribute values[maxParameter];
};

//===-- .param ----------------------------------------------------------------------------------------------------===//

class TextReader {
public:
  TextReader(StringRef text, StringRef file, mlir::MLIRContext &context, Diagnostics &diagnostics)
      : text(text), file(file), context(context), diagnostics(diagnostics) {}

  std::optional<Network> run() {
    StringRef word = token();
    if (parseInt(word) != magic)
      return fail("COP211", formatv("not an ncnn model: it begins with '{0}', not with {1}", word, magic), word,
                  "files of ncnn before 2018 have no number there: write them again with ncnn's ncnnoptimize");
    std::optional<int64_t> layerCount = count("the number of layers", 1);
    std::optional<int64_t> blobCount = layerCount ? count("the number of blobs", 1) : std::nullopt;
    if (!blobCount) return std::nullopt;
    for (int64_t i = 0; i < *layerCount; ++i) {
      if (rest().trim().empty())
        return fail("COP211", formatv("the file ends after {0} of {1} layers", i, *layerCount), text.take_back(0));
      if (!readLayer(*blobCount)) return std::nullopt;
    }
    return std::move(network);
  }

private:
  static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
  static bool isSpace(char c) { return isBlank(c) || c == '\n' || c == '\r'; }

  StringRef rest() const { return text.drop_front(at); }

  /// The next word, on this line or a later one; empty at the end.
  StringRef token() {
    at = std::min(text.size(), text.find_first_not_of(" \t\v\f\n\r", at));
    StringRef word = rest().take_until(isSpace);
    at += word.size();
    return word;
  }

  std::nullopt_t fail(StringRef code, std::string message, StringRef where, std::string help = {}) {
    size_t offset = static_cast<size_t>(where.begin() - text.begin());
    StringRef before = text.take_front(offset);
    size_t lineBegin = before.rfind('\n') + 1; // npos + 1 is 0
    Place place{.file = file.str()};
    place.line = static_cast<unsigned>(before.count('\n') + 1);
    place.column = static_cast<unsigned>(offset - lineBegin + 1);
    place.snippet =
        text.substr(lineBegin).take_until([](char c) { return c == '\n' || c == '\r'; }).take_front(200).str();
    diagnostics.error(code, std::move(message), std::move(place), std::move(help));
    return std::nullopt;
  }

  std::optional<int64_t> count(StringRef what, int64_t least) {
    StringRef word = token();
    std::optional<int32_t> value = parseInt(word);
    if (!value) {
      fail("COP211", formatv("{0} is expected here, not '{1}'", what, word), word);
    } else if (*value < least || *value > maxCount) {
      value.reset();
      fail("COP208", formatv("{0} is {1}; from {2} to {3} is what ncnn reads", what, word, least, maxCount), word);
    }
    return value;
  }

  bool name(std::string &out, StringRef what) {
    StringRef word = token();
    if (word.empty())
      fail("COP211", formatv("the file ends where {0} is expected", what), text.take_back(0));
    else if (word.size() > 255)
      fail("COP211", formatv("{0} has {1} characters; ncnn reads 255", what, word.size()), word);
    else
      out = word.str();
    return !out.empty();
  }

  bool readLayer(int64_t blobCount) {
    Layer layer;
    if (!name(layer.type, "the type of a layer")) return false;
    countLines(at - layer.type.size());
    layer.line = line;
    layer.column = static_cast<unsigned>(at - layer.type.size() - lineStart + 1);
    if (!name(layer.name, "the name of a layer")) return false;
    std::optional<int64_t> bottoms = count("the number of inputs", 0);
    std::optional<int64_t> tops = bottoms ? count("the number of outputs", 0) : std::nullopt;
    if (!tops) return false;
    std::string blob;
    auto newBlob = [&] {
      network.blobs.push_back(blob);
      if (static_cast<int64_t>(network.blobs.size()) <= blobCount) return true;
      fail("COP211", formatv("'{0}' is one blob more than the {1} that the file announces", blob, blobCount),
           text.slice(at - blob.size(), at));
      return false;
    };
    for (int64_t i = 0; i < *bottoms; ++i) {
      blob.clear();
      if (!name(blob, "the name of an input")) return false;
      auto [known, isNew] = blobs.try_emplace(blob, network.blobs.size());
      if (isNew && !newBlob()) return false;
      layer.bottoms.push_back(known->second);
    }
    for (int64_t i = 0; i < *tops; ++i) {
      blob.clear();
      if (!name(blob, "the name of an output")) return false;
      blobs.try_emplace(blob, network.blobs.size()); // of two of one name the first is found
      layer.tops.push_back(static_cast<uint32_t>(network.blobs.size()));
      if (!newBlob()) return false;
    }
    if (!readParameters(layer)) return false;
    network.layers.push_back(std::move(layer));
    return true;
  }

  /// Up to the end of the line.
  bool readParameters(Layer &layer) {
    Parameters parameters(context);
    StringRef line = rest().take_until([](char c) { return c == '\n' || c == '\r'; });
    at += line.size();
    while (!(line = line.ltrim(" \t\v\f")).empty()) {
      StringRef id = line.take_while([](char c) { return llvm::isDigit(c) || c == '-' || c == '+'; });
      std::optional<int32_t> number = parseInt(id);
      if (!number || !line.drop_front(id.size()).starts_with("="))
        return fail("COP211", "a parameter, NUMBER=VALUE, is expected here", line), false;
      bool isArray = *number <= -23300;
      if (isArray) number = -(*number + 23300);
      if (*number < 0 || *number >= maxParameter)
        return fail("COP211", formatv("parameter {0} is not one of 0 to {1}", id, maxParameter - 1), line), false;
      line = line.drop_front(id.size() + 1);
      mlir::Attribute value = isArray ? readOldArray(line) : readValue(line);
      if (!value) return false;
      parameters.set(*number, value);
    }
    layer.parameters = parameters.take();
    return true;
  }

  /// "3,1,2,3": a length, then as many elements.
  mlir::Attribute readOldArray(StringRef &line) {
    StringRef list = line.take_until(isBlank), all = list;
    line = line.drop_front(list.size());
    auto [length, elements] = list.split(',');
    std::optional<int32_t> count = parseInt(length);
    size_t given = elements.empty() ? 0 : elements.count(',') + 1;
    if (!count || *count < 0)
      return fail("COP211", formatv("'{0}' is not the length of an array", length), all), nullptr;
    if (given != static_cast<size_t>(*count))
      return fail("COP211", formatv("an array of length {0} has {1} elements", *count, given), all), nullptr;
    return array(elements, all);
  }

  mlir::Attribute array(StringRef elements, StringRef all) {
    mlir::Builder b(&context);
    if (elements.empty()) return b.getDenseI64ArrayAttr({});
    llvm::SmallVector<StringRef> words;
    elements.split(words, ',');
    std::vector<int64_t> integers;
    std::vector<float> reals;
    bool anyReal = llvm::any_of(words, isReal);
    for (StringRef word : words) {
      std::optional<int32_t> integer = parseInt(word);
      std::optional<float> real = parseReal(word);
      if (!real || (!integer && !isReal(word)))
        return fail("COP211", formatv("'{0}' is not a number", word), word.empty() ? all : word), nullptr;
      integers.push_back(integer.value_or(0));
      reals.push_back(*real);
    }
    if (anyReal) return b.getDenseF32ArrayAttr(reals);
    return b.getDenseI64ArrayAttr(integers);
  }

  mlir::Attribute readValue(StringRef &line) {
    mlir::Builder b(&context);
    if (line.starts_with("\"") || (!line.empty() && llvm::isAlpha(line[0]))) {
      StringRef all = line, value;
      if (line.consume_front("\"")) {
        value = line.take_until([](char c) { return c == '"'; });
        line = line.drop_front(value.size());
        if (!line.consume_front("\"")) return fail("COP211", "a string has no end", all), nullptr;
      } else {
        value = line.take_until(isBlank);
        line = line.drop_front(value.size());
      }
      if (value.size() > 255 || (!line.empty() && !isBlank(line[0])))
        return fail("COP211", "a string is longer than 255 characters, or something follows it", all), nullptr;
      return b.getStringAttr(value);
    }
    StringRef value = line.take_until(isBlank), all = line;
    line = line.drop_front(value.size());
    if (value.contains(',')) {
      value.consume_back(","); // "1," is an array of one element
      return array(value, all);
    }
    if (!isReal(value)) {
      if (std::optional<int32_t> integer = parseInt(value)) return b.getI64IntegerAttr(*integer);
    } else if (std::optional<float> real = parseReal(value)) {
      return b.getF32FloatAttr(*real);
    }
    return fail("COP211", formatv("'{0}' is not a number that ncnn can read", value), all), nullptr;
  }

  void countLines(size_t to) {
    for (size_t next; (next = text.find('\n', lineStart)) < to; lineStart = next + 1) ++line;
  }

  StringRef text, file;
  mlir::MLIRContext &context;
  Diagnostics &diagnostics;
  Network network;
  llvm::StringMap<uint32_t> blobs;
  size_t at = 0, lineStart = 0;
  unsigned line = 1;
};

//===-- .param.bin ------------------------------------------------------------------------------------------------===//

class BinaryReader {
public:
  BinaryReader(StringRef bytes, StringRef file, mlir::MLIRContext &context, Diagnostics &diagnostics)
      : bytes(bytes), file(file), context(context), diagnostics(diagnostics) {}

  std::optional<Network> run() {
    int32_t first = 0;
    if (!read(first, "the magic number")) return std::nullopt;
    if (first != magic)
      return fail("COP211", formatv("not an ncnn model: it begins with {0}, not with {1}", first, magic), 4);
    int32_t layerCount = 0, blobCount = 0;
    if (!count(layerCount, "the number of layers", 1) || !count(blobCount, "the number of blobs", 1))
      return std::nullopt;
    network.blobs.resize(blobCount);
    for (int32_t i = 0; i < layerCount; ++i)
      if (!readLayer(i)) return std::nullopt;
    return std::move(network);
  }

private:
  /// What is wrong is the last `back` bytes.
  std::nullopt_t fail(StringRef code, std::string message, size_t back) {
    diagnostics.error(code, std::move(message), {.file = file.str(), .offset = at - std::min(at, back)});
    return std::nullopt;
  }

  bool read(int32_t &value, StringRef what) {
    if (bytes.size() - at < 4) return fail("COP211", formatv("the file ends where {0} is expected", what), 0), false;
    value = static_cast<int32_t>(llvm::support::endian::read32le(bytes.data() + at));
    at += 4;
    return true;
  }

  bool count(int32_t &value, StringRef what, int32_t least) {
    if (!read(value, what)) return false;
    if (value >= least && value <= maxCount) return true;
    return fail("COP208", formatv("{0} is {1}; from {2} to {3} is what ncnn reads", what, value, least, maxCount), 4),
           false;
  }

  bool readBlobs(std::vector<uint32_t> &list, int32_t count, StringRef what) {
    for (int32_t i = 0; i < count; ++i) {
      int32_t blob = 0;
      if (!read(blob, what)) return false;
      if (blob < 0 || static_cast<size_t>(blob) >= network.blobs.size())
        return fail("COP211", formatv("{0} is blob {1}; the file announces {2}", what, blob, network.blobs.size()), 4),
               false;
      list.push_back(static_cast<uint32_t>(blob));
    }
    return true;
  }

  bool readLayer(int32_t index) {
    Layer layer;
    layer.name = formatv("layer {0}", index);
    int32_t type = 0, bottoms = 0, tops = 0;
    if (!read(type, "the type of a layer")) return false;
    if (type >= 0 && static_cast<size_t>(type) < std::size(ncnnLayerTypes))
      layer.type = ncnnLayerTypes[type].str();
    else if (type >= 0 && (type & ncnnCustomBit) && (type & ~ncnnCustomBit) < maxCount)
      layer.type = "custom." + std::to_string(type & ~ncnnCustomBit); // the program knows what it is
    else
      return fail("COP211",
                  formatv("{0} has type {1}, of which Coppice knows no name: it knows the {2} types of ncnn "
                          "1.0.20261020",
                          layer.name, type, std::size(ncnnLayerTypes)),
                  4),
             false;
    if (!count(bottoms, "the number of inputs", 0) || !count(tops, "the number of outputs", 0) ||
        !readBlobs(layer.bottoms, bottoms, "an input") || !readBlobs(layer.tops, tops, "an output") ||
        !readParameters(layer))
      return false;
    network.layers.push_back(std::move(layer));
    return true;
  }

  bool readParameters(Layer &layer) {
    Parameters parameters(context);
    constexpr int32_t end = -233, arrays = -23300, strings = -23400;
    for (;;) {
      int32_t id = 0;
      if (!read(id, "a parameter, or the end of the parameters,")) return false;
      if (id == end) break;
      int64_t number = id <= strings ? -(int64_t(id) - strings) : id <= arrays ? -(int64_t(id) - arrays) : id;
      if (number < 0 || number >= maxParameter)
        return fail("COP211", formatv("parameter {0} of {1} is not one of 0 to {2}", id, layer.name, maxParameter - 1),
                    4),
               false;
      int32_t length = 0;
      if (id > arrays) {
        if (!read(length, "the value of a parameter")) return false;
        parameters.set(static_cast<int>(number), value(length));
        continue;
      }
      if (!read(length, "the length of a parameter")) return false;
      size_t left = bytes.size() - at;
      if (length < 0 || (id <= strings ? length > 255 || llvm::alignTo(length, 4) > left : size_t(length) > left / 4))
        return fail("COP208",
                    formatv("a parameter of {0} has length {1}, but {2} bytes are left", layer.name, length, left), 4),
               false;
      if (id <= strings) {
        StringRef text = bytes.substr(at, length);
        parameters.set(static_cast<int>(number),
                       parameters.b.getStringAttr(text.take_until([](char c) { return !c; })));
        at += llvm::alignTo(length, 4);
      } else {
        parameters.set(static_cast<int>(number), array(length));
        at += 4 * static_cast<size_t>(length);
      }
    }
    layer.parameters = parameters.take();
    return true;
  }

  /// Four bytes do not say whether they are an integer. Integers that are parameters are small, and small integers, as
  /// reals, are denormal or no numbers; so what is taken for an integer is none only if it is a real that nobody
  /// writes, and a large integer is taken for a real, whose value no rule of a binding relies on.
  static bool looksInteger(int32_t bits) { return bits > -(1 << 23) && bits < 1 << 23; }
  mlir::Attribute value(int32_t bits) {
    mlir::Builder b(&context);
    if (looksInteger(bits)) return b.getI64IntegerAttr(bits);
    return b.getF32FloatAttr(std::bit_cast<float>(bits));
  }

  mlir::Attribute array(int32_t length) {
    mlir::Builder b(&context);
    std::vector<int64_t> integers;
    std::vector<float> reals;
    for (int32_t i = 0; i < length; ++i) {
      auto bits = static_cast<int32_t>(llvm::support::endian::read32le(bytes.data() + at + 4 * static_cast<size_t>(i)));
      if (looksInteger(bits)) integers.push_back(bits);
      reals.push_back(std::bit_cast<float>(bits));
    }
    if (integers.size() == reals.size()) return b.getDenseI64ArrayAttr(integers);
    return b.getDenseF32ArrayAttr(reals);
  }

  StringRef bytes, file;
  mlir::MLIRContext &context;
  Diagnostics &diagnostics;
  Network network;
  size_t at = 0;
};

//===-- MLIR ------------------------------------------------------------------------------------------------------===//

/// Layers so that each comes after those that make its inputs, and otherwise as in the file; empty if that cannot be.
std::vector<uint32_t> sorted(const Network &network, const std::vector<int64_t> &producers) {
  std::vector<std::vector<uint32_t>> users(network.layers.size());
  std::vector<size_t> open(network.layers.size(), 0);
  for (auto [index, layer] : llvm::enumerate(network.layers))
    for (uint32_t blob : layer.bottoms)
      if (producers[blob] >= 0) {
        users[producers[blob]].push_back(static_cast<uint32_t>(index));
        ++open[index];
      }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (auto [index, count] : llvm::enumerate(open))
    if (!count) ready.push(static_cast<uint32_t>(index));
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (uint32_t user : users[order.back()])
      if (!--open[user]) ready.push(user);
  }
  return order;
}

mlir::OwningOpRef<mlir::ModuleOp> build(const Network &network, StringRef file, mlir::MLIRContext &context,
                                        Diagnostics &diagnostics) {
  std::vector<int64_t> producers(network.blobs.size(), -1);
  for (auto [index, layer] : llvm::enumerate(network.layers))
    for (uint32_t blob : layer.tops) producers[blob] = static_cast<int64_t>(index); // the last one, as in ncnn
  std::vector<uint32_t> order = sorted(network, producers);
  if (order.size() < network.layers.size()) {
    std::vector<char> done(network.layers.size(), 0);
    for (uint32_t index : order) done[index] = 1;
    const Layer &layer = network.layers[llvm::find(done, 0) - done.begin()];
    Place place{.file = file.str(), .line = layer.line, .column = layer.column, .node = layer.line ? "" : layer.name};
    diagnostics.error("COP207",
                      formatv("the graph has a cycle: '{0}' needs its own output, or that of such a layer", layer.name),
                      std::move(place));
    return {};
  }

  mlir::OpBuilder b(&context);
  context.loadDialect<mlir::func::FuncDialect>();
  auto top = mlir::FileLineColLoc::get(&context, file, 0, 0);
  mlir::Type unknown = mlir::UnrankedTensorType::get(unknownElementType(&context));
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(top);
  b.setInsertionPointToEnd(module->getBody());
  auto named = [&](uint32_t blob) {
    const std::string &name = network.blobs[blob];
    return b.getDictionaryAttr(
        b.getNamedAttr("coppice.name", b.getStringAttr(name.empty() ? std::to_string(blob) : name)));
  };

  std::vector<uint32_t> arguments;
  std::vector<char> isArgument(network.blobs.size(), 0), isRead(network.blobs.size(), 0);
  for (const Layer &layer : network.layers)
    for (uint32_t blob : layer.bottoms) {
      isRead[blob] = 1;
      if (producers[blob] < 0 && !isArgument[blob]) arguments.push_back(blob), isArgument[blob] = 1;
    }
  llvm::SmallVector<mlir::Attribute> argumentAttributes, resultAttributes;
  for (uint32_t blob : arguments) argumentAttributes.push_back(named(blob));
  llvm::SmallVector<mlir::Type> argumentTypes(arguments.size(), unknown);
  auto function = mlir::func::FuncOp::create(b, top, graphNameOf(file), b.getFunctionType(argumentTypes, {}));
  mlir::Block *block = function.addEntryBlock();
  b.setInsertionPointToEnd(block);

  std::vector<mlir::Value> values(network.blobs.size());
  for (auto [blob, value] : llvm::zip(arguments, block->getArguments())) values[blob] = value;
  for (uint32_t index : order) {
    const Layer &layer = network.layers[index];
    mlir::OperationState op(mlir::NameLoc::get(b.getStringAttr(layer.name),
                                               mlir::FileLineColLoc::get(&context, file, layer.line, layer.column)),
                            "ncnn." + layer.type);
    for (uint32_t blob : layer.bottoms) op.operands.push_back(values[blob]);
    op.types.assign(layer.tops.size(), unknown);
    op.addAttributes(layer.parameters);
    mlir::Operation *created = b.create(op);
    for (auto [blob, result] : llvm::zip(layer.tops, created->getResults()))
      if (producers[blob] == index) values[blob] = result;
  }
  llvm::SmallVector<mlir::Value> results;
  for (uint32_t blob = 0; blob < network.blobs.size(); ++blob)
    if (producers[blob] >= 0 && !isRead[blob]) {
      results.push_back(values[blob]);
      resultAttributes.push_back(named(blob));
    }
  mlir::func::ReturnOp::create(b, top, results);
  function.setType(b.getFunctionType(argumentTypes, mlir::ValueRange(results).getTypes()));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
  return module;
}

} // namespace

ImportedGraph coppice::importNcnn(llvm::MemoryBufferRef model, mlir::MLIRContext &context, Diagnostics &diagnostics) {
  ImportedGraph result;
  StringRef contents = model.getBuffer(), file = model.getBufferIdentifier();
  std::optional<Network> network = identifyGraph(model) == GraphFormat::NcnnParamBinary
                                       ? BinaryReader(contents, file, context, diagnostics).run()
                                       : TextReader(contents, file, context, diagnostics).run();
  if (network) result.module = build(*network, file, context, diagnostics);
  return result;
}
