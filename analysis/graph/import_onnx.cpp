// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX -> MLIR (docs/graph-form.md). A graph becomes a block: its nodes are put into topological order, its names are
// looked up in scopes that nest as subgraphs do, and calls of model-local functions are replaced by their bodies.
#include "analysis/graph/import.h"
#include "analysis/graph/onnx_tensor.h"
#include "analysis/graph/onnx_wire.h"
#include "analysis/graph/unknown_type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>
#include <queue>

using namespace coppice;
using llvm::formatv;
using llvm::StringRef;
using mlir::Location;
using mlir::Type;
using mlir::Value;

namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Where ops of one MLIR block go. Constants of the block stand at its beginning, before the first node.
struct BlockState {
  explicit BlockState(mlir::Block *block) : block(block) {}
  mlir::Block *block;
  mlir::Operation *lastConstant = nullptr;
  Value none;
};

/// The names of one graph. A subgraph sees its parent's; the body of a function sees only its own.
struct Scope {
  Scope(Scope *parent, BlockState &block) : parent(parent), block(block) {}
  Scope *parent;
  BlockState &block;
  llvm::StringMap<Value> values;
  llvm::StringMap<const onnx::TensorProto *> initializers; ///< those that no node has used yet
  llvm::StringMap<Type> types;                             ///< what the file says about results of nodes
};

/// The function whose nodes are being imported: the model's graph, or a model-local function at one of its calls.
struct Frame {
  const Frame *caller = nullptr;
  const onnx::FunctionProto *function = nullptr;
  const onnx::NodeProto *call = nullptr;
  std::string prefix; ///< of node names
  llvm::StringMap<int64_t> versions;
};

/// An optional operand that is not given: "onnx.None".
bool isAbsent(Value value) { return llvm::isa<mlir::NoneType>(value.getType()); }

/// The default domain has two spellings.
StringRef canonical(StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (canonical(domain) + llvm::Twine('\0') + name + llvm::Twine('\0') + overload).str();
}

std::string nodeName(const onnx::NodeProto &node, unsigned index, const Frame &frame) {
  return frame.prefix + (node.name().empty() ? node.op_type() + "#" + std::to_string(index) : node.name());
}

/// Adds the outer names that a subgraph uses, which its node depends on as on inputs.
void addCaptures(const onnx::GraphProto &graph, llvm::StringSet<> &captures) {
  llvm::StringSet<> used, defined;
  for (const auto &input : graph.input()) defined.insert(input.name());
  for (const auto &initializer : graph.initializer()) defined.insert(initializer.name());
  for (const auto &node : graph.node()) {
    for (const auto &name : node.output()) defined.insert(name);
    for (const auto &name : node.input()) used.insert(name);
    for (const auto &attribute : node.attribute())
      if (attribute.has_g()) addCaptures(attribute.g(), used);
  }
  for (const auto &output : graph.output()) used.insert(output.name());
  for (const auto &name : used)
    if (!defined.contains(name.first())) captures.insert(name.first());
}

/// Models of IR version 1 have no AttributeProto.type: it is the field that is there.
onnx::AttributeProto::AttributeType typeOf(const onnx::AttributeProto &a) {
  if (a.has_type()) return a.type();
  if (a.has_f()) return onnx::AttributeProto::FLOAT;
  if (a.has_i()) return onnx::AttributeProto::INT;
  if (a.has_s()) return onnx::AttributeProto::STRING;
  if (a.has_t()) return onnx::AttributeProto::TENSOR;
  if (a.has_g()) return onnx::AttributeProto::GRAPH;
  if (a.floats_size()) return onnx::AttributeProto::FLOATS;
  if (a.ints_size()) return onnx::AttributeProto::INTS;
  if (a.strings_size()) return onnx::AttributeProto::STRINGS;
  return onnx::AttributeProto::UNDEFINED;
}

class OnnxImporter {
public:
  OnnxImporter(OnnxFile &file, const onnx::ModelProto &model)
      : file(file), model(model), types(file), tensors(file, types), b(&file.context),
        fileLocation(mlir::FileLineColLoc::get(&file.context, file.path(), 0, 0)) {
    for (StringRef dialect : file.context.getAvailableDialects()) mlirDialects.insert(dialect);
    for (mlir::Dialect *dialect : file.context.getLoadedDialects()) mlirDialects.insert(dialect->getNamespace());
  }

  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  Frame modelFrame();
  std::string functionName() const;
  Location location(StringRef name) { return mlir::NameLoc::get(b.getStringAttr(name), fileLocation); }

  bool importNodes(const Nodes &nodes, Scope &scope, const Frame &frame);
  std::optional<std::vector<unsigned>> sort(const Nodes &nodes, Scope &scope, const Frame &frame);
  void reportCycle(const Nodes &nodes, const std::vector<std::vector<unsigned>> &users, std::vector<unsigned> missing,
                   const Frame &frame);
  bool importNode(const onnx::NodeProto &node, const std::string &name, Scope &scope, const Frame &frame);
  bool importCall(const onnx::FunctionProto &function, const onnx::NodeProto &node, const std::string &name,
                  Scope &scope, const Frame &frame);
  bool importConstant(const onnx::NodeProto &node, const std::string &name, Scope &scope, const Frame &frame);
  bool importSubgraph(const onnx::GraphProto &graph, mlir::Region &region, const std::string &nodeName, Scope &outer,
                      const Frame &frame, StringRef yield);
  mlir::Attribute importAttribute(const onnx::AttributeProto &attribute, const std::string &node);
  const onnx::AttributeProto *resolve(const onnx::AttributeProto &attribute, const Frame &frame,
                                      const std::string &node);

  void readTypes(const onnx::GraphProto &graph, Scope &scope, const std::string &node);
  bool readInitializers(const onnx::GraphProto &graph, Scope &scope, const std::string &node);
  bool define(Scope &scope, StringRef name, Value value, const std::string &node);
  bool isDefined(const Scope &scope, StringRef name) const;
  Value lookup(Scope &scope, StringRef name);
  Value none(Scope &scope);
  mlir::Operation *insertConstant(BlockState &block, Location loc, mlir::ElementsAttr value);

  OnnxFile &file;
  const onnx::ModelProto &model;
  OnnxTypes types;
  OnnxTensors tensors;
  mlir::OpBuilder b;
  Location fileLocation;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  llvm::StringSet<> mlirDialects; ///< whose ops mean something else
  unsigned importedNodes = 0;
};

//===-- The model -------------------------------------------------------------------------------------------------===//

std::string OnnxImporter::functionName() const {
  std::string name;
  for (char c : model.graph().name()) name += llvm::isAlnum(c) ? c : '_';
  if (name.empty()) return "main";
  return llvm::isDigit(name[0]) ? "_" + name : name;
}

void addVersions(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &imports, Frame &frame) {
  for (const auto &import : imports) frame.versions[canonical(import.domain())] = import.version();
}

Frame OnnxImporter::modelFrame() {
  Frame frame;
  addVersions(model.opset_import(), frame);
  // Before IR version 3 there were no imports: all ops are those of version 1.
  if (model.ir_version() < 3 && frame.versions.empty()) frame.versions[""] = 1;
  return frame;
}

mlir::OwningOpRef<mlir::ModuleOp> OnnxImporter::run() {
  const onnx::GraphProto &graph = model.graph();
  for (const auto &function : model.functions())
    if (!functions.try_emplace(functionKey(function.domain(), function.name(), function.overload()), &function).second)
      file.error("COP205",
                 formatv("function '{0}' of domain '{1}' is defined twice", function.name(), function.domain()));

  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(fileLocation);
  llvm::StringSet<> initialized;
  for (const auto &initializer : graph.initializer()) initialized.insert(initializer.name());

  auto named = [&](StringRef name, const onnx::TypeProto &type) {
    llvm::SmallVector<mlir::NamedAttribute> attributes = {b.getNamedAttr("coppice.name", b.getStringAttr(name))};
    llvm::SmallVector<StringRef> dims;
    bool anyDim = false;
    if (type.has_tensor_type())
      for (const auto &dim : type.tensor_type().shape().dim()) {
        dims.push_back(dim.has_dim_param() ? StringRef(dim.dim_param()) : StringRef());
        anyDim |= !dims.back().empty();
      }
    if (anyDim) attributes.push_back(b.getNamedAttr("coppice.dims", b.getStrArrayAttr(dims)));
    return b.getDictionaryAttr(attributes);
  };

  // Up to IR version 3 initializers are inputs as well; later ones may be, to be replaced by a caller.
  llvm::SmallVector<const onnx::ValueInfoProto *> inputs;
  llvm::SmallVector<Type> inputTypes;
  llvm::SmallVector<mlir::Attribute> argumentAttributes, resultAttributes;
  for (const auto &input : graph.input()) {
    if (initialized.contains(input.name())) continue;
    Type type = types.value(input.type(), formatv("input '{0}'", input.name()));
    inputs.push_back(&input);
    inputTypes.push_back(type ? type : types.unknown());
    argumentAttributes.push_back(named(input.name(), input.type()));
  }

  b.setInsertionPointToEnd(module->getBody());
  auto function =
      mlir::func::FuncOp::create(b, location(graph.name()), functionName(), b.getFunctionType(inputTypes, {}));
  BlockState block(function.addEntryBlock());
  Scope scope(nullptr, block);
  b.setInsertionPointToEnd(block.block);
  for (auto [input, value] : llvm::zip(inputs, function.getArguments())) define(scope, input->name(), value, {});
  readTypes(graph, scope, {});
  if (!readInitializers(graph, scope, {}) || !importNodes(graph.node(), scope, modelFrame())) return {};

  llvm::SmallVector<Value> outputs;
  for (const auto &output : graph.output()) {
    Value value = lookup(scope, output.name());
    if (!value) {
      file.error("COP205", formatv("nothing defines the output '{0}' of the graph", output.name()));
      continue;
    }
    outputs.push_back(value);
    resultAttributes.push_back(named(output.name(), output.type()));
  }
  if (file.errors) return {};
  b.setInsertionPointToEnd(block.block);
  mlir::func::ReturnOp::create(b, function.getLoc(), outputs);
  function.setType(b.getFunctionType(inputTypes, mlir::ValueRange(outputs).getTypes()));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
  function.walk([](mlir::Operation *op) { // of functions whose absent inputs were at the end of each node
    if (op->getName().getStringRef() == "onnx.None" && op->use_empty()) op->erase();
  });
  return module;
}

//===-- Names -----------------------------------------------------------------------------------------------------===//

/// Types that say nothing are left out. Those of intermediate values are hints, but must make sense.
void OnnxImporter::readTypes(const onnx::GraphProto &graph, Scope &scope, const std::string &node) {
  for (const auto *list : {&graph.value_info(), &graph.output()})
    for (const auto &info : *list)
      if (info.has_type())
        if (Type type = types.value(info.type(), formatv("value '{0}'", info.name()), node);
            type && type != types.unknown())
          scope.types[info.name()] = type;
}

bool OnnxImporter::readInitializers(const onnx::GraphProto &graph, Scope &scope, const std::string &node) {
  for (const auto &sparse : graph.sparse_initializer()) {
    file.error("COP202",
               formatv("initializer '{0}' is a sparse tensor, which Coppice does not read", sparse.values().name()),
               node);
    return false;
  }
  for (const auto &initializer : graph.initializer()) {
    bool isInput = scope.values.contains(initializer.name());
    if (initializer.name().empty())
      file.error("COP205", "an initializer has no name", node);
    else if (isInput || !scope.initializers.try_emplace(initializer.name(), &initializer).second)
      file.error("COP205", formatv("'{0}' is defined twice: by initializers", initializer.name()), node);
  }
  return true;
}

bool OnnxImporter::define(Scope &scope, StringRef name, Value value, const std::string &node) {
  if (!scope.initializers.contains(name) && scope.values.try_emplace(name, value).second) return true;
  file.error("COP205", formatv("'{0}' is defined twice", name), node);
  return false;
}

bool OnnxImporter::isDefined(const Scope &scope, StringRef name) const {
  for (const Scope *s = &scope; s; s = s->parent)
    if (s->values.contains(name) || s->initializers.contains(name)) return true;
  return false;
}

Value OnnxImporter::lookup(Scope &scope, StringRef name) {
  for (Scope *s = &scope; s; s = s->parent) {
    if (Value value = s->values.lookup(name)) return value;
    auto it = s->initializers.find(name);
    if (it == s->initializers.end()) continue;
    // An initializer becomes a constant at its first use, so that unused ones are never read.
    const onnx::TensorProto *tensor = it->second;
    mlir::ElementsAttr value = tensors.read(*tensor, name, formatv("initializer '{0}'", name));
    if (!value) // reported; go on with something
      return s->values[name] = none(*s);
    s->initializers.erase(it);
    return s->values[name] = insertConstant(s->block, location(name), value)->getResult(0);
  }
  return {};
}

mlir::Operation *OnnxImporter::insertConstant(BlockState &block, Location loc, mlir::ElementsAttr value) {
  mlir::OpBuilder::InsertionGuard guard(b);
  if (block.lastConstant)
    b.setInsertionPointAfter(block.lastConstant);
  else
    b.setInsertionPointToStart(block.block);
  return block.lastConstant = mlir::arith::ConstantOp::create(b, loc, value);
}

Value OnnxImporter::none(Scope &scope) {
  BlockState &block = scope.block;
  if (!block.none) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block.block);
    mlir::OperationState state(fileLocation, "onnx.None");
    state.addTypes(b.getNoneType());
    mlir::Operation *op = b.create(state);
    if (!block.lastConstant) block.lastConstant = op;
    block.none = op->getResult(0);
  }
  return block.none;
}

//===-- Order -----------------------------------------------------------------------------------------------------===//

/// The nodes in an order in which each stands after those that it uses, otherwise as in the file.
std::optional<std::vector<unsigned>> OnnxImporter::sort(const Nodes &nodes, Scope &scope, const Frame &frame) {
  llvm::StringMap<unsigned> definedBy;
  bool ok = true;
  for (int i = 0; i < nodes.size(); ++i)
    for (const auto &output : nodes[i].output()) {
      if (output.empty()) continue;
      auto [it, isNew] = definedBy.try_emplace(output, i);
      if (isNew && !scope.values.contains(output) && !scope.initializers.contains(output)) continue;
      std::string by = isNew ? "the graph itself" : "node \"" + nodeName(nodes[it->second], it->second, frame) + "\"";
      file.error("COP205", formatv("'{0}' is defined twice: by {1} and by this node", output, by),
                 nodeName(nodes[i], i, frame));
      ok = false;
    }

  std::vector<std::vector<unsigned>> users(nodes.size());
  std::vector<unsigned> missing(nodes.size()); // inputs that are not there yet
  for (int i = 0; i < nodes.size(); ++i) {
    llvm::StringSet<> captures;
    for (const auto &attribute : nodes[i].attribute())
      if (attribute.has_g()) addCaptures(attribute.g(), captures);
    auto dependOn = [&](StringRef name, bool isInput) {
      if (auto it = definedBy.find(name); it != definedBy.end()) {
        users[it->second].push_back(i);
        ++missing[i];
      } else if (isInput && !name.empty() && !isDefined(scope, name)) {
        // Names that subgraphs use are reported at the node in the subgraph.
        file.error("COP205", formatv("nothing defines input '{0}'", name), nodeName(nodes[i], i, frame));
        ok = false;
      }
    };
    for (const auto &input : nodes[i].input()) dependOn(input, true);
    for (const auto &name : captures) dependOn(name.first(), false);
  }
  if (!ok) return std::nullopt;

  std::vector<unsigned> order;
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (!missing[i]) ready.push(i);
  while (!ready.empty()) {
    unsigned node = ready.top();
    ready.pop();
    order.push_back(node);
    for (unsigned user : users[node])
      if (--missing[user] == 0) ready.push(user);
  }
  if (order.size() == static_cast<size_t>(nodes.size())) return order;
  reportCycle(nodes, users, std::move(missing), frame);
  return std::nullopt;
}

/// Of the nodes that were never ready each waits for another such node: going back from one of them, a node comes
/// twice.
void OnnxImporter::reportCycle(const Nodes &nodes, const std::vector<std::vector<unsigned>> &users,
                               std::vector<unsigned> missing, const Frame &frame) {
  constexpr unsigned unset = ~0u;
  std::vector<unsigned> waitsFor(nodes.size(), unset), visitedAt(nodes.size(), unset), path;
  for (unsigned node = 0; node < users.size(); ++node)
    for (unsigned user : users[node])
      if (missing[node] && waitsFor[user] == unset) waitsFor[user] = node;
  unsigned node = llvm::find_if(missing, [](unsigned m) { return m != 0; }) - missing.begin();
  for (; visitedAt[node] == unset; node = waitsFor[node]) {
    visitedAt[node] = path.size();
    path.push_back(node);
  }
  path.erase(path.begin(), path.begin() + visitedAt[node]);
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), llvm::min_element(path), path.end());

  constexpr size_t shown = 8;
  std::string names;
  for (unsigned n : llvm::ArrayRef(path).take_front(shown)) names += "\"" + nodeName(nodes[n], n, frame) + "\" -> ";
  if (path.size() > shown) names += formatv("{0} more -> ", path.size() - shown);
  names += "\"" + nodeName(nodes[path[0]], path[0], frame) + "\"";
  file.error("COP207", "the graph has a cycle: " + names, nodeName(nodes[path[0]], path[0], frame));
}

//===-- Nodes -----------------------------------------------------------------------------------------------------===//

bool OnnxImporter::importNodes(const Nodes &nodes, Scope &scope, const Frame &frame) {
  std::optional<std::vector<unsigned>> order = sort(nodes, scope, frame);
  if (!order) return false;
  for (unsigned i : *order)
    if (!importNode(nodes[i], nodeName(nodes[i], i, frame), scope, frame)) return false;
  return true;
}

/// False when going on makes no sense. What only this node gets wrong is reported, and the next node is tried.
bool OnnxImporter::importNode(const onnx::NodeProto &node, const std::string &name, Scope &scope, const Frame &frame) {
  // Functions that call functions twice each grow as 2^depth.
  constexpr unsigned limit = 1 << 18; // large models have some 10,000
  if (++importedNodes > limit) {
    file.error("COP208", formatv("more than {0} nodes, counting the bodies of functions at each call", limit), name);
    return false;
  }
  if (node.op_type().empty()) {
    file.error("COP205", "a node has no op type", name);
    return false;
  }
  auto function = functions.find(functionKey(node.domain(), node.op_type(), node.overload()));
  if (function != functions.end()) return importCall(*function->second, node, name, scope, frame);

  StringRef domain = canonical(node.domain());
  auto version = frame.versions.find(domain);
  if (version == frame.versions.end()) {
    file.error("COP205",
               formatv("op '{0}' is of domain '{1}', and the {2} imports no operator set of it", node.op_type(),
                       domain.empty() ? "ai.onnx" : domain, frame.function ? "function" : "model"),
               name);
    return false;
  }
  if (domain.empty() && node.op_type() == "Constant") return importConstant(node, name, scope, frame);

  StringRef dialect = domain.empty() ? "onnx" : domain;
  std::string op = (dialect + "." + node.op_type()).str();
  StringRef mlirDialect = StringRef(op).split('.').first;
  if (mlirDialects.contains(mlirDialect) || mlirDialect.empty()) {
    file.error("COP202", formatv("the domain of op '{0}' is a dialect of MLIR", op), name);
    return false;
  }

  mlir::OperationState state(location(name), op);
  for (const auto &input : node.input()) state.addOperands(input.empty() ? none(scope) : lookup(scope, input));
  while (!state.operands.empty() && isAbsent(state.operands.back())) state.operands.pop_back();
  int outputs = node.output_size();
  while (outputs && node.output(outputs - 1).empty()) --outputs;
  for (int i = 0; i < outputs; ++i) {
    Type type = scope.types.lookup(node.output(i));
    state.addTypes(node.output(i).empty() ? Type(b.getNoneType()) : type ? type : types.unknown());
  }

  llvm::SmallVector<StringRef> regions;
  llvm::StringSet<> names;
  state.addAttribute("coppice.version", b.getI64IntegerAttr(version->second));
  for (const auto &written : node.attribute()) {
    if (written.name().empty() || !names.insert(written.name()).second ||
        StringRef(written.name()).starts_with("coppice.")) {
      file.error("COP205",
                 formatv("attribute '{0}' has no name, is there twice, or has a name that is taken", written.name()),
                 name);
      continue;
    }
    const onnx::AttributeProto *attribute = resolve(written, frame, name);
    if (!attribute) continue;
    if (typeOf(*attribute) == onnx::AttributeProto::GRAPH) {
      regions.push_back(written.name());
      if (!importSubgraph(attribute->g(), *state.addRegion(), name, scope, frame, (dialect + ".Yield").str()))
        return false;
    } else if (mlir::Attribute value = importAttribute(*attribute, name)) {
      state.addAttribute(written.name(), value);
    }
  }
  if (!regions.empty()) state.addAttribute("coppice.regions", b.getStrArrayAttr(regions));

  mlir::Operation *result = b.create(state);
  for (int i = 0; i < outputs; ++i)
    if (!node.output(i).empty()) scope.values[node.output(i)] = result->getResult(i);
  return true;
}

bool OnnxImporter::importConstant(const onnx::NodeProto &node, const std::string &name, Scope &scope,
                                  const Frame &frame) {
  mlir::ElementsAttr value;
  const onnx::AttributeProto *attribute =
      node.attribute_size() == 1 ? resolve(node.attribute(0), frame, name) : nullptr;
  if (!attribute || node.output_size() != 1 || node.output(0).empty()) {
    file.error("COP205", "a Constant has one attribute and one output", name);
    return false;
  }
  StringRef kind = node.attribute(0).name();
  auto dense = [&](Type element, bool isList, auto values) {
    llvm::SmallVector<int64_t, 1> dims(isList, static_cast<int64_t>(values.size()));
    value = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(dims, element), values);
  };
  auto strings = [&](bool isList, llvm::ArrayRef<StringRef> values) {
    dense(types.element(onnx::TensorProto::STRING), isList, values);
  };
  const auto &a = *attribute;
  if (kind == "value" && a.has_t())
    value = tensors.read(a.t(), name, "attribute 'value'", name);
  else if (kind == "value_float")
    dense(b.getF32Type(), false, llvm::ArrayRef<float>(a.f()));
  else if (kind == "value_floats")
    dense(b.getF32Type(), true, llvm::ArrayRef<float>(a.floats().data(), a.floats_size()));
  else if (kind == "value_int")
    dense(b.getI64Type(), false, llvm::ArrayRef<int64_t>(a.i()));
  else if (kind == "value_ints")
    dense(b.getI64Type(), true, llvm::ArrayRef<int64_t>(a.ints().data(), a.ints_size()));
  else if (kind == "value_string")
    strings(false, StringRef(a.s()));
  else if (kind == "value_strings")
    strings(true, llvm::SmallVector<StringRef>(a.strings().begin(), a.strings().end()));
  else
    file.error("COP202", formatv("attribute '{0}' of a Constant is not supported", kind), name);
  // After an error the next nodes still find a value.
  scope.values[node.output(0)] =
      value ? mlir::arith::ConstantOp::create(b, location(name), value).getResult() : none(scope);
  return true;
}

bool OnnxImporter::importSubgraph(const onnx::GraphProto &graph, mlir::Region &region, const std::string &nodeName,
                                  Scope &outer, const Frame &frame, StringRef yield) {
  mlir::OpBuilder::InsertionGuard guard(b);
  BlockState block(b.createBlock(&region));
  Scope scope(&outer, block);
  for (const auto &input : graph.input()) {
    Type type = types.value(input.type(), formatv("input '{0}' of a subgraph", input.name()), nodeName);
    define(scope, input.name(), block.block->addArgument(type ? type : types.unknown(), location(input.name())),
           nodeName);
  }
  readTypes(graph, scope, nodeName);
  if (!readInitializers(graph, scope, nodeName) || !importNodes(graph.node(), scope, frame)) return false;
  mlir::OperationState state(location(nodeName), yield);
  for (const auto &output : graph.output()) {
    Value value = output.name().empty() ? none(scope) : lookup(scope, output.name());
    if (!value) {
      file.error("COP205", formatv("nothing defines the output '{0}' of a subgraph", output.name()), nodeName);
      return false;
    }
    state.addOperands(value);
  }
  b.create(state);
  return true;
}

//===-- Functions -------------------------------------------------------------------------------------------------===//

bool OnnxImporter::importCall(const onnx::FunctionProto &function, const onnx::NodeProto &node, const std::string &name,
                              Scope &scope, const Frame &frame) {
  constexpr unsigned maxDepth = 100;
  unsigned depth = 0;
  for (const Frame *f = &frame; f->function; f = f->caller, ++depth) {
    if (f->function != &function) continue;
    std::string calls = "'" + function.name() + "'";
    for (const Frame *between = &frame; between != f->caller; between = between->caller)
      calls = "'" + between->function->name() + "' -> " + calls;
    file.error("COP207", "functions of the model call each other in a cycle: " + calls, name);
    return false;
  }
  if (depth == maxDepth) {
    file.error("COP208", formatv("calls of functions are nested more than {0} deep", maxDepth), name);
    return false;
  }
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    file.error("COP205",
               formatv("function '{0}' has {1} inputs and {2} outputs, this call {3} and {4}", function.name(),
                       function.input_size(), function.output_size(), node.input_size(), node.output_size()),
               name);
    return false;
  }

  Frame inner{&frame, &function, &node, name + "/", {}};
  addVersions(function.opset_import(), inner);
  Scope body(nullptr, scope.block);
  for (int i = 0; i < function.input_size(); ++i) {
    bool given = i < node.input_size() && !node.input(i).empty();
    if (!define(body, function.input(i), given ? lookup(scope, node.input(i)) : none(scope), name)) return false;
  }
  for (const auto &info : function.value_info())
    if (Type type = types.value(info.type(), formatv("value '{0}'", info.name()), name);
        type && type != types.unknown())
      body.types[info.name()] = type;
  if (!importNodes(function.node(), body, inner)) return false;

  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    Value value = lookup(body, function.output(i));
    if (!value) {
      file.error("COP205",
                 formatv("nothing defines the output '{0}' of function '{1}'", function.output(i), function.name()),
                 name);
      return false;
    }
    if (Type type = scope.types.lookup(node.output(i)); type && value.getType() == types.unknown()) value.setType(type);
    scope.values[node.output(i)] = value;
  }
  return true;
}

/// What an attribute of a function's node refers to: the attribute of the call, else the default, else nothing.
const onnx::AttributeProto *referred(const onnx::AttributeProto &attribute, const Frame &frame) {
  if (attribute.ref_attr_name().empty()) return &attribute;
  if (!frame.function) return nullptr;
  auto isReferred = [&](const onnx::AttributeProto &a) { return a.name() == attribute.ref_attr_name(); };
  for (const auto &given : llvm::make_filter_range(frame.call->attribute(), isReferred))
    if (const auto *value = referred(given, *frame.caller)) return value;
  for (const auto &byDefault : llvm::make_filter_range(frame.function->attribute_proto(), isReferred))
    return &byDefault;
  return nullptr;
}

/// Null when the attribute is not given, or after an error.
const onnx::AttributeProto *OnnxImporter::resolve(const onnx::AttributeProto &written, const Frame &frame,
                                                  const std::string &node) {
  if (!written.ref_attr_name().empty() && !frame.function)
    file.error(
        "COP205",
        formatv("attribute '{0}' refers to '{1}' outside of a function", written.name(), written.ref_attr_name()),
        node);
  const onnx::AttributeProto *attribute = referred(written, frame);
  if (!attribute || attribute == &written || typeOf(*attribute) != onnx::AttributeProto::GRAPH) return attribute;
  // Its names would be those of the caller.
  file.error(
      "COP202",
      formatv("attribute '{0}' is a graph that is passed to a function, which Coppice does not read", written.name()),
      node);
  return nullptr;
}

mlir::Attribute OnnxImporter::importAttribute(const onnx::AttributeProto &a, const std::string &node) {
  switch (typeOf(a)) {
  case onnx::AttributeProto::FLOAT:
    return b.getF32FloatAttr(a.f());
  case onnx::AttributeProto::INT:
    return b.getI64IntegerAttr(a.i());
  case onnx::AttributeProto::STRING:
    return b.getStringAttr(a.s());
  case onnx::AttributeProto::TENSOR:
    return tensors.read(a.t(), a.t().name().empty() ? a.name() : a.t().name(), formatv("attribute '{0}'", a.name()),
                        node);
  case onnx::AttributeProto::FLOATS:
    return b.getDenseF32ArrayAttr(llvm::ArrayRef(a.floats().data(), a.floats_size()));
  case onnx::AttributeProto::INTS:
    return b.getDenseI64ArrayAttr(llvm::ArrayRef(a.ints().data(), a.ints_size()));
  case onnx::AttributeProto::STRINGS:
    return b.getStrArrayAttr(llvm::SmallVector<StringRef>(a.strings().begin(), a.strings().end()));
  case onnx::AttributeProto::TYPE_PROTO: {
    Type type = types.value(a.tp(), formatv("attribute '{0}'", a.name()), node);
    return type ? mlir::TypeAttr::get(type) : mlir::Attribute();
  }
  default:
    file.error("COP202",
               formatv("attribute '{0}' has type {1}, which Coppice does not read", a.name(),
                       onnx::AttributeProto::AttributeType_Name(typeOf(a))),
               node);
    return {};
  }
}

} // namespace

ImportedGraph coppice::importOnnx(llvm::MemoryBufferRef buffer, mlir::MLIRContext &context, Diagnostics &diagnostics) {
  ImportedGraph result;
  OnnxFile file{buffer, context, diagnostics, result};
  StringRef contents = buffer.getBuffer();
  auto fail = [&](std::string message, std::optional<uint64_t> offset = {}, std::string help = {}) {
    Place place = file.place();
    place.offset = offset;
    diagnostics.error("COP205", std::move(message), std::move(place), std::move(help));
    return std::move(result);
  };
  if (contents.empty()) return fail("not an ONNX model: the file is empty");
  // https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
  if (contents.starts_with("version https://git-lfs"))
    return fail("not an ONNX model: the file is a Git LFS pointer to one", {}, "git lfs pull");

  std::string weightless;
  if (WireError error = copyWithoutWeights(contents, weightless); !error.message.empty())
    return fail("not an ONNX model, or a damaged one: " + error.message, error.offset);
  if (weightless.size() > static_cast<size_t>(std::numeric_limits<int>::max())) { // protobuf's own limit
    diagnostics.error(
        "COP208", "the model has more than 2 GiB besides raw_data; weights of this size must be raw_data or external",
        file.place());
    return result;
  }
  onnx::ModelProto model;
  if (!model.ParseFromString(weightless)) return fail("not an ONNX model, or a damaged one: a field cannot be decoded");
  if (!model.has_graph()) return fail("the model has no graph (field 7 of ModelProto)");
  if (!model.graph().node_size()) return fail("the model's graph has no nodes");

  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    auto node = d.getLocation()->findInstanceOf<mlir::NameLoc>();
    file.error("COP205", "the model does not make a valid graph: " + d.str(), node ? node.getName().str() : "");
    return mlir::success();
  });
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  result.module = OnnxImporter(file, model).run();
  if (result.module && mlir::failed(mlir::verify(*result.module))) result.module = {};
  return result;
}
