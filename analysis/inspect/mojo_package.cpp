// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As MAX 26.7 and Mojo 1.2 write packages:
// - "MPKG", versions, the compiler's hash (64 digits) and a null, the size of the bytecode (64 bits), zeros up to a
//   multiple of eight, a zstd frame.
// - `@extensibility.register("name")` of a struct is an attribute of dialect kgen that applies the function
//   `register(…)` to a constant. The encodings of that dialect are not known, but those that matter have one shape:
//   kind, number or attribute, count, `count` operands, type. So a registration is such an attribute whose first
//   operand is (a reference to) the function, and the name is the first string under its second.
#include "analysis/inspect/mojo_package.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"
#include <set>

using namespace llvm;

namespace coppice {
namespace {

// Of what a frame may become: a block is four bytes or more, and 128 KiB at most.
constexpr uint64_t largest = uint64_t(4) << 30, bytesOfByte = 1 << 15;

struct Problem {
  std::string message;
  uint64_t offset;
};

/// Numbers of MLIR bytecode: as many bytes as the first has trailing zeros, and one.
class Numbers {
public:
  Numbers(StringRef bytes, uint64_t at, uint64_t end) : bytes(bytes), at(at), end(end) {}
  bool next(uint64_t &value) {
    if (at >= end) return false;
    auto first = uint8_t(bytes[at]);
    unsigned size = first ? unsigned(countr_zero(first)) + 1 : 9, skipped = size == 9;
    if (size > end - at) return false;
    value = 0;
    for (unsigned i = skipped; i < size; ++i) value |= uint64_t(uint8_t(bytes[at + i])) << 8 * (i - skipped);
    if (!skipped) value >>= size;
    at += size;
    return true;
  }
  bool skip(uint64_t count) {
    if (count > end - at) return false;
    at += count;
    return true;
  }
  bool atEnd() const { return at == end; }
  uint64_t position() const { return at; }
  uint64_t limit() const { return end; }

private:
  StringRef bytes;
  uint64_t at, end;
};

class Bytecode {
public:
  explicit Bytecode(StringRef bytes) : bytes(bytes) {}

  std::optional<Problem> read(std::vector<std::string> &ops) {
    if (auto problem = readSections()) return problem;
    if (auto problem = readStrings()) return problem;
    if (auto problem = readDialects()) return problem;
    if (auto problem = readAttributes()) return problem;
    findOps(ops);
    return std::nullopt;
  }

private:
  enum Section { Strings = 0, Dialects = 1, AttributeData = 2, AttributeSizes = 3, SectionCount = 9 };
  enum BuiltinCode { String = 2, TypedString = 3, FlatSymbol = 4, Symbol = 5 }; // MLIR's BuiltinDialectBytecode.td
  struct Attribute {
    uint64_t offset = 0, size = 0;
    bool isBuiltin = false, isCustom = false;
  };

  std::optional<Problem> readSections() {
    if (!bytes.starts_with("ML\xEFR")) return Problem{"this is not MLIR bytecode", 0};
    Numbers numbers(bytes, 4, bytes.size());
    uint64_t version = 0;
    bool hasVersion = numbers.next(version);
    size_t producer = hasVersion ? bytes.find('\0', numbers.position()) : StringRef::npos;
    if (producer == StringRef::npos) return Problem{"the head of the bytecode is cut off", 4};
    for (numbers.skip(producer + 1 - numbers.position()); !numbers.atEnd();) {
      uint64_t start = numbers.position(), length = 0, alignment = 1;
      auto id = uint8_t(bytes[start]);
      if (!numbers.skip(1) || !numbers.next(length) || ((id & 0x80) && !numbers.next(alignment)) || !alignment ||
          !numbers.skip(alignTo(numbers.position(), alignment) - numbers.position()))
        return Problem{"the head of a section is cut off", start};
      id &= 0x7f;
      uint64_t begin = numbers.position();
      if (id >= SectionCount || !numbers.skip(length)) return Problem{"a section is larger than the bytecode", start};
      sections[id] = {begin, begin + length};
    }
    for (unsigned id : {Strings, Dialects, AttributeData, AttributeSizes})
      if (!sections[id].first) return Problem{"section " + utostr(id) + " is missing", bytes.size()};
    return std::nullopt;
  }

  Numbers numbersOf(Section id) const { return {bytes, sections[id].first, sections[id].second}; }
  static Problem damaged(const Numbers &at, const char *what) {
    return {std::string(what) + " is damaged", at.position()};
  }

  // Their sizes from the last to the first, then their bytes.
  std::optional<Problem> readStrings() {
    Numbers numbers = numbersOf(Strings);
    uint64_t count = 0, size = 0, end = numbers.limit();
    if (!numbers.next(count) || count > numbers.limit() - numbers.position())
      return damaged(numbers, "the table of strings");
    strings.resize(count);
    for (StringRef &string : reverse(strings)) {
      if (!numbers.next(size) || !size || numbers.position() > end || size > end - numbers.position())
        return damaged(numbers, "the table of strings");
      string = bytes.slice(end - size, end - 1);
      end -= size;
    }
    return std::nullopt;
  }

  // Names, some with a version in a section of its own.
  std::optional<Problem> readDialects() {
    Numbers numbers = numbersOf(Dialects);
    uint64_t count = 0;
    if (!numbers.next(count)) return damaged(numbers, "the table of dialects");
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t name = 0, length = 0;
      if (!numbers.next(name) || name >> 1 >= strings.size() ||
          ((name & 1) && (!numbers.skip(1) || !numbers.next(length) || !numbers.skip(length))))
        return damaged(numbers, "the table of dialects");
      if (strings[name >> 1] == "builtin") builtin = i;
    }
    return std::nullopt;
  }

  // Sizes in groups of one dialect; the attributes themselves follow each other in another section.
  std::optional<Problem> readAttributes() {
    Numbers numbers = numbersOf(AttributeSizes), data = numbersOf(AttributeData);
    uint64_t count = 0, types = 0;
    if (!numbers.next(count) || !numbers.next(types) || count > numbers.limit() - numbers.position())
      return damaged(numbers, "the table of attributes");
    while (attributes.size() < count) {
      uint64_t dialect = 0, inGroup = 0;
      if (!numbers.next(dialect) || !numbers.next(inGroup) || inGroup > count - attributes.size())
        return damaged(numbers, "the table of attributes");
      for (uint64_t i = 0; i < inGroup; ++i) {
        uint64_t size = 0, offset = data.position();
        if (!numbers.next(size) || !data.skip(size >> 1)) return damaged(numbers, "the table of attributes");
        attributes.push_back({offset, size >> 1, dialect == builtin, (size & 1) != 0});
      }
    }
    return std::nullopt;
  }

  /// The numbers of an attribute; empty if they are not numbers throughout, or too many to be what is looked for.
  SmallVector<uint64_t, 8> numbersOf(const Attribute &attribute) const {
    SmallVector<uint64_t, 8> list;
    Numbers numbers(bytes, attribute.offset, attribute.offset + attribute.size);
    if (!attribute.isCustom || attribute.size > 256) return list;
    for (uint64_t value = 0; !numbers.atEnd(); list.push_back(value))
      if (!numbers.next(value)) return {};
    return list;
  }

  std::optional<StringRef> stringOf(ArrayRef<uint64_t> builtinNumbers, BuiltinCode code) const {
    if (builtinNumbers.size() < 2 || builtinNumbers[0] != code || builtinNumbers[1] >= strings.size())
      return std::nullopt;
    return strings[builtinNumbers[1]];
  }

  static ArrayRef<uint64_t> operandsOf(ArrayRef<uint64_t> numbers) {
    if (numbers.size() < 4 || numbers[2] != numbers.size() - 4) return {};
    return numbers.slice(3, numbers[2]);
  }

  void findOps(std::vector<std::string> &ops) const {
    // The function: its name, the end of a symbol, the symbol, references to that.
    std::set<uint64_t> names, ends, symbols, functions;
    auto collect = [&](bool isBuiltin, std::set<uint64_t> &set, auto isWanted) {
      for (uint64_t i = 0; i < attributes.size(); ++i)
        if (attributes[i].isBuiltin == isBuiltin && isWanted(numbersOf(attributes[i]))) set.insert(i);
    };
    collect(true, names, [&](ArrayRef<uint64_t> n) {
      auto name = stringOf(n, String);
      return name && (name->starts_with("register(") || name->starts_with("register_internal("));
    });
    if (names.empty()) return;
    collect(true, ends, [&](ArrayRef<uint64_t> n) { return n.size() == 2 && n[0] == FlatSymbol && names.count(n[1]); });
    collect(true, symbols,
            [&](ArrayRef<uint64_t> n) { return n.size() > 3 && n[0] == Symbol && ends.count(n.back()); });
    collect(false, functions, [&](ArrayRef<uint64_t> n) { return n.size() > 2 && symbols.count(n[1]); });
    std::set<std::string> found;
    for (const Attribute &attribute : attributes) {
      if (attribute.isBuiltin) continue;
      SmallVector<uint64_t, 8> numbers = numbersOf(attribute);
      ArrayRef<uint64_t> operands = operandsOf(numbers);
      if (operands.size() < 2 || !functions.count(operands[0])) continue;
      if (std::optional<StringRef> name = firstString(operands[1], 0)) found.insert(name->str());
    }
    ops.assign(found.begin(), found.end());
  }

  std::optional<StringRef> firstString(uint64_t index, unsigned depth) const {
    if (index >= attributes.size() || depth > 6) return std::nullopt;
    SmallVector<uint64_t, 8> numbers = numbersOf(attributes[index]);
    if (attributes[index].isBuiltin) return stringOf(numbers, TypedString);
    ArrayRef<uint64_t> operands = operandsOf(numbers);
    for (uint64_t operand : operands.take_front(std::min<size_t>(operands.size(), 8)))
      if (auto string = firstString(operand, depth + 1)) return string;
    return std::nullopt;
  }

  StringRef bytes;
  std::pair<uint64_t, uint64_t> sections[SectionCount] = {}; // begin, end
  std::vector<StringRef> strings;
  std::vector<Attribute> attributes;
  uint64_t builtin = ~uint64_t(0);
};

} // namespace

bool isMojoPackage(StringRef contents) { return contents.starts_with("MPKG"); }

std::optional<MojoPackageError> readMojoPackage(StringRef contents, MojoPackage &package) {
  constexpr StringLiteral frameMagic("\x28\xB5\x2F\xFD");
  size_t frame = contents.take_front(1024).find(frameMagic);
  if (frame == StringRef::npos)
    return MojoPackageError{"it has no zstd frame behind its head", std::min<uint64_t>(contents.size(), 1024)};
  // The hash and the size stand in front of the frame.
  size_t hash = StringRef::npos;
  for (size_t at = 4; at + 64 + 1 + 8 <= frame && hash == StringRef::npos; ++at)
    if (contents[at + 64] == '\0' && all_of(contents.substr(at, 64), isHexDigit)) hash = at;
  if (hash == StringRef::npos) return MojoPackageError{"its head has no hash of a compiler", 4};
  package.compiler = contents.substr(hash, 64).str();
  uint64_t size = support::endian::read64le(contents.data() + hash + 65);
  if (size > largest || size / bytesOfByte > contents.size())
    return MojoPackageError{"it claims to hold " + utostr(size) + " bytes", hash + 65};

  if (!compression::zstd::isAvailable()) return MojoPackageError{"this LLVM was built without zstd", frame};
  SmallVector<uint8_t, 0> bytecode;
  if (Error error = compression::zstd::decompress(arrayRefFromStringRef(contents.drop_front(frame)), bytecode, size))
    return MojoPackageError{"its zstd frame is damaged: " + toString(std::move(error)), frame};
  if (auto problem = Bytecode(toStringRef(bytecode)).read(package.ops))
    return MojoPackageError{problem->message, problem->offset, true};
  return std::nullopt;
}

} // namespace coppice
