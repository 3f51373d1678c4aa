// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known at the calls of a function: constants are followed through the registers and the memory of
// straight-line code. All is forgotten where code can be reached from elsewhere; a call keeps only the registers that
// the ABI preserves, and stack slots of which no address has been taken.
#pragma once
#include "analysis/reach/function_ranges.h"
#include <array>
#include <map>
#include <optional>
#include <set>

namespace coppice {

/// Which operand made an address: a relocation, or an instruction that needs none.
struct AddressSource {
  uint32_t section = 0;
  bool isRelocation = false;
  uint64_t index = 0; ///< of the relocation in relocations(section), or the instruction's offset in the section
  auto operator<=>(const AddressSource &) const = default;
};

struct Value {
  enum Kind {
    Integer,
    Address, ///< in a section of the object, or of an undefined or common symbol
    Frame    ///< in the stack frame
  } kind = Integer;
  int64_t offset = 0;   ///< the integer; else from the start of the section, of the symbol (section 0), or of the frame
  uint32_t section = 0; ///< where the symbol is defined here; a global one may be defined elsewhere after all
  uint32_t symbol = 0;  ///< 0: none, or that of a section
  uint32_t frame = 0;   ///< where the stack pointer is not known any more, a new frame begins
  std::optional<AddressSource> source = {};
};

/// Words of memory whose values are known.
class KnownMemory {
public:
  struct Place {
    bool isFrame = false;
    uint32_t space = 0; ///< section or frame
    int64_t offset = 0;
    auto operator<=>(const Place &) const = default;
  };
  struct Word {
    Value value;
    unsigned size = 8;
  };
  /// Null: none, or it may be on the stack of a caller.
  static std::optional<Place> placeOf(const Value &pointer);

  void store(Place place, unsigned size, std::optional<Value> value);
  std::optional<Value> load(Place place, unsigned size) const;
  void clear(bool frames);
  void clearOtherFrames(uint32_t frame);
  const std::map<Place, Word> &all() const { return words; }

private:
  std::map<Place, Word>::iterator firstFrame() { return words.lower_bound({true, 0, INT64_MIN}); }

  std::map<Place, Word> words; ///< those of frames last
};

struct CallSite {
  uint64_t offset = 0; ///< of the instruction, in the section
  /// The callee. Kind Integer: not known.
  Value callee = {};
  std::array<std::optional<Value>, 6> arguments = {}; ///< of the integer registers, in the ABI's order
  KnownMemory memory = {}; ///< where arguments point at: in the frame, or in sections that can be written
};

struct TrackedCalls {
  std::vector<CallSite> calls; ///< in order; also jumps to other functions
  /// Stores of code addresses to sections.
  std::vector<std::pair<KnownMemory::Place, AddressSource>> stores;
  /// Addresses of code, and of data that can be written, that may have been used in some other way than as an argument
  /// or in `stores`. What is stored to data that can be written counts as a use of its address.
  std::set<AddressSource> otherUses;
  /// References to the same section without a relocation: instruction, target.
  std::vector<std::pair<uint64_t, uint64_t>> localReferences;
  /// Loads of addresses from constant data: the instructions, by what they read.
  std::map<KnownMemory::Place, std::set<uint64_t>> loads;
  /// Why no call is certain.
  std::string uncertain;
};

/// The code of one object. Not thread-safe, as its decoder.
class CallTracker {
public:
  CallTracker(const ObjectFile &object, Decoder &decoder);
  /// `entries`: offsets in the section at which code can be reached from other functions, sorted.
  TrackedCalls track(uint32_t section, uint64_t begin, uint64_t end, llvm::ArrayRef<uint64_t> entries);
  /// The initial value of eight bytes of memory.
  std::optional<Value> initialValue(uint32_t section, uint64_t offset, unsigned size = 8);
  /// Where a relocation points.
  std::optional<Value> target(uint32_t section, uint32_t relocation, unsigned fieldToEnd) const;
  llvm::ArrayRef<uint32_t> relocationsOf(uint32_t section);
  /// Code, or undefined, so that only resolution says what it is.
  bool mayBeFunction(const Value &value) const;
  /// Is the section's data not constant once the program runs?
  bool isWritable(uint32_t section) const;
  /// All uses of such an address are noted.
  bool isFollowed(const Value &value) const;

private:
  friend class FunctionTracker;
  const ObjectFile &object;
  Decoder &decoder;
  std::map<uint32_t, std::vector<uint32_t>> order;
  std::vector<uint8_t> operations; ///< by opcode; 0: not classified yet
};

} // namespace coppice
