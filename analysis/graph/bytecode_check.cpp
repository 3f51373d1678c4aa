// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/bytecode_check.h"
#include "mlir/Bytecode/Encoding.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace coppice;
using llvm::formatv;
using llvm::StringRef;
namespace bytecode = mlir::bytecode;

namespace {

StringRef sectionName(unsigned id) {
  static constexpr StringRef names[bytecode::Section::kNumSections] = {
      "string",   "dialect",         "attribute",       "attribute offset", "IR",
      "resource", "resource offset", "dialect version", "property"};
  return names[id];
}

class Frame {
public:
  explicit Frame(StringRef bytes) : bytes(bytes) {}

  std::optional<BytecodeError> check() {
    at = 4; // the magic number
    uint64_t version = 0;
    if (!number(version)) return error(4, "the version is cut off");
    if (version > bytecode::kVersion)
      return error(4, formatv("it has version {0}, and this Coppice reads versions {1} to {2}", version,
                              unsigned(bytecode::kMinSupportedVersion), unsigned(bytecode::kVersion)));
    size_t end = bytes.find('\0', at);
    if (end == StringRef::npos) return error(at, "the name of its producer does not end");
    for (at = end + 1; at < bytes.size();)
      if (auto problem = section()) return problem;
    using namespace bytecode::Section;
    unsigned needed = 1u << kString | 1u << kDialect | 1u << kAttrType | 1u << kAttrTypeOffset | 1u << kIR;
    if (version >= bytecode::kNativePropertiesEncoding) needed |= 1u << kProperties;
    if (unsigned absent = needed & ~seen)
      return error(at, formatv("it ends without the {0} section", sectionName(llvm::countr_zero(absent))));
    return std::nullopt;
  }

private:
  /// Identifier (7 bits) and "is aligned" (1 bit), length, then alignment and padding, then the contents.
  std::optional<BytecodeError> section() {
    size_t start = at;
    uint8_t head = bytes[at++];
    unsigned id = head & 0x7f;
    if (id >= bytecode::Section::kNumSections) return error(start, formatv("section {0} does not exist", id));
    if (seen >> id & 1) return error(start, formatv("a second {0} section", sectionName(id)));
    seen |= 1u << id;
    uint64_t length = 0, alignment = 1;
    if (!number(length) || (head & 0x80 && !number(alignment))) return error(start, "the head of a section is cut off");
    if (!llvm::isPowerOf2_64(alignment) || alignment > bytes.size())
      return error(start, formatv("the {0} section has alignment {1}", sectionName(id), alignment));
    at = llvm::alignTo(at, alignment);
    uint64_t left = at < bytes.size() ? bytes.size() - at : 0;
    if (length > left)
      return error(start, formatv("the {0} section needs {1} bytes, {2} are left", sectionName(id), length, left));
    at += length;
    return std::nullopt;
  }

  /// The low zeros of the first byte count the bytes that follow; the number follows the lowest one.
  bool number(uint64_t &value) {
    if (at >= bytes.size()) return false;
    auto first = static_cast<uint8_t>(bytes[at]);
    unsigned more = first ? llvm::countr_zero(first) : 8;
    if (bytes.size() - at <= more) return false;
    value = 0;
    for (unsigned i = 0; i < more; ++i) value |= uint64_t(static_cast<uint8_t>(bytes[at + 1 + i])) << 8 * i;
    if (first) value = (value << 8 | first) >> (more + 1);
    at += more + 1;
    return true;
  }

  static BytecodeError error(uint64_t offset, std::string message) { return {offset, std::move(message)}; }

  StringRef bytes;
  size_t at = 0;
  unsigned seen = 0;
};

} // namespace

std::optional<BytecodeError> coppice::checkBytecode(StringRef bytes) { return Frame(bytes).check(); }
