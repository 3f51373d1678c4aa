// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/resolve_kernels.h"
#include "analysis/graph/unknown_type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"
#include <map>
#include <set>

using namespace llvm;
using mlir::Operation;

namespace coppice {

std::string dtypeName(mlir::Type type) {
  if (auto integer = dyn_cast<mlir::IntegerType>(type)) {
    unsigned width = integer.getWidth();
    if (width == 1) return "i1";
    if (width != 8 && width != 16 && width != 32 && width != 64) return "";
    return (integer.isUnsigned() ? "ui" : "i") + std::to_string(width);
  }
  if (type.isF32()) return "f32";
  if (type.isF64()) return "f64";
  if (type.isF16()) return "f16";
  if (type.isBF16()) return "bf16";
  return "";
}

Place placeOf(mlir::Location location) {
  Place place;
  location->walk([&](mlir::Location l) {
    if (auto name = dyn_cast<mlir::NameLoc>(l)) {
      if (place.node.empty()) place.node = name.getName().str();
    } else if (auto file = dyn_cast<mlir::FileLineColLoc>(l)) {
      if (place.file.empty()) {
        place.file = file.getFilename().str();
        place.line = file.getLine();
        place.column = file.getColumn();
      }
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  if (place.line) place.node.clear(); // a line says it better
  return place;
}

mlir::FunctionOpInterface graphFunction(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::FunctionOpInterface>())
    if (function.isPublic() && !function.isExternal()) return function;
  return {};
}

bool isStructural(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return isa<mlir::arith::ConstantOp, mlir::func::ReturnOp, mlir::func::CallOp, mlir::func::FuncOp, mlir::ModuleOp>(
             op) ||
         StringSwitch<bool>(name).Cases({"onnx.None", "onnx.If"}, true).Default(name.ends_with(".Yield"));
}

namespace {

std::string typeText(mlir::Type type) {
  std::string text;
  raw_string_ostream(text) << type;
  return text;
}

std::string typesText(Operation *op) {
  std::string text = "(";
  raw_string_ostream os(text);
  interleaveComma(op->getOperandTypes(), os);
  os << ") -> ";
  if (op->getNumResults() != 1) os << "(";
  interleaveComma(op->getResultTypes(), os);
  if (op->getNumResults() != 1) os << ")";
  // Of the dtypes that only the kernels of other ops will tell, a reader need not know our name.
  for (size_t at; (at = text.find("!coppice.unknown")) != std::string::npos;)
    text.replace(at, strlen("!coppice.unknown"), "?");
  return text;
}

bool isUnknownType(mlir::Type element) { return element == unknownElementType(element.getContext()); }

bool isAbsent(mlir::Type type) { return isa<mlir::NoneType>(type); }

mlir::Type elementTypeFor(StringRef dtype, mlir::MLIRContext *context) {
  if (dtype == "f32") return mlir::Float32Type::get(context);
  if (dtype == "f64") return mlir::Float64Type::get(context);
  if (dtype == "f16") return mlir::Float16Type::get(context);
  if (dtype == "bf16") return mlir::BFloat16Type::get(context);
  bool isUnsigned = dtype.consume_front("u");
  unsigned width = 0;
  dtype.drop_front(1).getAsInteger(10, width);
  return mlir::IntegerType::get(context, width, isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless);
}

// ---- attributes ----------------------------------------------------------------------------------------------------

bool listDefault(StringRef text, std::vector<double> &out) {
  text = text.drop_front(1).drop_back(1).trim();
  while (!text.empty()) {
    auto [head, tail] = text.split(',');
    double value;
    if (head.trim().getAsDouble(value)) return false;
    out.push_back(value);
    text = tail.trim();
  }
  return true;
}

AttributeValue valueFromText(const Parameter &p) {
  using Type = Parameter::AttributeType;
  AttributeValue v;
  v.type = p.type;
  StringRef text = p.value;
  switch (p.type) {
  case Type::I64:
    (void)text.getAsInteger(0, v.integer);
    break;
  case Type::I1:
    v.integer = text == "true" || text == "1";
    break;
  case Type::F64:
    (void)text.getAsDouble(v.number);
    break;
  case Type::String:
    v.text = p.value;
    break;
  case Type::ListI64:
  case Type::ListF32: {
    std::vector<double> list;
    listDefault(text, list);
    for (double d : list) {
      v.integers.push_back(int64_t(d));
      v.numbers.push_back(float(d));
    }
    break;
  }
  }
  return v;
}

// The attribute as the type that a kernel wants, or nothing if it is of another kind.
std::optional<AttributeValue> convertAttribute(mlir::Attribute attribute, Parameter::AttributeType type) {
  using Type = Parameter::AttributeType;
  AttributeValue v;
  v.type = type;
  switch (type) {
  case Type::I64:
  case Type::I1:
    if (auto i = dyn_cast<mlir::IntegerAttr>(attribute)) {
      if (i.getValue().getSignificantBits() > 64) return std::nullopt;
      v.integer = isa<mlir::IntegerType>(i.getType()) && i.getType().isInteger(1) ? i.getValue().getZExtValue()
                                                                                  : i.getValue().getSExtValue();
      return v;
    }
    return std::nullopt;
  case Type::F64:
    if (auto f = dyn_cast<mlir::FloatAttr>(attribute)) {
      v.number = f.getValueAsDouble();
      return v;
    }
    return std::nullopt;
  case Type::String:
    if (auto s = dyn_cast<mlir::StringAttr>(attribute)) {
      v.text = s.getValue().str();
      return v;
    }
    return std::nullopt;
  case Type::ListI64:
    if (auto list = dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
      v.integers.assign(list.asArrayRef().begin(), list.asArrayRef().end());
      return v;
    }
    if (auto list = dyn_cast<mlir::DenseI32ArrayAttr>(attribute)) {
      v.integers.assign(list.asArrayRef().begin(), list.asArrayRef().end());
      return v;
    }
    if (auto list = dyn_cast<mlir::ArrayAttr>(attribute)) {
      for (mlir::Attribute element : list) {
        auto i = dyn_cast<mlir::IntegerAttr>(element);
        if (!i) return std::nullopt;
        v.integers.push_back(i.getInt());
      }
      return v;
    }
    if (auto dense = dyn_cast<mlir::DenseIntElementsAttr>(attribute)) {
      if (dense.getType().getRank() != 1 || dense.getElementType().getIntOrFloatBitWidth() > 64) return std::nullopt;
      for (const APInt &i : dense) v.integers.push_back(i.getSExtValue());
      return v;
    }
    return std::nullopt;
  case Type::ListF32:
    if (auto list = dyn_cast<mlir::DenseF32ArrayAttr>(attribute)) {
      v.numbers.assign(list.asArrayRef().begin(), list.asArrayRef().end());
      return v;
    }
    if (auto list = dyn_cast<mlir::DenseF64ArrayAttr>(attribute)) {
      for (double d : list.asArrayRef()) v.numbers.push_back(float(d));
      return v;
    }
    if (auto list = dyn_cast<mlir::ArrayAttr>(attribute)) {
      for (mlir::Attribute element : list) {
        auto f = dyn_cast<mlir::FloatAttr>(element);
        if (!f) return std::nullopt;
        v.numbers.push_back(float(f.getValueAsDouble()));
      }
      return v;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

bool sameValue(const AttributeValue &a, const AttributeValue &b) {
  using Type = Parameter::AttributeType;
  switch (a.type) {
  case Type::I64:
  case Type::I1:
    return a.integer == b.integer;
  case Type::F64:
    return a.number == b.number;
  case Type::String:
    return a.text == b.text;
  case Type::ListI64:
    return a.integers == b.integers;
  case Type::ListF32:
    return a.numbers == b.numbers;
  }
  return false;
}

const char *typeName(Parameter::AttributeType type) {
  static const char *const names[] = {"i64", "f64", "i1", "string", "list i64", "list f32"};
  return names[int(type)];
}

// ---- one kernel against one op -------------------------------------------------------------------------------------

struct Fit {
  std::string why;   // why it does not fit; empty: it does
  bool near = false; // of the same op, and only types, versions or the target differ
  unsigned exactDtypes = 0, exactRanks = 0, constraints = 0;
  std::vector<AttributeValue> attributes;
  std::vector<TensorSpec> results; // for each result of the op, with "any" replaced
};

class Matcher {
public:
  Matcher(const KernelDescriptor &kernel, Operation *op) : kernel(kernel), op(op) {}

  Fit match() {
    (void)(matchVersion() && matchOperands() && matchResults() && matchAttributes());
    return std::move(fit);
  }

private:
  bool no(const Twine &why) {
    fit.why = why.str();
    return false;
  }

  bool matchVersion() {
    auto version = op->getAttrOfType<mlir::IntegerAttr>("coppice.version");
    if (!version || kernel.versionsText.empty()) return true;
    if (kernel.versions.contains(unsigned(version.getInt()))) return true;
    return no("version: have " + kernel.versionsText + ", need " + Twine(version.getInt()));
  }

  bool bindAny(StringRef variable, const std::string &dtype, const Twine &where) {
    std::string &bound = variable == "any" ? any : any2;
    if (bound.empty()) bound = dtype;
    if (!dtype.empty() && bound != dtype) return no(where + ": have " + bound + " as for the others, need " + dtype);
    return true;
  }

  bool matchTensor(const TensorSpec &spec, mlir::Type type, const Twine &where) {
    auto tensor = dyn_cast<mlir::TensorType>(type);
    if (!tensor) return no(where + ": have a tensor, need " + typeText(type));
    std::string dtype = dtypeName(tensor.getElementType());
    if (dtype.empty() && !isUnknownType(tensor.getElementType()))
      return no(where + ": have " + spec.dtype + ", need " + typeText(tensor.getElementType()));
    if (spec.isAny()) {
      if (!bindAny(spec.dtype, dtype, where)) return false;
    } else if (!dtype.empty() && dtype != spec.dtype) {
      return no(where + ": have " + spec.dtype + ", need " + dtype);
    } else {
      fit.exactDtypes += !dtype.empty();
    }
    if (spec.rank >= 0 && tensor.hasRank()) {
      if (tensor.getRank() != spec.rank)
        return no(where + ": have rank " + Twine(spec.rank) + ", need rank " + Twine(tensor.getRank()));
      ++fit.exactRanks;
    }
    return true;
  }

  bool matchOperands() {
    unsigned fixed = 0, minimum = 0, inputs = 0;
    const Parameter *variadic = nullptr;
    for (const Parameter &p : kernel.signature.parameters) {
      if (!p.isInput()) continue;
      ++inputs;
      if (p.kind == Parameter::Kind::VariadicIn)
        variadic = &p;
      else {
        ++fixed;
        minimum += p.kind != Parameter::Kind::OptionalIn;
      }
    }
    unsigned count = op->getNumOperands();
    if ((!variadic && count > inputs) || count < minimum)
      return no("operands: have " + Twine(minimum) +
                (variadic            ? " or more"
                 : inputs != minimum ? " to " + std::to_string(inputs)
                                     : std::string()) +
                ", need " + Twine(count));
    unsigned next = 0;
    for (const Parameter &p : kernel.signature.parameters) {
      if (!p.isInput()) continue;
      unsigned take = p.kind == Parameter::Kind::VariadicIn ? (count > fixed ? count - fixed : 0) : 1;
      for (; take; --take, ++next) {
        std::string where = "operand " + std::to_string(next + 1);
        bool absent = next >= count || isAbsent(op->getOperand(next).getType());
        if (absent) {
          if (p.kind != Parameter::Kind::OptionalIn) return no(where + ": have " + p.tensor.str() + ", it is absent");
          continue;
        }
        if (!matchTensor(p.tensor, op->getOperand(next).getType(), where)) return false;
      }
    }
    return true;
  }

  bool matchResults() {
    unsigned next = 0, count = op->getNumResults();
    for (const Parameter &p : kernel.signature.parameters) {
      if (!p.isOutput()) continue;
      unsigned take = p.kind == Parameter::Kind::VariadicOut ? count - std::min(count, next) : 1;
      for (; take; --take, ++next) {
        std::string where = "result " + std::to_string(next + 1);
        if (next >= count || isAbsent(op->getResult(next).getType())) {
          if (p.kind == Parameter::Kind::Out || p.kind == Parameter::Kind::InOut)
            return no(where + ": have " + p.tensor.str() + ", the op has none");
          if (next < count) fit.results.push_back(p.tensor);
          continue;
        }
        TensorSpec spec = p.tensor;
        if (spec.isAny()) spec.dtype = spec.dtype == "any" ? any : any2;
        auto tensor = dyn_cast<mlir::TensorType>(op->getResult(next).getType());
        if (!tensor) return no(where + ": have a tensor, need " + typeText(op->getResult(next).getType()));
        std::string dtype = dtypeName(tensor.getElementType());
        if (dtype.empty() && !isUnknownType(tensor.getElementType()))
          return no(where + ": have " + spec.dtype + ", need " + typeText(tensor.getElementType()));
        if (!dtype.empty() && !spec.dtype.empty() && dtype != spec.dtype)
          return no(where + ": have " + spec.dtype + ", need " + dtype);
        if (spec.rank >= 0 && tensor.hasRank() && tensor.getRank() != spec.rank)
          return no(where + ": have rank " + Twine(spec.rank) + ", need rank " + Twine(tensor.getRank()));
        fit.results.push_back(spec);
      }
    }
    if (next < count) return no("results: have " + Twine(next) + ", need " + Twine(count));
    return true;
  }

  bool matchAttributes() {
    SmallVector<StringRef, 8> taken;
    for (const Parameter &p : kernel.signature.parameters) {
      if (p.kind != Parameter::Kind::Attribute) continue;
      taken.push_back(p.name);
      mlir::Attribute attribute = op->getAttr(p.name);
      if (!attribute) {
        if (p.isConstraint) return no("attribute '" + p.name + "': have only " + p.value + ", the op has none");
        if (!p.hasDefault) return no("attribute '" + p.name + "' is wanted, the op has none");
        fit.attributes.push_back(valueFromText(p));
        continue;
      }
      auto value = convertAttribute(attribute, p.type);
      if (!value)
        return no("attribute '" + p.name + "': have " + typeName(p.type) + ", need " + attributeText(attribute));
      if (p.isConstraint) {
        if (!sameValue(valueFromText(p), *value))
          return no("attribute '" + p.name + "': have only " + p.value + ", need " + attributeText(attribute));
        ++fit.constraints;
      }
      fit.attributes.push_back(std::move(*value));
    }
    for (mlir::NamedAttribute named : op->getAttrs()) {
      StringRef name = named.getName();
      if (!name.starts_with("coppice.") && !is_contained(taken, name))
        return no("attribute '" + name + "' is unknown to it");
    }
    return true;
  }

  static std::string attributeText(mlir::Attribute attribute) {
    std::string text;
    raw_string_ostream(text) << attribute;
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
  }

  const KernelDescriptor &kernel;
  Operation *op;
  Fit fit;
  std::string any, any2;
};

// ---- all kernels against all ops -----------------------------------------------------------------------------------

struct Missing { // one op with one set of types; everything that is to be said about it
  Operation *first = nullptr;
  std::vector<Place> places;
  std::vector<Note> reasons; // kernels of the same name that do not fit
  bool onlyTarget = false;   // a kernel fits, for other targets
  std::string targetHave;
};

class Resolver {
public:
  Resolver(ResolvedGraph &graph, KernelIndex &index, const ResolveOptions &options, Diagnostics &diagnostics)
      : graph(graph), index(index), options(options), diagnostics(diagnostics) {}

  bool run() {
    for (auto function : graph.module.getOps<mlir::FunctionOpInterface>())
      for (mlir::Block &block : function.getFunctionBody()) resolveBlock(block);
    report();
    return !failed && missing.empty();
  }

private:
  void resolveBlock(mlir::Block &block) {
    for (Operation &op : block) {
      for (mlir::Region &region : op.getRegions())
        for (mlir::Block &inner : region) resolveBlock(inner);
      if (op.getName().getStringRef() == "onnx.If") typeConditional(op);
      if (!isStructural(&op)) resolveOp(op);
    }
  }

  // The results of a conditional have the types that both branches yield.
  static void typeConditional(Operation &op) {
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      auto type = dyn_cast<mlir::TensorType>(op.getResult(i).getType());
      if (!type || !isUnknownType(type.getElementType())) continue;
      for (mlir::Region &region : op.getRegions()) {
        if (region.empty() || region.front().empty()) continue;
        Operation &yield = region.front().back();
        if (i >= yield.getNumOperands()) continue;
        auto inner = dyn_cast<mlir::TensorType>(yield.getOperand(i).getType());
        if (!inner || isUnknownType(inner.getElementType())) continue;
        op.getResult(i).setType(mlir::UnrankedTensorType::get(inner.getElementType()));
        break;
      }
    }
  }

  static bool hasUnknownOperand(Operation &op) {
    return any_of(op.getOperandTypes(), [](mlir::Type t) { return hasUnknownElementType(t); });
  }

  bool wantedTarget(const KernelDescriptor &kernel) const {
    if (!kernel.level) return false;
    return options.cpuLevels.empty() || kernel.level <= options.cpuLevels.back();
  }

  void resolveOp(Operation &op) {
    StringRef name = op.getName().getStringRef();
    if (op.getNumRegions() || op.getNumSuccessors()) { // a kernel is given tensors, no code
      Diagnostic d;
      d.code = "COP202";
      d.message =
          ("graph '" + graph.name + "': op '" + name + "' is control flow, and only onnx.If can be run yet").str();
      d.place = placeOf(op.getLoc());
      reportOnce(std::move(d));
      poisoned = true;
      return;
    }
    const auto &candidates = index.kernelsFor(name, diagnostics);
    struct Group {
      Fit fit;
      std::vector<const KernelDescriptor *> kernels;
    };
    // Kernels of one signature and range of versions differ in target or library only.
    MapVector<std::string, Group, std::map<std::string, unsigned>> groups;
    Missing missed;
    for (const KernelDescriptor *kernel : candidates) {
      Fit fit = Matcher(*kernel, &op).match();
      if (!fit.why.empty()) {
        missed.reasons.push_back({kernel->library + " has " + kernelName(*kernel) + ", but " + fit.why, {}});
        continue;
      }
      Group &group = groups[kernel->signature.text + '\n' + kernel->versionsText];
      if (group.kernels.empty()) group.fit = std::move(fit);
      group.kernels.push_back(kernel);
    }
    if (groups.empty() && index.hasDamaged(name)) { // which has been reported, and is perhaps the one that would fit
      failed = poisoned = true;
      return;
    }
    if (groups.empty()) {
      // What an op without a kernel leaves open must not make its users look wrong as well.
      if (candidates.empty() || !hasUnknownOperand(op) || !poisoned) addMissing(op, std::move(missed));
      poisoned = true;
      return;
    }
    auto better = [](const Group &a, const Group &b) {
      auto rank = [](const Group &g) {
        return std::tuple(g.fit.exactDtypes, g.fit.exactRanks, g.fit.constraints, g.kernels.front()->versions.first);
      };
      return rank(a) > rank(b);
    };
    Group *best = nullptr, *rival = nullptr;
    for (auto &[key, group] : groups) {
      if (!best || better(group, *best)) {
        best = &group;
        rival = nullptr;
      } else if (!better(*best, group)) {
        rival = &group;
      }
    }
    if (rival) {
      if (poisoned && hasUnknownOperand(op)) return;
      Diagnostic d;
      d.code = "COP102";
      d.message = ("two kernels fit op '" + name + "' equally well").str();
      d.place = placeOf(op.getLoc());
      for (Group *g : {best, rival})
        d.notes.push_back({g->kernels.front()->library + " has " + kernelName(*g->kernels.front()) + ": " +
                               g->kernels.front()->signature.text,
                           {}});
      d.help = "make one signature more exact (a dtype instead of any, a rank instead of *)";
      reportOnce(std::move(d));
      return;
    }

    KernelChoice choice;
    choice.attributes = std::move(best->fit.attributes);
    if (!chooseTargets(op, best->kernels, choice)) return;
    setResultTypes(op, best->fit, *choice.kernels.front());
    graph.choices[&op] = std::move(choice);
  }

  static std::string kernelName(const KernelDescriptor &kernel) {
    return kernel.op + (kernel.variant.empty() ? "" : "$" + kernel.variant);
  }

  // An object on the command line beats archives; of two archives --prefer-kernel decides. Then one kernel a level.
  bool chooseTargets(Operation &op, std::vector<const KernelDescriptor *> kernels, KernelChoice &choice) {
    StringRef name = op.getName().getStringRef();
    for (const auto &[wantedOp, library] : options.preferKernels)
      if (name == wantedOp) {
        auto isPreferred = [&](const KernelDescriptor *k) {
          return k->library == library || sys::path::filename(k->library) == library;
        };
        if (any_of(kernels, isPreferred)) erase_if(kernels, [&](const KernelDescriptor *k) { return !isPreferred(k); });
      }
    auto inArchive = [](const KernelDescriptor *k) { return k->inArchive; };
    if (any_of(kernels, inArchive) && !all_of(kernels, inArchive)) {
      const KernelDescriptor *object = *find_if_not(kernels, inArchive), *archive = *find_if(kernels, inArchive);
      Diagnostic d;
      d.severity = Severity::Note;
      d.message = ("'" + name + "' comes from " + object->object.name + ", which is on the command line; " +
                   archive->library + " has it too")
                      .str();
      reportOnce(std::move(d));
      erase_if(kernels, inArchive);
    }
    std::vector<const KernelDescriptor *> usable;
    for (const KernelDescriptor *k : kernels)
      if (wantedTarget(*k)) usable.push_back(k);
    unsigned baseline = options.cpuLevels.empty() ? 1 : options.cpuLevels.front();
    if (none_of(usable, [&](const KernelDescriptor *k) { return k->level <= baseline; })) {
      Missing missed;
      missed.onlyTarget = true;
      for (const KernelDescriptor *k : kernels) {
        missed.targetHave += (missed.targetHave.empty() ? "" : ", ") + k->target;
        missed.reasons.push_back({k->library + " has " + kernelName(*k) + ", but target: have " + k->target +
                                      ", need " + levelName(baseline),
                                  {}});
      }
      addMissing(op, std::move(missed));
      return false;
    }
    llvm::stable_sort(usable, [](auto *a, auto *b) { return a->level > b->level; });
    for (size_t i = 0; i < usable.size(); ++i) {
      const KernelDescriptor *k = usable[i];
      if (i && usable[i - 1]->level == k->level) {
        Diagnostic d;
        d.code = "COP103";
        d.message = ("two libraries define a kernel for op '" + name + "' with the same signature").str();
        d.place = placeOf(op.getLoc());
        for (const KernelDescriptor *both : {usable[i - 1], k})
          d.notes.push_back({both->object.name + " has " + kernelName(*both) + ": " + both->signature.text, {}});
        d.help =
            ("say which one wins: --prefer-kernel=" + name + "=" + sys::path::filename(usable[i - 1]->library)).str();
        reportOnce(std::move(d));
        return false;
      }
    }
    // Of the wanted levels, each takes the highest kernel that it can run; with no list every level is wanted.
    for (const KernelDescriptor *k : usable) {
      bool wanted = options.cpuLevels.empty();
      for (unsigned level : options.cpuLevels) {
        auto serving = find_if(usable, [&](const KernelDescriptor *other) { return other->level <= level; });
        wanted |= serving != usable.end() && *serving == k;
      }
      if (wanted) choice.kernels.push_back(k);
      if (options.cpuLevels.empty() && k->level == 1) break;
    }
    return true;
  }

  static std::string levelName(unsigned level) { return level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level); }

  static void setResultTypes(Operation &op, const Fit &fit, const KernelDescriptor &kernel) {
    mlir::MLIRContext *context = op.getContext();
    // A typed kernel without a shape function makes results of the shape that its operands of that rank share.
    auto sharedShape = [&](int64_t rank) -> std::optional<SmallVector<int64_t>> {
      std::optional<SmallVector<int64_t>> shape;
      for (mlir::Type type : op.getOperandTypes()) {
        auto ranked = dyn_cast<mlir::RankedTensorType>(type);
        if (!ranked) {
          if (!isAbsent(type)) return std::nullopt;
          continue;
        }
        if (rank >= 0 && ranked.getRank() != rank) continue;
        if (!ranked.hasStaticShape() || (shape && ArrayRef<int64_t>(*shape) != ranked.getShape())) return std::nullopt;
        shape.emplace(ranked.getShape());
      }
      return shape;
    };
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      auto type = dyn_cast<mlir::TensorType>(op.getResult(i).getType());
      if (!type) continue;
      const TensorSpec &spec = fit.results[i];
      mlir::Type element = type.getElementType();
      if (isUnknownType(element)) {
        if (spec.dtype.empty()) continue; // any of an absent operand: stays open, and is reported where it matters
        element = elementTypeFor(spec.dtype, context);
      }
      std::optional<SmallVector<int64_t>> shape;
      if (auto ranked = dyn_cast<mlir::RankedTensorType>(type))
        shape.emplace(ranked.getShape());
      else if (spec.rank >= 0)
        shape.emplace(size_t(spec.rank), mlir::ShapedType::kDynamic);
      if (!(kernel.flags & 2 /* COPPICE_ALLOCATES */) && (!shape || is_contained(*shape, mlir::ShapedType::kDynamic)))
        if (auto shared = sharedShape(shape ? int64_t(shape->size()) : -1)) shape = shared;
      op.getResult(i).setType(shape ? mlir::Type(mlir::RankedTensorType::get(*shape, element))
                                    : mlir::Type(mlir::UnrankedTensorType::get(element)));
    }
  }

  void reportOnce(Diagnostic d) {
    failed |= d.severity == Severity::Error;
    std::string key = d.code + d.message;
    for (const Note &note : d.notes) key += note.message;
    if (reported.insert(key).second) diagnostics.report(std::move(d));
  }

  void addMissing(Operation &op, Missing missed) {
    std::string key = op.getName().getStringRef().str() + typesText(&op);
    for (const Note &reason : missed.reasons) key += '\n' + reason.message; // attributes may differ
    auto [it, isNew] = missing.insert({key, std::move(missed)});
    if (isNew) it->second.first = &op;
    it->second.places.push_back(placeOf(op.getLoc()));
  }

  void report() {
    for (auto &[key, m] : missing) {
      Operation *op = m.first;
      StringRef name = op->getName().getStringRef();
      Diagnostic d;
      d.code = m.onlyTarget ? "COP107" : "COP101";
      d.message = ((m.onlyTarget ? "no kernel for the wanted target for op '" : "no kernel for op '") + name + "' " +
                   typesText(op) + " in graph '" + graph.name + "'")
                      .str();
      d.place = m.places.front();
      for (size_t i = 1; i < std::min<size_t>(3, m.places.size()); ++i)
        d.notes.push_back({"also used here", m.places[i]});
      if (m.places.size() > 3) d.notes.push_back({"+" + std::to_string(m.places.size() - 3) + " more", {}});
      for (size_t i = 0; i < m.reasons.size() && i < 4; ++i) d.notes.push_back(m.reasons[i]);
      if (m.reasons.size() > 4)
        d.notes.push_back(
            {"+" + std::to_string(m.reasons.size() - 4) + " more kernels for this op that do not fit", {}});
      std::vector<KernelIndex::NearName> near;
      if (m.reasons.empty()) near = index.nearest(name);
      for (const auto &n : near) d.notes.push_back({"did you mean '" + n.op + "'? It is defined in " + n.library, {}});
      std::string searched, skipped;
      auto append = [](std::string &list, const std::string &path, const std::string &what) {
        list += (list.empty() ? "" : ", ") + path + " (" + what + ")";
      };
      for (const KernelLibrary &library : index.libraries()) {
        if (library.kernels)
          append(searched, library.path,
                 std::to_string(library.kernels) + (library.kernels == 1 ? " kernel" : " kernels"));
        if (!library.skipped.empty()) append(skipped, library.path, library.skipped);
      }
      d.notes.push_back(
          {searched.empty() ? "no object or library of this link defines a kernel" : "searched " + searched, {}});
      if (!skipped.empty()) d.notes.push_back({"skipped " + skipped, {}});
      d.help = help(op, m, near);
      diagnostics.report(std::move(d));
    }
  }

  std::string help(Operation *op, const Missing &m, const std::vector<KernelIndex::NearName> &near) const {
    StringRef name = op->getName().getStringRef();
    bool searchedOnnx = any_of(
        index.libraries(), [](const KernelLibrary &l) { return sys::path::filename(l.path) == "libcoppice_onnx.a"; });
    if (m.onlyTarget && !m.targetHave.empty() && StringRef(m.targetHave).starts_with("x86-64"))
      return "link for a CPU that has it: --target=cpu:" + StringRef(m.targetHave).split(',').first.str() +
             ", or build the kernel for plain x86-64 too";
    if (name.starts_with("onnx.") && !searchedOnnx) return "add -lcoppice_onnx to the link command";
    if (!near.empty())
      return "write \"" + near.front().op + "\" in the graph, or link a library that defines '" + name.str() + "'";
    return "define one: " + kernelToFillIn(op, !m.reasons.empty());
  }

  // A kernel of exactly these types, as a line of C++ that compiles as it is. As a variant where there are kernels for
  // the op.
  std::string kernelToFillIn(Operation *op, bool asVariant) const {
    std::string parameters, attributes, variant;
    raw_string_ostream os(parameters);
    unsigned n = 0;
    auto addTensor = [&](mlir::Type type, StringRef kind) {
      auto tensor = dyn_cast<mlir::TensorType>(type);
      if (!tensor) return;
      static const std::pair<StringRef, StringRef> cxx[] = {
          {"f32", "float"},         {"f64", "double"},    {"i1", "bool"},       {"i8", "int8_t"},
          {"i16", "int16_t"},       {"i32", "int32_t"},   {"i64", "int64_t"},   {"ui8", "uint8_t"},
          {"ui16", "uint16_t"},     {"ui32", "uint32_t"}, {"ui64", "uint64_t"}, {"f16", "coppice::f16"},
          {"bf16", "coppice::bf16"}};
      std::string dtype = dtypeName(tensor.getElementType());
      StringRef element = "float";
      for (auto [mlirName, cxxName] : cxx)
        if (dtype == mlirName) element = cxxName;
      if (variant.empty()) variant = dtype;
      os << (n ? ", " : "") << "coppice::" << kind << "<" << element;
      if (tensor.hasRank()) os << ", " << tensor.getRank();
      os << "> " << char('a' + int(n % 26));
      ++n;
    };
    for (mlir::Type type : op->getOperandTypes()) addTensor(type, "in");
    for (mlir::Type type : op->getResultTypes()) addTensor(type, "out");
    for (mlir::NamedAttribute named : op->getAttrs()) {
      if (named.getName().getValue().starts_with("coppice.")) continue;
      using Type = Parameter::AttributeType;
      static const std::pair<Type, StringRef> cxx[] = {{Type::I64, "int64_t"},
                                                       {Type::F64, "double"},
                                                       {Type::String, "coppice::list<char>"},
                                                       {Type::ListI64, "coppice::list<int64_t>"},
                                                       {Type::ListF32, "coppice::list<float>"}};
      bool isBool = isa<mlir::BoolAttr>(named.getValue());
      for (auto [type, name] : cxx)
        if (convertAttribute(named.getValue(), type)) {
          os << (n++ ? ", " : "") << (isBool ? "bool" : name) << " " << symbolNameOfOp(named.getName().getValue())
             << (named.getName().getValue().size() == 1 ? "_" : ""); // tensors are a, b, c
          attributes += ", \"" + named.getName().str() + "\"";
          break;
        }
    }
    std::string symbol = symbolNameOfOp(op->getName().getStringRef()), function = symbol;
    std::replace(function.begin(), function.end(), '.', '_');
    std::string macro = "COPPICE_KERNEL(\"" + symbol + "\", ";
    if (asVariant) {
      if (variant.empty()) variant = "other";
      std::string stem = variant; // a symbol that is free
      for (unsigned i = 2; index.defines("coppice.kernel." + symbol + "$" + variant); ++i)
        variant = stem + "_" + std::to_string(i);
      function += "_" + variant;
      macro = "COPPICE_VARIANT(\"" + symbol + "\", \"" + variant + "\", ";
    }
    return "static void " + function + "(" + parameters + ") { /* ... */ } " + macro + function + attributes + ");";
  }

  ResolvedGraph &graph;
  KernelIndex &index;
  const ResolveOptions &options;
  Diagnostics &diagnostics;
  MapVector<std::string, Missing, std::map<std::string, unsigned>> missing;
  std::set<std::string> reported;
  bool failed = false, poisoned = false;
};

} // namespace

bool resolveKernels(ResolvedGraph &graph, KernelIndex &index, const ResolveOptions &options, Diagnostics &diagnostics) {
  size_t before = 0;
  for (const Diagnostic &d : diagnostics.all()) before += d.severity == Severity::Error;
  bool ok = Resolver(graph, index, options, diagnostics).run();
  size_t after = 0;
  for (const Diagnostic &d : diagnostics.all()) after += d.severity == Severity::Error;
  return ok && before == after;
}

} // namespace coppice
