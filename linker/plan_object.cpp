// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/plan_object.h"
#include "analysis/graph/graph_section.h"
#include "linker/elf_object.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Builders.h"
#include "runtime-stub/runtime/plan.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace coppice {
namespace {

// Tables grow as their users need them; then each gets its place behind the header.
class Encoder {
public:
  explicit Encoder(const GraphPlan &plan) : plan(plan) {}

  void run() {
    for (const PlanValue &value : plan.values) addValue(value);
    for (const PlanOp &op : plan.ops) addOp(op);
    for (const PlanBlock &block : plan.blocks)
      blocks.push_back(
          {uint32_t(block.firstOp), uint32_t(block.opCount), addIndices(block.yields), uint32_t(block.yields.size())});
  }

  std::vector<coppice_plan_slot> slots;
  std::vector<std::string> kernels; // symbols
  std::vector<uint8_t> levels;
  std::vector<coppice_plan_value> values;
  std::vector<int64_t> shapes;
  std::vector<coppice_plan_op> ops;
  std::vector<coppice_plan_block> blocks;
  std::vector<uint32_t> indices;
  std::vector<coppice_plan_attribute> attributes;
  std::string data; // lists and strings: 8-byte aligned lists first come, strings between them
  // Attributes whose value is an offset into `data`, and ops' names: made absolute when `data` has its place.
  std::vector<size_t> listAttributes;

  uint32_t addString(StringRef s) {
    auto [it, isNew] = strings.try_emplace(s, uint32_t(data.size()));
    if (isNew) {
      data += s;
      data += '\0';
    }
    return it->second;
  }

private:
  void addValue(const PlanValue &value) {
    coppice_plan_value v = {};
    v.kind = value.kind == PlanValue::Kind::Argument   ? COPPICE_VALUE_ARGUMENT
             : value.kind == PlanValue::Kind::Constant ? COPPICE_VALUE_CONSTANT
                                                       : COPPICE_VALUE_INTERMEDIATE;
    v.code = value.code;
    v.bits = value.bits;
    v.rank = int8_t(value.rank);
    v.shape = COPPICE_NONE;
    if (value.rank >= 0) {
      v.shape = uint32_t(shapes.size());
      shapes.insert(shapes.end(), value.dims.begin(), value.dims.end());
    }
    v.offset = value.kind == PlanValue::Kind::Argument ? 0 : value.offset;
    values.push_back(v);
  }

  uint32_t addIndices(ArrayRef<int> list) {
    uint32_t at = uint32_t(indices.size());
    for (int v : list) indices.push_back(v < 0 ? COPPICE_NONE : uint32_t(v));
    return at;
  }

  uint32_t addSlot(const KernelChoice &choice) {
    std::string key;
    for (const KernelDescriptor *k : choice.kernels) key += k->symbol + "\n";
    auto [it, isNew] = slotIds.try_emplace(key, uint32_t(slots.size()));
    if (isNew) {
      slots.push_back({uint32_t(kernels.size()), uint32_t(choice.kernels.size())});
      for (const KernelDescriptor *k : choice.kernels) {
        kernels.push_back(k->symbol);
        levels.push_back(uint8_t(k->level));
      }
    }
    return it->second;
  }

  template <class T> void addList(coppice_plan_attribute &a, const std::vector<T> &list) {
    data.resize(alignTo(data.size(), 8));
    a.count = uint32_t(list.size());
    a.value.offset = data.size();
    data.append(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(T));
    listAttributes.push_back(attributes.size());
  }

  void addAttribute(const AttributeValue &value) {
    using Type = Parameter::AttributeType;
    coppice_plan_attribute a = {};
    switch (value.type) {
    case Type::I64:
    case Type::I1:
      a.kind = COPPICE_ATTRIBUTE_I64;
      a.value.i = value.integer;
      break;
    case Type::F64:
      a.kind = COPPICE_ATTRIBUTE_F64;
      a.value.f = value.number;
      break;
    case Type::String:
      a.kind = COPPICE_ATTRIBUTE_LIST;
      addList(a, std::vector<char>(value.text.begin(), value.text.end()));
      break;
    case Type::ListI64:
      a.kind = COPPICE_ATTRIBUTE_LIST;
      addList(a, value.integers);
      break;
    case Type::ListF32:
      a.kind = COPPICE_ATTRIBUTE_LIST;
      addList(a, value.numbers);
      break;
    }
    attributes.push_back(a);
  }

  void addOp(const PlanOp &op) {
    coppice_plan_op o = {};
    o.n_inputs = uint16_t(op.inputs.size());
    o.n_outputs = uint16_t(op.outputs.size());
    o.operands = addIndices(op.inputs);
    addIndices(op.outputs);
    o.n_releases = uint16_t(op.releases.size());
    o.releases = addIndices(op.releases);
    Place place = placeOf(op.op->getLoc());
    o.name = addString(place.line ? place.str() : place.node);
    o.op = addString(op.op->getName().getStringRef());
    if (op.choice) {
      o.slot = addSlot(*op.choice);
      o.attributes = uint32_t(attributes.size());
      o.n_attributes = uint16_t(op.choice->attributes.size());
      for (const AttributeValue &value : op.choice->attributes) addAttribute(value);
    } else {
      o.slot = COPPICE_OP_IF;
      o.attributes = uint32_t(op.thenBlock);
    }
    ops.push_back(o);
  }

  const GraphPlan &plan;
  StringMap<uint32_t> strings, slotIds;
};

template <class T> ArrayRef<char> bytesOf(const std::vector<T> &list) {
  return {reinterpret_cast<const char *>(list.data()), list.size() * sizeof(T)};
}

uint64_t hashOf(const GraphPlan &plan) {
  // Of the constants, not of the padding between them, so that the weights need not be gathered to be hashed.
  std::vector<uint64_t> hashes;
  for (const PlanConstant &constant : plan.constants)
    hashes.push_back(
        xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(constant.bytes().data()), constant.bytes().size())));
  return xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(hashes.data()), hashes.size() * sizeof(uint64_t)));
}

// The MLIR as bytecode, without the weights, each op with the kernel that was chosen for it.
std::string graphBytecode(const GraphPlan &plan, mlir::ModuleOp module) {
  mlir::Builder builder(module.getContext());
  for (const PlanOp &op : plan.ops)
    if (op.choice) {
      SmallVector<mlir::Attribute> symbols;
      for (const KernelDescriptor *k : op.choice->kernels)
        symbols.push_back(builder.getStringAttr(StringRef(k->symbol).drop_front(strlen("coppice.kernel."))));
      op.op->setAttr("coppice.kernel", builder.getArrayAttr(symbols));
    }
  std::string bytes;
  raw_string_ostream os(bytes);
  mlir::BytecodeWriterConfig config("Coppice " COPPICE_VERSION);
  config.setElideResourceDataFlag();
  if (failed(mlir::writeBytecodeToFile(module, os, config))) return {};
  return bytes;
}

} // namespace

Expected<PlanObject> writePlanObject(const GraphPlan &plan, mlir::ModuleOp module, const PlanObjectOptions &options) {
  PlanObject result;
  Encoder e(plan);
  e.run();
  uint32_t name = e.addString(plan.name), file = e.addString(plan.file);
  bool external = !options.weightsFile.empty() && plan.weightsBytes;
  uint32_t weightsFile = external ? e.addString(options.weightsFile) : 0;
  result.weightsBytes = plan.weightsBytes;
  result.weightsHash = external ? hashOf(plan) : 0;

  // Header, then the tables; those with 8-byte entries first.
  coppice_plan header = {};
  uint64_t end = sizeof header;
  auto place = [&](uint64_t bytes, uint64_t alignment) {
    uint64_t at = alignTo(end, alignment);
    end = at + bytes;
    return uint32_t(at);
  };
  header.kernels = place(e.kernels.size() * 8, 8);
  header.shapes = place(bytesOf(e.shapes).size(), 8);
  header.values = place(bytesOf(e.values).size(), 8);
  header.attributes = place(bytesOf(e.attributes).size(), 8);
  header.slots = place(bytesOf(e.slots).size(), 4);
  header.ops = place(bytesOf(e.ops).size(), 4);
  header.blocks = place(bytesOf(e.blocks).size(), 4);
  header.indices = place(bytesOf(e.indices).size(), 4);
  header.levels = place(e.levels.size(), 1);
  uint32_t data = place(e.data.size(), 8);
  if (end > UINT32_MAX)
    return createStringError("graph '" + plan.name + "' is too large: its plan would have " + Twine(end) + " bytes");
  header.abi = COPPICE_PLAN_ABI;
  header.header_size = sizeof header;
  header.total_size = uint32_t(end);
  header.weights_bytes = plan.weightsBytes;
  header.weights_hash = result.weightsHash;
  header.arena_bytes = plan.arenaBytes;
  header.name = data + name;
  header.file = data + file;
  header.weights_file = external ? data + weightsFile : COPPICE_NONE;
  header.n_kernels = uint32_t(e.kernels.size());
  header.n_values = uint32_t(e.values.size());
  header.n_ops = uint32_t(e.ops.size());
  header.n_blocks = uint32_t(e.blocks.size());
  header.n_arguments = uint32_t(plan.argumentCount);
  header.n_results = uint32_t(plan.blocks[0].yields.size());
  for (size_t i : e.listAttributes) e.attributes[i].value.offset += data;
  for (coppice_plan_op &op : e.ops) {
    op.name += data;
    op.op += data;
  }
  result.planBytes = end;

  ElfObject object;
  auto section = object.addSection(".data.rel.ro.coppice.plan." + plan.name, ELF::SHF_ALLOC | ELF::SHF_WRITE, 16, end);
  object.addPiece(section, 0, {reinterpret_cast<const char *>(&header), sizeof header});
  object.addPiece(section, header.shapes, bytesOf(e.shapes));
  object.addPiece(section, header.values, bytesOf(e.values));
  object.addPiece(section, header.attributes, bytesOf(e.attributes));
  object.addPiece(section, header.slots, bytesOf(e.slots));
  object.addPiece(section, header.ops, bytesOf(e.ops));
  object.addPiece(section, header.blocks, bytesOf(e.blocks));
  object.addPiece(section, header.indices, bytesOf(e.indices));
  object.addPiece(section, header.levels, bytesOf(e.levels));
  object.addPiece(section, data, {e.data.data(), e.data.size()});
  object.addGlobal("coppice.plan." + plan.name + ".needs_fuse_ld_coppice", section, 0, end);
  MapVector<StringRef, ElfObject::Symbol> symbols;
  for (size_t i = 0; i < e.kernels.size(); ++i) {
    auto [it, isNew] = symbols.insert({e.kernels[i], 0});
    if (isNew) it->second = object.addGlobal(e.kernels[i], ElfObject::undefined);
    object.addPointer(section, header.kernels + 8 * i, it->second);
  }
  if (external) {
    object.addPointer(section, offsetof(coppice_plan, open_weights),
                      object.addGlobal("coppice_open_weights", ElfObject::undefined, 0, 0, /*hidden=*/false));
  } else if (plan.weightsBytes) {
    // Large data has sections of its own, which lld keeps out of the way of 32-bit references.
    result.largeWeights = plan.weightsBytes >= uint64_t(256) << 20;
    bool large = result.largeWeights;
    auto weights =
        object.addSection((large ? ".lrodata.coppice.weights." : ".rodata.coppice.weights.") + plan.name,
                          ELF::SHF_ALLOC | (large ? uint64_t(ELF::SHF_X86_64_LARGE) : 0), 64, plan.weightsBytes);
    for (const PlanConstant &constant : plan.constants)
      object.addPiece(weights, plan.values[constant.value].offset, constant.bytes());
    object.addPointer(section, offsetof(coppice_plan, weights),
                      object.addLocal("coppice.weights." + plan.name, weights));
  }

  std::string record; // must live until the object is written
  if (!options.stripGraph) {
    record = makeGraphSectionRecord(plan.name, graphBytecode(plan, module));
    result.graphBytes = record.size();
    auto graph = object.addSection(graphSectionName, 0, 8, record.size());
    object.addPiece(graph, 0, {record.data(), record.size()});
    object.linkTo(graph, section);
  }
  object.addSection(".note.GNU-stack", 0, 1, 0);
  result.object = object.write(plan.name);
  if (!result.object) return createStringError("graph '" + plan.name + "': not enough memory");
  return result;
}

Expected<std::unique_ptr<FileOutputBuffer>> writeWeightsFile(const GraphPlan &plan, uint64_t hash, StringRef path) {
  coppice_weights_header header = {};
  memcpy(header.magic, "COPPICEW", 8);
  header.bytes = plan.weightsBytes;
  header.hash = hash;
  static_assert(sizeof header == 64);
  auto buffer = FileOutputBuffer::create(path, sizeof header + plan.weightsBytes);
  if (!buffer) return buffer.takeError();
  uint8_t *out = (*buffer)->getBufferStart();
  memcpy(out, &header, sizeof header);
  for (const PlanConstant &constant : plan.constants)
    memcpy(out + sizeof header + plan.values[constant.value].offset, constant.bytes().data(), constant.bytes().size());
  return std::move(*buffer);
}

} // namespace coppice
