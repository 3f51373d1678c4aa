// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// x86-64 instructions, by LLVM's disassembler.
#pragma once
#include "analysis/reach/function_ranges.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include <memory>
#include <optional>
#include <vector>

namespace coppice {

struct CodeReference {
  uint64_t target = 0;    ///< in the same section
  bool isJump = false;    ///< or a call; else the address is taken or data is read there
  uint64_t field = 0;     ///< where the distance to the target stands
  uint8_t fieldSize = 0;  ///< 1 or 4; 0: which bytes hold the distance is not clear
  uint8_t fieldToEnd = 0; ///< the distance is from the end of the instruction
};

struct DecodedCode {
  std::vector<uint64_t> instructions; ///< where each starts
  std::vector<CodeReference> references;
  bool fallsThrough = true; ///< may what follows the last instruction run after it?
};

/// One for each thread: MCDisassembler is not thread-safe.
class Decoder {
public:
  Decoder();

  /// All instructions of [begin, end), and where they refer to without a relocation. `fieldToEnd` is of all relocations
  /// of the section (see SectionRanges). The error says what is not understood, and where.
  llvm::Expected<DecodedCode> decode(llvm::ArrayRef<uint8_t> section, uint64_t begin, uint64_t end,
                                     const OrderedRelocations &relocations, llvm::MutableArrayRef<uint8_t> fieldToEnd);
  /// Is this what assemblers put between functions?
  bool isPadding(llvm::ArrayRef<uint8_t> bytes);

  /// The size of the instruction at `at`; 0 if there is none.
  uint64_t decodeOne(llvm::ArrayRef<uint8_t> section, uint64_t at, uint64_t end, llvm::MCInst &instruction) const;
  llvm::StringRef name(const llvm::MCInst &i) const { return instructions->getName(i.getOpcode()); }
  const llvm::MCInstrDesc &description(const llvm::MCInst &i) const { return instructions->get(i.getOpcode()); }
  const llvm::MCRegisterInfo &registerInfo() const { return *registers; }
  /// Where a direct jump or call goes.
  std::optional<uint64_t> jumpTarget(const llvm::MCInst &i, uint64_t at, uint64_t size) const;
  /// The address of a memory operand that is relative to the instruction pointer.
  std::optional<uint64_t> memoryAddress(const llvm::MCInst &i, uint64_t at, uint64_t size) const;

private:
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembler;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
};

/// Is the field relative to its own place?
bool isPcRelative(const ObjectFile::Relocation &relocation);

} // namespace coppice
