// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/spirv.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <map>

using namespace llvm;
using namespace llvm::support::endian;

namespace coppice {
namespace {

constexpr uint32_t magic = 0x07230203;
constexpr uint64_t headerWords = 5;
enum Op : uint16_t { OpName = 5, OpEntryPoint = 15, OpFunction = 54, OpFunctionEnd = 56, OpFunctionCall = 57 };

std::string literalAt(ArrayRef<uint8_t> bytes, uint64_t word, uint64_t endWord) {
  std::string result;
  for (uint64_t at = word * 4; at < endWord * 4 && bytes[at]; ++at) result += char(bytes[at]);
  return result;
}

} // namespace

bool isSpirv(ArrayRef<uint8_t> bytes) { return bytes.size() >= headerWords * 4 && read32le(bytes.data()) == magic; }

Expected<std::vector<DeviceFunction>> readSpirv(ArrayRef<uint8_t> bytes) {
  if (!isSpirv(bytes)) return createStringError("this is no SPIR-V");
  uint64_t words = bytes.size() / 4;
  auto word = [&](uint64_t index) { return read32le(&bytes[index * 4]); };
  std::map<uint32_t, std::string> names, entryPoints;
  struct Function {
    uint32_t id;
    uint64_t bytes = 0;
    std::vector<uint32_t> calls;
  };
  std::vector<Function> functions;
  bool inFunction = false;
  for (uint64_t at = headerWords; at < words;) {
    uint64_t length = word(at) >> 16;
    uint16_t op = uint16_t(word(at));
    if (!length || length > words - at)
      return createStringError("the instruction at " + std::to_string(at * 4) + " is cut off");
    uint64_t end = at + length;
    if (op == OpName && length >= 3) names[word(at + 1)] = literalAt(bytes, at + 2, end);
    if (op == OpEntryPoint && length >= 4) entryPoints[word(at + 2)] = literalAt(bytes, at + 3, end);
    if (op == OpFunction && length >= 3) {
      functions.push_back({word(at + 2), 0, {}});
      inFunction = true;
    }
    if (inFunction) functions.back().bytes += length * 4;
    if (op == OpFunctionCall && length >= 4 && inFunction) functions.back().calls.push_back(word(at + 3));
    if (op == OpFunctionEnd) inFunction = false;
    at = end;
  }

  auto nameOf = [&](uint32_t id) {
    if (auto it = entryPoints.find(id); it != entryPoints.end()) return it->second;
    if (auto it = names.find(id); it != names.end() && !it->second.empty()) return it->second;
    return "%" + std::to_string(id);
  };
  llvm::stable_sort(functions, [&](auto &a, auto &b) { return nameOf(a.id) < nameOf(b.id); });
  std::map<uint32_t, uint32_t> place;
  for (uint32_t i = 0; i < functions.size(); ++i) place[functions[i].id] = i;
  std::vector<DeviceFunction> result;
  for (const Function &f : functions) {
    DeviceFunction function;
    function.name = nameOf(f.id);
    function.isKernel = entryPoints.count(f.id) > 0;
    function.bytes = f.bytes;
    for (uint32_t call : f.calls)
      if (auto it = place.find(call); it != place.end()) function.references.push_back(it->second);
    llvm::sort(function.references);
    function.references.erase(llvm::unique(function.references), function.references.end());
    result.push_back(std::move(function));
  }
  return result;
}

} // namespace coppice
