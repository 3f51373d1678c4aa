// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A section of its own for each function of an object that was built without -ffunction-sections, so that lld's garbage
// collection takes dead functions out of the file. The code itself is not moved in memory: section headers are added
// that lie over the old section, which is left to the dead functions and is referred to by nothing that lives.
// References between functions that the assembler resolved get relocations. A section of which anything is not certain
// stays as it is.
#pragma once
#include "analysis/reach/function_ranges.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace coppice {

/// A section with several functions.
struct SectionFunctions {
  enum Keep : uint8_t {
    Dead,
    Stub, ///< dead, and something stands in its place
    Live,
  };
  uint32_t section = 0;
  const SectionRanges *functions = nullptr;
  std::vector<Keep> keep; ///< of each of functions->ranges
  bool split = false;     ///< shall it be split?
};

struct SplitObject {
  std::unique_ptr<llvm::WritableMemoryBuffer> object; ///< null: nothing could be split
  std::vector<std::string> notSplit;                  ///< "(.text): why"
};

/// `original` is what was analysed, `edited` the same object with relocations changed or added at the end of tables and
/// symbols added at the end. `isLive`: of each section.
llvm::Expected<SplitObject> splitObject(const ObjectFile &original, const ObjectFile &edited,
                                        llvm::ArrayRef<SectionFunctions> sections, llvm::ArrayRef<char> isLive,
                                        llvm::StringRef name);

} // namespace coppice
