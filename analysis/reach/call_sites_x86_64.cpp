// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/call_sites.h"
#include "analysis/reach/decode_x86_64.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace coppice {

std::optional<KnownMemory::Place> KnownMemory::placeOf(const Value &pointer) {
  if (pointer.kind == Value::Frame) return Place{true, pointer.frame, pointer.offset};
  if (pointer.kind == Value::Address && pointer.section) return Place{false, pointer.section, pointer.offset};
  return std::nullopt;
}

void KnownMemory::store(Place place, unsigned size, std::optional<Value> value) {
  Place from = place;
  from.offset -= 8; // no word is larger
  auto it = words.upper_bound(from);
  while (it != words.end() && it->first.isFrame == place.isFrame && it->first.space == place.space &&
         it->first.offset < place.offset + int64_t(size))
    it = it->first.offset + it->second.size > place.offset ? words.erase(it) : std::next(it);
  if (value) words[place] = {*value, size};
}

std::optional<Value> KnownMemory::load(Place place, unsigned size) const {
  auto it = words.find(place);
  if (it == words.end() || it->second.size != size) return std::nullopt;
  return it->second.value;
}

void KnownMemory::clearOtherFrames(uint32_t frame) {
  words.erase(firstFrame(), words.lower_bound({true, frame, INT64_MIN}));
  if (frame != UINT32_MAX) words.erase(words.lower_bound({true, frame + 1, INT64_MIN}), words.end());
}

void KnownMemory::clear(bool frames) { words.erase(words.begin(), frames ? words.end() : firstFrame()); }

CallTracker::CallTracker(const ObjectFile &object, Decoder &decoder) : object(object), decoder(decoder) {}

ArrayRef<uint32_t> CallTracker::relocationsOf(uint32_t section) {
  auto [it, isNew] = order.try_emplace(section);
  if (isNew) it->second = relocationsByOffset(object, section);
  return it->second;
}

bool CallTracker::isWritable(uint32_t section) const {
  return object.sections()[section].sh_flags & ELF::SHF_WRITE &&
         !object.sectionName(section).starts_with(".data.rel.ro");
}

bool CallTracker::isFollowed(const Value &value) const {
  return mayBeFunction(value) || (value.kind == Value::Address && value.section && isWritable(value.section));
}

bool CallTracker::mayBeFunction(const Value &value) const {
  if (value.kind != Value::Address) return false;
  return value.section ? object.sections()[value.section].sh_flags & ELF::SHF_EXECINSTR : value.symbol != 0;
}

std::optional<Value> CallTracker::target(uint32_t section, uint32_t relocation, unsigned fieldToEnd) const {
  const ObjectFile::Relocation &r = object.relocations(section)[relocation];
  switch (r.getType(false)) {
  case ELF::R_X86_64_64:
  case ELF::R_X86_64_32:
  case ELF::R_X86_64_32S:
  case ELF::R_X86_64_PC32:
  case ELF::R_X86_64_PLT32:
  case ELF::R_X86_64_GOTPCREL:
  case ELF::R_X86_64_GOTPCRELX:
  case ELF::R_X86_64_REX_GOTPCRELX:
  case ELF::R_X86_64_CODE_4_GOTPCRELX:
    break;
  default:
    return std::nullopt;
  }
  uint32_t symbol = object.symbolOf(r);
  if (symbol == 0) return std::nullopt;
  const ObjectFile::Symbol &s = object.symbols()[symbol];
  if (s.st_shndx == ELF::SHN_ABS) return std::nullopt;
  uint32_t in = object.sectionOf(symbol);
  int64_t offset = targetOffset(r, in ? s.st_value : 0, fieldToEnd);
  if (!isInt<48>(offset)) return std::nullopt; // arithmetic on it is safe
  return Value{Value::Address,
               offset,
               in,
               s.getType() == ELF::STT_SECTION ? 0 : symbol,
               0,
               AddressSource{section, true, relocation}};
}

std::optional<Value> CallTracker::initialValue(uint32_t section, uint64_t offset, unsigned size) {
  ArrayRef<uint8_t> contents = object.contents(section);
  if (offset > contents.size() || contents.size() - offset < size) return std::nullopt;
  OrderedRelocations relocations{object.relocations(section), relocationsOf(section)};
  const uint32_t *at = relocations.from(offset < 7 ? 0 : offset - 7); // no field is larger than 8 bytes
  for (; at != relocations.order.end() && relocations.table[*at].r_offset < offset + size; ++at) {
    if (relocations.table[*at].r_offset != offset) {
      if (relocations.table[*at].r_offset + 4 > offset) return std::nullopt;
      if (relocations.table[*at].getType(false) == ELF::R_X86_64_64) return std::nullopt;
      continue;
    }
    if (size != 8 || relocations.table[*at].getType(false) != ELF::R_X86_64_64) return std::nullopt;
    return target(section, *at, 0);
  }
  Value value;
  value.offset = size == 8 ? support::endian::read64le(contents.data() + offset)
                           : support::endian::read32le(contents.data() + offset);
  return value;
}

namespace {
// DWARF's numbers of registers in the psABI.
enum Register { Rax, Rdx, Rcx, Rbx, Rsi, Rdi, Rbp, Rsp, R8, R9, R15 = 15, Rip, Xmm0, RegisterEnd = Xmm0 + 16 };

enum class Operation : uint8_t {
  Unclassified,
  Other,
  Nop,
  Lea,
  Load8,
  Load4,
  Copy8,
  Copy4,
  Constant,
  Store, // of a register; the size follows from the opcode's name
  StoreConstant,
  Push,
  Pop,
  Leave,
  Add,
  Subtract,
  And,
  Xor, // of a register with itself
  LoadVector,
  CopyVector,
  StoreVector,
  ToVector, // 64 bits, the upper half becomes 0
  LoadLow,  // likewise
  StoreLow,
  StoreHigh,
  FromVector,
  Unpack, // the low half of each source
  UnpackLoad,
  InsertHighLoad,
  Insert,
  InsertLoad,
  CopyMemory
};

Operation classify(StringRef name) {
  name.consume_back("_REV");
  name.consume_front("V");
  std::string base = name.str();
  if (size_t at = base.find("Z128"); at != std::string::npos) base.erase(at, 4);
  return StringSwitch<Operation>(base)
      .StartsWith("NOOP", Operation::Nop)
      .Case("LEA64r", Operation::Lea)
      .Case("MOV64rm", Operation::Load8)
      .Case("MOV32rm", Operation::Load4)
      .Case("MOV64rr", Operation::Copy8)
      .Case("MOV32rr", Operation::Copy4)
      .Cases({"MOV32ri", "MOV64ri32", "MOV64ri"}, Operation::Constant)
      .Cases({"MOV64mr", "MOV32mr", "MOV16mr", "MOV8mr"}, Operation::Store)
      .Cases({"MOV64mi32", "MOV32mi", "MOV16mi", "MOV8mi"}, Operation::StoreConstant)
      .Case("PUSH64r", Operation::Push)
      .Case("POP64r", Operation::Pop)
      .Case("LEAVE64", Operation::Leave)
      .Cases({"ADD64ri8", "ADD64ri32"}, Operation::Add)
      .Cases({"SUB64ri8", "SUB64ri32"}, Operation::Subtract)
      .Cases({"AND64ri8", "AND64ri32"}, Operation::And)
      .Cases({"XOR32rr", "XOR64rr", "PXORrr", "XORPSrr", "XORPDrr"}, Operation::Xor)
      .Cases({"MOVAPSrm", "MOVUPSrm", "MOVAPDrm", "MOVUPDrm", "MOVDQArm", "MOVDQUrm"}, Operation::LoadVector)
      .Cases({"MOVDQA64rm", "MOVDQU64rm", "MOVDQA32rm", "MOVDQU32rm"}, Operation::LoadVector)
      .Cases({"MOVAPSrr", "MOVUPSrr", "MOVAPDrr", "MOVUPDrr", "MOVDQArr", "MOVDQUrr"}, Operation::CopyVector)
      .Cases({"MOVAPSmr", "MOVUPSmr", "MOVAPDmr", "MOVUPDmr", "MOVDQAmr", "MOVDQUmr"}, Operation::StoreVector)
      .Cases({"MOVDQA64mr", "MOVDQU64mr", "MOVDQA32mr", "MOVDQU32mr"}, Operation::StoreVector)
      .Case("MOV64toPQIrr", Operation::ToVector)
      .Cases({"MOVQI2PQIrm", "MOVSDrm", "MOVSDrm_alt"}, Operation::LoadLow)
      .Cases({"MOVPQI2QImr", "MOVSDmr", "MOVLPSmr", "MOVLPDmr"}, Operation::StoreLow)
      .Cases({"MOVHPSmr", "MOVHPDmr"}, Operation::StoreHigh)
      .Case("MOVPQIto64rr", Operation::FromVector)
      .Cases({"PUNPCKLQDQrr", "MOVLHPSrr", "UNPCKLPDrr"}, Operation::Unpack)
      .Cases({"PUNPCKLQDQrm", "UNPCKLPDrm"}, Operation::UnpackLoad)
      .Cases({"MOVHPSrm", "MOVHPDrm"}, Operation::InsertHighLoad)
      .Case("PINSRQrri", Operation::Insert)
      .Case("PINSRQrmi", Operation::InsertLoad)
      .Case("MOVSQ", Operation::CopyMemory)
      .Default(Operation::Other);
}

// After a call of these comes code that is reached from elsewhere.
bool neverReturns(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases({"_Unwind_Resume", "__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "__cxa_throw_bad_array_new_length"},
             true)
      .Cases({"abort", "exit", "_exit", "_ZSt9terminatev", "__clang_call_terminate", "__stack_chk_fail"}, true)
      .Cases({"__assert_fail", "__cxa_pure_virtual", "__cxa_deleted_virtual", "_ZSt10unexpectedv"}, true)
      .StartsWith("_ZSt", name.contains("__throw_"))
      .Default(false);
}
} // namespace

class FunctionTracker {
public:
  FunctionTracker(CallTracker &tracker, uint32_t section, uint64_t begin, uint64_t end, ArrayRef<uint64_t> entries)
      : tracker(tracker), decoder(tracker.decoder), object(tracker.object), section(section), begin(begin), end(end),
        code(object.contents(section)), relocations{object.relocations(section), tracker.relocationsOf(section)},
        entries(entries) {}

  TrackedCalls run() {
    if (begin <= end && end <= code.size() && survey()) follow();
    return std::move(result);
  }

private:
  using Known = std::optional<Value>;

  // --- Instructions -------------------------------------------------------------------------------------------------

  bool decode() {
    size = decoder.decodeOne(code, at, end, instruction);
    if (size == 0) {
      result.uncertain = "its code is not understood";
      return false;
    }
    description = &decoder.description(instruction);
    if (tracker.operations.size() <= instruction.getOpcode()) tracker.operations.resize(instruction.getOpcode() + 1);
    uint8_t &known = tracker.operations[instruction.getOpcode()];
    if (known == uint8_t(Operation::Unclassified)) known = uint8_t(classify(decoder.name(instruction)));
    operation = Operation(known);
    return true;
  }

  /// DWARF's number of the 64-bit or 128-bit register that this is a part of; -1: not followed.
  int registerOf(MCRegister r) const {
    if (!r) return -1;
    for (MCPhysReg s : decoder.registerInfo().superregs_inclusive(r))
      if (int64_t number = decoder.registerInfo().getDwarfRegNum(s, /*isEH=*/false); number >= 0)
        return number < RegisterEnd ? int(number) : -1;
    return -1;
  }
  int registerAt(unsigned operand) const {
    return operand < instruction.getNumOperands() && instruction.getOperand(operand).isReg()
               ? registerOf(instruction.getOperand(operand).getReg())
               : -1;
  }
  int memoryOperand() const {
    if (operation == Operation::Lea) return 1; // LLVM does not say so, as it is not accessed
    for (unsigned i = 0; i < description->getNumOperands(); ++i)
      if (description->operands()[i].OperandType == MCOI::OPERAND_MEMORY) return int(i);
    return -1;
  }
  /// The relocation of the instruction's address (PC-relative or at a displacement), or of its immediate, which is
  /// last.
  std::optional<uint32_t> relocationOf(bool immediate) const {
    int memory = memoryOperand();
    for (const uint32_t *i = relocations.from(at); i != relocations.order.end(); ++i) {
      const ObjectFile::Relocation &r = relocations.table[*i];
      if (r.r_offset >= at + size) break;
      bool isImmediate =
          !isPcRelative(r) && (memory < 0 || (operation == Operation::StoreConstant && r.r_offset + 4 == at + size));
      if (isImmediate == immediate) return *i;
    }
    return std::nullopt;
  }
  Known relocated(uint32_t relocation) const {
    return tracker.target(section, relocation, at + size - relocations.table[relocation].r_offset);
  }

  /// What a memory operand points at.
  Known address() {
    int first = memoryOperand();
    if (first < 0 || unsigned(first) + 4 >= instruction.getNumOperands()) return std::nullopt;
    MCRegister base = instruction.getOperand(first).getReg(), index = instruction.getOperand(first + 2).getReg(),
               segment = instruction.getOperand(first + 4).getReg();
    if (segment) return Value{};                               // thread-local memory: no place that is known here
    if (index || !instruction.getOperand(first + 3).isImm()) { // an element of an array
      for (MCRegister r : {base, index}) used(get(registerOf(r)));
      return std::nullopt;
    }
    if (auto relocation = relocationOf(/*immediate=*/false)) {
      if (base && registerOf(base) != Rip) return std::nullopt;
      return relocated(*relocation);
    }
    if (registerOf(base) == Rip) {
      auto target = decoder.memoryAddress(instruction, at, size);
      if (!target) return std::nullopt;
      return Value{Value::Address, int64_t(*target), section, 0, 0, AddressSource{section, false, at}};
    }
    Known value = get(registerOf(base));
    if (!value || value->kind == Value::Integer || !isInt<48>(value->offset)) return std::nullopt;
    value->offset += instruction.getOperand(first + 3).getImm();
    return value;
  }
  /// The symbol's address, if the memory operand is its slot in the GOT.
  Known gotTarget() const {
    auto relocation = relocationOf(/*immediate=*/false);
    if (!relocation) return std::nullopt;
    switch (relocations.table[*relocation].getType(false)) {
    case ELF::R_X86_64_GOTPCREL:
    case ELF::R_X86_64_GOTPCRELX:
    case ELF::R_X86_64_REX_GOTPCRELX:
    case ELF::R_X86_64_CODE_4_GOTPCRELX:
      return relocated(*relocation);
    default:
      return std::nullopt;
    }
  }
  Known immediate(unsigned operand) const {
    if (auto relocation = relocationOf(/*immediate=*/true)) return relocated(*relocation);
    if (operand >= instruction.getNumOperands() || !instruction.getOperand(operand).isImm()) return std::nullopt;
    return Value{Value::Integer, instruction.getOperand(operand).getImm()};
  }

  // --- State --------------------------------------------------------------------------------------------------------

  Known get(int r) const { return r >= 0 ? low[r] : std::nullopt; }
  void set(int r, Known value, Known upper = std::nullopt) {
    if (r < 0) return;
    if (value && value->kind == Value::Frame && r != Rsp && r != Rbp) frameEscaped = true;
    low[r] = value;
    high[r] = upper;
  }
  void used(const Known &value) {
    if (value && value->source && tracker.isFollowed(*value)) result.otherUses.insert(*value->source);
  }
  /// Another path may go on with what is known here.
  void abandon() {
    for (int r = 0; r < RegisterEnd; ++r) {
      used(low[r]);
      used(high[r]);
    }
    for (auto &[place, word] : memory.all())
      if (place.isFrame) used(word.value);
  }
  /// Something reads these bytes, or any of the frame.
  void usedMemory(std::optional<KnownMemory::Place> place, unsigned bytes) {
    KnownMemory::Place first{true, 0, INT64_MIN};
    if (place) first = {place->isFrame, place->space, place->offset - 7};
    for (auto i = memory.all().lower_bound(first); i != memory.all().end(); ++i) {
      auto &[known, word] = *i;
      if (place && (known.isFrame != place->isFrame || known.space != place->space ||
                    known.offset >= place->offset + int64_t(bytes)))
        break;
      used(word.value);
    }
  }
  Value newFrame() { return {Value::Frame, 0, 0, 0, ++frames}; }
  void forget(Known stackPointer) {
    low.fill(std::nullopt);
    high.fill(std::nullopt);
    memory.clear(/*frames=*/true);
    low[Rsp] = stackPointer ? stackPointer : newFrame();
    if (framePointerIsFixed) low[Rbp] = framePointer;
  }

  Known load(const Known &pointer, unsigned bytes, int64_t further = 0) {
    auto place = pointer ? KnownMemory::placeOf(*pointer) : std::nullopt;
    if (!place) {
      if (!pointer && frameEscaped) usedMemory(std::nullopt, 0);
      return std::nullopt;
    }
    KnownMemory::Place start = *place;
    place->offset += further;
    if (Known value = memory.load(*place, bytes)) return value;
    usedMemory(place, bytes);
    if (place->isFrame || place->offset < 0) return std::nullopt;
    if (tracker.isWritable(place->space)) return std::nullopt;
    Known value = tracker.initialValue(place->space, place->offset, bytes);
    if (value && value->source) result.loads[start].insert(at);
    return value;
  }
  void store(const Known &pointer, unsigned bytes, Known value, int64_t further = 0) {
    auto place = pointer ? KnownMemory::placeOf(*pointer) : std::nullopt;
    if (value && value->kind == Value::Frame) frameEscaped = true;
    if (bytes != 8 && bytes != 4) {
      used(value);
      value.reset();
    }
    if (!place) { // other code's memory, or any of what is known
      used(value);
      if (!pointer) memory.clear(/*frames=*/true);
      return;
    }
    place->offset += further;
    if (place->isFrame) memory.clearOtherFrames(place->space); // they may be the same stack
    if (!place->isFrame) {
      used(pointer);
      if (value && value->source && tracker.mayBeFunction(*value))
        result.stores.push_back({*place, *value->source});
      else
        used(value);
    }
    memory.store(*place, bytes, value);
  }
  void moveStackPointer(int64_t by) {
    if (Known &stackPointer = low[Rsp]) stackPointer->offset += by;
  }

  // --- The two passes -----------------------------------------------------------------------------------------------

  /// Finds what has to be known of all of the function beforehand.
  bool survey() {
    bool hasBackEdge = false, takesFrameAddress = false, isReachable = true;
    std::vector<uint64_t> afterBarrier;
    for (at = begin; at < end; at += size) {
      if (!decode()) return false;
      if (!isReachable && operation != Operation::Nop) {
        afterBarrier.push_back(at);
        isReachable = true;
      }
      bool isRelocated = relocationOf(/*immediate=*/false).has_value();
      if (auto target = decoder.jumpTarget(instruction, at, size); target && !isRelocated) {
        if (*target < begin || *target >= end || description->isCall()) {
          result.localReferences.push_back({at, *target});
        } else {
          labels.insert(*target);
          hasBackEdge |= *target <= at;
        }
      } else if (auto address = decoder.memoryAddress(instruction, at, size); address && !isRelocated) {
        result.localReferences.push_back({at, *address});
      }
      if (operation == Operation::Lea && (registerAt(1) == Rsp || registerAt(1) == Rbp)) takesFrameAddress = true;
      if (operation == Operation::Copy8 && registerAt(1) == Rsp && registerAt(0) != Rbp) takesFrameAddress = true;
      bool setsFramePointer = operation == Operation::Copy8 && registerAt(0) == Rbp && registerAt(1) == Rsp;
      if (!setsFramePointer && operation != Operation::Pop && operation != Operation::Leave)
        for (int r : definitions()) framePointerIsFixed &= r != Rbp;
      if (description->isBarrier() || description->isReturn()) isReachable = false;
    }
    for (auto i = llvm::upper_bound(entries, begin); i != entries.end() && *i < end; ++i) labels.insert(*i);
    frameEscaped = hasBackEdge && takesFrameAddress;
    // Only the unwinder, or a table of jumps, leads there.
    for (uint64_t start : afterBarrier) hasLandingPads |= !labels.count(start);
    return true;
  }

  void follow() {
    forget(std::nullopt);
    bool isReachable = true;
    for (at = begin; at < end; at += size) {
      if (!decode()) return;
      if (labels.count(at)) {
        abandon();
        Known stackPointer = isReachable ? low[Rsp] : std::nullopt;
        if (auto forward = stackPointers.find(at); !stackPointer && forward != stackPointers.end())
          stackPointer = forward->second;
        forget(stackPointer);
        isReachable = true;
      } else if (!isReachable) {
        forget(std::nullopt);
        isReachable = true;
      }
      if (description->isCall() || description->isBranch()) {
        isReachable = branch();
        if (!isReachable) forget(std::nullopt);
      } else if (description->isReturn() || description->isTrap()) {
        used(low[Rax]);
        used(low[Rdx]);
        isReachable = false;
      } else {
        execute();
      }
    }
    if (indirect) result.uncertain = "it jumps to computed addresses";
  }

  /// Does what follows run after it?
  bool branch() {
    bool returns = description->isCall(), isConditional = description->isConditionalBranch();
    Known callee;
    if (auto target = decoder.jumpTarget(instruction, at, size)) {
      if (auto relocation = relocationOf(/*immediate=*/false)) {
        callee = relocated(*relocation);
      } else if (!returns && *target >= begin && *target < end) {
        abandon();
        if (Known stackPointer = low[Rsp]) stackPointers.insert({*target, *stackPointer});
        return isConditional;
      } else {
        callee = Value{Value::Address, int64_t(*target), section, 0, 0, AddressSource{section, false, at}};
      }
    } else if (memoryOperand() >= 0) {
      for (int r : {registerAt(0), registerAt(2)}) used(get(r));
      callee = gotTarget();
    } else {
      callee = get(registerAt(0));
      used(callee);
    }
    // Until the first jump that is not certain, everything was: if there is none, no jump leads to a place in the
    // middle.
    if (!returns && description->isIndirectBranch() && !leaves(callee)) {
      indirect = true;
      abandon();
    }
    call(callee);
    if (isConditional) return true;
    if (!returns) return false;
    if (callee && callee->symbol && neverReturns(object.symbolName(callee->symbol))) return false;
    Known to = low[Rdi], from = low[Rsi], bytes = low[Rdx];
    afterCall();
    if (callee && callee->symbol && object.symbolName(callee->symbol) == "memcpy" && copyConstant(to, from, bytes))
      low[Rax] = to;
    return true;
  }

  bool leaves(const Known &callee) const {
    return callee && callee->kind == Value::Address &&
           (callee->section != section || callee->offset < int64_t(begin) || callee->offset >= int64_t(end));
  }

  void call(const Known &callee) {
    CallSite site;
    site.offset = at;
    if (callee && callee->kind == Value::Address) site.callee = *callee;
    std::set<std::pair<bool, uint32_t>> spaces;
    constexpr int order[] = {Rdi, Rsi, Rdx, Rcx, R8, R9};
    for (unsigned i = 0; i < 6; ++i) {
      Known value = site.arguments[i] = low[order[i]];
      auto place = value ? KnownMemory::placeOf(*value) : std::nullopt;
      if (place) spaces.insert({place->isFrame, place->space});
    }
    for (auto [isFrame, space] : spaces)
      for (auto i = memory.all().lower_bound({isFrame, space, INT64_MIN}); i != memory.all().end(); ++i) {
        if (i->first.isFrame != isFrame || i->first.space != space) break;
        site.memory.store(i->first, i->second.size, i->second.value);
      }
    result.calls.push_back(std::move(site));
  }

  void afterCall() {
    if (hasLandingPads)
      for (int r : {int(Rbx), int(Rbp), 12, 13, 14, 15}) used(low[r]);
    for (int r = 0; r < RegisterEnd; ++r)
      if (r != Rbx && r != Rbp && r != Rsp && (r < 12 || r > R15)) set(r, std::nullopt);
    memory.clear(frameEscaped);
  }

  SmallVector<int, 4> definitions() const {
    SmallVector<int, 4> result;
    for (unsigned i = 0; i < description->getNumDefs(); ++i) result.push_back(registerAt(i));
    for (MCPhysReg r : description->implicit_defs()) result.push_back(registerOf(r));
    llvm::erase_if(result, [](int r) { return r < 0; });
    return result;
  }

  unsigned accessSize() const { // MOV64mr, MOV8mi
    StringRef digits = decoder.name(instruction).drop_front(3);
    unsigned bits = 0;
    digits.consumeInteger(10, bits);
    return bits / 8;
  }

  void execute() {
    int to = registerAt(0);
    switch (operation) {
    case Operation::Nop:
      return;
    case Operation::Lea:
      return set(to, address());
    case Operation::Load8:
      if (Known symbol = gotTarget()) return set(to, symbol);
      return set(to, load(address(), 8));
    case Operation::Load4: {
      Known value = load(address(), 4);
      if (value) value->offset &= 0xffffffff;
      return set(to, value);
    }
    case Operation::Copy8:
      set(to, get(registerAt(1)));
      if (to == Rbp && registerAt(1) == Rsp) framePointer = low[Rbp];
      return;
    case Operation::Copy4: {
      Known value = get(registerAt(1));
      if (value && value->kind == Value::Integer) value->offset &= 0xffffffff;
      if (value && value->kind == Value::Frame) value.reset();
      return set(to, value); // an address in 32 bits is that of code which is not position-independent
    }
    case Operation::Constant: {
      Known value = immediate(1);
      if (value && value->kind == Value::Integer && decoder.name(instruction) == "MOV32ri") value->offset &= 0xffffffff;
      return set(to, value);
    }
    case Operation::Store:
      return store(address(), accessSize(), get(registerAt(5)));
    case Operation::StoreConstant:
      return store(address(), accessSize(), immediate(5));
    case Operation::Push: {
      Known value = get(to);
      moveStackPointer(-8);
      return store(low[Rsp], 8, value);
    }
    case Operation::Pop: {
      Known value = load(low[Rsp], 8);
      moveStackPointer(8);
      return set(to, value);
    }
    case Operation::Leave:
      low[Rsp] = low[Rbp];
      low[Rbp] = load(low[Rsp], 8);
      return moveStackPointer(8);
    case Operation::Add:
    case Operation::Subtract: {
      Known value = get(registerAt(1)), by = immediate(2);
      if (!by || by->kind != Value::Integer) used(by), value.reset();
      if (value && !isInt<48>(value->offset)) value.reset();
      if (value) value->offset += operation == Operation::Add ? by->offset : -by->offset;
      return set(to, value);
    }
    case Operation::And: // aligns the stack
      if (to != Rsp) return other();
      low[Rsp] = newFrame();
      return;
    case Operation::Xor: {
      unsigned last = instruction.getNumOperands() - 1;
      if (registerAt(last) != registerAt(last - 1)) return other();
      return set(to, Value{}, to >= Xmm0 ? Known(Value{}) : std::nullopt);
    }
    case Operation::LoadVector: {
      Known pointer = address();
      return set(to, load(pointer, 8), load(pointer, 8, 8));
    }
    case Operation::CopyVector:
      return set(to, get(registerAt(1)), upper(1));
    case Operation::StoreVector: {
      Known pointer = address();
      store(pointer, 8, get(registerAt(5)));
      return store(pointer, 8, upper(5), 8);
    }
    case Operation::ToVector:
      return set(to, get(registerAt(1)), Value{});
    case Operation::LoadLow:
      return set(to, load(address(), 8), Value{});
    case Operation::StoreLow:
      return store(address(), 8, get(registerAt(5)));
    case Operation::StoreHigh:
      return store(address(), 8, upper(5));
    case Operation::FromVector:
      return set(to, get(registerAt(1)));
    case Operation::Unpack:
      return set(to, get(registerAt(1)), get(registerAt(2)));
    case Operation::UnpackLoad:
    case Operation::InsertHighLoad:
      return set(to, get(registerAt(1)), load(address(), 8));
    case Operation::Insert:
    case Operation::InsertLoad: {
      Known value = operation == Operation::Insert ? get(registerAt(2)) : load(address(), 8);
      const MCOperand &lane = instruction.getOperand(instruction.getNumOperands() - 1);
      if (!lane.isImm()) return other();
      return lane.getImm() & 1 ? set(to, get(registerAt(1)), value) : set(to, value, upper(1));
    }
    case Operation::CopyMemory:
      return copyMemory();
    case Operation::Unclassified:
    case Operation::Other:
      return other();
    }
  }

  Known upper(unsigned operand) const {
    int r = registerAt(operand);
    return r >= 0 ? high[r] : std::nullopt;
  }

  /// rep movsq of constant data.
  void copyMemory() {
    constexpr unsigned hasRepeat = 8; // X86::IP_HAS_REPEAT
    Known count = low[Rcx];
    if (!(instruction.getFlags() & hasRepeat) || !count || !isUInt<32>(count->offset)) return other();
    count->offset *= 8;
    if (!copyConstant(low[Rdi], low[Rsi], count)) return other();
    for (int r : {Rdi, Rsi, Rcx}) set(r, std::nullopt);
  }

  /// Into the frame. False: not known.
  bool copyConstant(const Known &to, const Known &from, const Known &bytes) {
    if (!to || to->kind != Value::Frame || !from || from->kind != Value::Address || !from->section) return false;
    if (!bytes || bytes->kind != Value::Integer || bytes->offset < 0 || bytes->offset > 0x100000) return false;
    for (int64_t i = 0; i < bytes->offset; i += 8) {
      int64_t size = std::min<int64_t>(8, bytes->offset - i);
      store(to, size, size == 8 ? load(from, 8, i) : std::nullopt, i);
    }
    return true;
  }

  /// An instruction that is not followed: what it reads is used, what it writes is unknown.
  void other() {
    SmallVector<int, 4> written = definitions();
    for (unsigned i = description->getNumDefs(); i < instruction.getNumOperands(); ++i)
      if (int r = registerAt(i); r >= 0) {
        used(low[r]);
        used(high[r]);
      }
    for (MCPhysReg r : description->implicit_uses())
      if (int number = registerOf(r); number >= 0) used(low[number]);
    for (const uint32_t *i = relocations.from(at); i != relocations.order.end(); ++i) {
      if (relocations.table[*i].r_offset >= at + size) break;
      used(relocated(*i));
    }
    Known pointer = address();
    if (description->mayLoad()) {
      auto place = pointer ? KnownMemory::placeOf(*pointer) : std::nullopt;
      if (place || !pointer) usedMemory(place, 64);
    }
    if (description->mayStore() || description->hasUnmodeledSideEffects()) {
      auto place = pointer ? KnownMemory::placeOf(*pointer) : std::nullopt;
      if (!place || description->hasUnmodeledSideEffects())
        memory.clear(/*frames=*/true);
      else
        memory.store(*place, 64, std::nullopt); // no vector is larger
    }
    for (int r : written) set(r, std::nullopt);
    if (!low[Rsp]) low[Rsp] = newFrame();
  }

  CallTracker &tracker;
  Decoder &decoder;
  const ObjectFile &object;
  uint32_t section;
  uint64_t begin, end;
  ArrayRef<uint8_t> code;
  OrderedRelocations relocations;
  ArrayRef<uint64_t> entries;
  TrackedCalls result;

  MCInst instruction;
  const MCInstrDesc *description = nullptr;
  Operation operation = Operation::Other;
  uint64_t at = 0, size = 0;

  std::set<uint64_t> labels;
  std::map<uint64_t, Value> stackPointers; ///< at labels that were jumped to
  bool indirect = false, hasLandingPads = false;
  bool framePointerIsFixed = true; ///< rbp is written in prologues and epilogues only
  bool frameEscaped = false;       ///< others may know an address in the frame
  Known framePointer;

  std::array<Known, RegisterEnd> low, high; ///< `high`: the upper halves of 128-bit registers
  KnownMemory memory;
  uint32_t frames = 0;
};

TrackedCalls CallTracker::track(uint32_t section, uint64_t begin, uint64_t end, ArrayRef<uint64_t> entries) {
  return FunctionTracker(*this, section, begin, end, entries).run();
}

} // namespace coppice
