// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/decode_x86_64.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace coppice {

Decoder::Decoder() {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    return true;
  }();
  (void)initialized;
  Triple triple("x86_64-linux-gnu");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  registers.reset(target->createMCRegInfo(triple));
  assembler.reset(target->createMCAsmInfo(*registers, triple, MCTargetOptions()));
  subtarget.reset(target->createMCSubtargetInfo(triple, "", ""));
  instructions.reset(target->createMCInstrInfo());
  context = std::make_unique<MCContext>(triple, assembler.get(), registers.get(), subtarget.get());
  disassembler.reset(target->createMCDisassembler(*subtarget, *context));
  analysis.reset(target->createMCInstrAnalysis(instructions.get()));
}

uint64_t Decoder::decodeOne(ArrayRef<uint8_t> section, uint64_t at, uint64_t end, MCInst &instruction) const {
  uint64_t size = 0;
  instruction.clear();
  ArrayRef<uint8_t> bytes = section.slice(at, end - at);
  if (disassembler->getInstruction(instruction, size, bytes, at, nulls()) != MCDisassembler::Success) return 0;
  return size;
}

std::optional<uint64_t> Decoder::jumpTarget(const MCInst &i, uint64_t at, uint64_t size) const {
  uint64_t target = 0;
  if (analysis->evaluateBranch(i, at, size, target)) return target;
  return std::nullopt;
}

std::optional<uint64_t> Decoder::memoryAddress(const MCInst &i, uint64_t at, uint64_t size) const {
  return analysis->evaluateMemoryOperandAddress(i, subtarget.get(), at, size);
}

// Sizes of fields and what they are relative to: the x86-64 psABI, table "Relocation Types".
static unsigned fieldSize(const ObjectFile::Relocation &relocation) {
  switch (relocation.getType(false)) {
  case ELF::R_X86_64_8:
  case ELF::R_X86_64_PC8:
    return 1;
  case ELF::R_X86_64_16:
  case ELF::R_X86_64_PC16:
    return 2;
  case ELF::R_X86_64_64:
  case ELF::R_X86_64_PC64:
  case ELF::R_X86_64_GOT64:
  case ELF::R_X86_64_GOTOFF64:
  case ELF::R_X86_64_GOTPC64:
  case ELF::R_X86_64_GOTPCREL64:
  case ELF::R_X86_64_GOTPLT64:
  case ELF::R_X86_64_PLTOFF64:
  case ELF::R_X86_64_DTPOFF64:
  case ELF::R_X86_64_TPOFF64:
  case ELF::R_X86_64_SIZE64:
    return 8;
  default:
    return 4;
  }
}

bool isPcRelative(const ObjectFile::Relocation &relocation) {
  switch (relocation.getType(false)) {
  case ELF::R_X86_64_8:
  case ELF::R_X86_64_16:
  case ELF::R_X86_64_32:
  case ELF::R_X86_64_32S:
  case ELF::R_X86_64_64:
  case ELF::R_X86_64_GOT32:
  case ELF::R_X86_64_GOT64:
  case ELF::R_X86_64_GOTOFF64:
  case ELF::R_X86_64_GOTPLT64:
  case ELF::R_X86_64_PLTOFF64:
  case ELF::R_X86_64_DTPOFF32:
  case ELF::R_X86_64_DTPOFF64:
  case ELF::R_X86_64_TPOFF32:
  case ELF::R_X86_64_TPOFF64:
  case ELF::R_X86_64_SIZE32:
  case ELF::R_X86_64_SIZE64:
    return false;
  default:
    return true;
  }
}

// These relocations mark a place; nothing is written there.
static bool isMarker(const ObjectFile::Relocation &relocation) {
  return relocation.getType(false) == ELF::R_X86_64_NONE || relocation.getType(false) == ELF::R_X86_64_TLSDESC_CALL;
}

static Error notUnderstood(StringRef what, uint64_t at) {
  return createStringError(what + " at +0x" + utohexstr(at, /*LowerCase=*/true));
}

// Displacements of jumps are the last bytes of an instruction; those of memory operands are followed by an immediate of
// up to four bytes.
static CodeReference referenceWithoutRelocation(ArrayRef<uint8_t> section, uint64_t at, uint64_t size, uint64_t target,
                                                bool isJump) {
  CodeReference result;
  result.target = target;
  result.isJump = isJump;
  const uint8_t *bytes = section.data() + at;
  auto matches = [&](uint64_t toEnd) {
    return size > toEnd && at + size + int64_t(int32_t(support::endian::read32le(bytes + size - toEnd))) == target;
  };
  unsigned found = 0;
  for (uint8_t toEnd : {4, 5, 6, 8}) {
    if ((isJump && toEnd != 4) || !matches(toEnd)) continue;
    ++found;
    result.field = at + size - toEnd;
    result.fieldSize = 4;
    result.fieldToEnd = toEnd;
  }
  if (isJump && !found && size >= 2 && at + size + int64_t(int8_t(bytes[size - 1])) == target) {
    result.field = at + size - 1;
    result.fieldSize = 1;
    result.fieldToEnd = 1;
  }
  if (found > 1) result.fieldSize = 0;
  return result;
}

Expected<DecodedCode> Decoder::decode(ArrayRef<uint8_t> section, uint64_t begin, uint64_t end,
                                      const OrderedRelocations &relocations, MutableArrayRef<uint8_t> fieldToEnd) {
  DecodedCode result;
  const uint32_t *next = relocations.from(begin);
  MCInst instruction;
  for (uint64_t at = begin, size = 0; at < end; at += size) {
    size = decodeOne(section, at, end, instruction);
    if (size == 0) return notUnderstood("bytes that are no instruction", at);
    result.instructions.push_back(at);
    bool isRelocated = false;
    for (; next != relocations.order.end() && relocations.table[*next].r_offset < at + size; ++next) {
      const ObjectFile::Relocation &r = relocations.table[*next];
      if (isMarker(r)) continue;
      if (r.r_offset == at || r.r_offset + fieldSize(r) > at + size)
        return notUnderstood("a relocation that is not on an operand", r.r_offset);
      if (!isPcRelative(r)) continue;
      isRelocated = true;
      fieldToEnd[*next] = at + size - r.r_offset;
    }
    const MCInstrDesc &d = description(instruction);
    if (!isRelocated) {
      if (auto target = jumpTarget(instruction, at, size))
        result.references.push_back(referenceWithoutRelocation(section, at, size, *target, /*isJump=*/true));
      else if (auto target = memoryAddress(instruction, at, size))
        result.references.push_back(referenceWithoutRelocation(section, at, size, *target, /*isJump=*/false));
    }
    // A call that ends a function does not return.
    if (!name(instruction).starts_with("NOOP"))
      result.fallsThrough = !(d.isBarrier() || d.isReturn() || d.isTrap() || d.isCall());
  }
  return result;
}

bool Decoder::isPadding(ArrayRef<uint8_t> bytes) {
  MCInst instruction;
  for (uint64_t at = 0, size = 1; at < bytes.size(); at += size, size = 1) {
    if (bytes[at] == 0xcc || bytes[at] == 0) continue;
    size = decodeOne(bytes, at, bytes.size(), instruction);
    if (size == 0) return false;
    StringRef n = name(instruction);
    // 66 90 is decoded as xchg %ax, %ax
    if (!n.starts_with("NOOP") && n != "XCHG16ar" && n != "DATA16_PREFIX" && n != "CS_PREFIX") return false;
  }
  return true;
}

} // namespace coppice
