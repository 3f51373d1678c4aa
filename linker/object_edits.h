// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes to objects that lld is given in place of what is on disk. What keeps an object's size is done in a private
// mapping of its file; new symbols and sections need new tables, which are written behind the object, and an archive
// that holds such an object is put together again in memory.
#pragma once
#include "analysis/reach/resolve_symbols.h"
#include "linker/split_object.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace coppice {

/// Changes to one object of the link.
struct ObjectEdits {
  struct Retarget {
    uint32_t section, relocation;
    std::string symbol; ///< a global symbol that the object shall refer to; empty: R_X86_64_NONE
  };
  struct Definition {
    std::string name; ///< hidden and global
    uint32_t section;
    uint64_t offset;
  };
  struct Fill {
    uint32_t section;
    uint64_t begin, end; ///< becomes int3
  };
  struct Jump {
    uint32_t section;
    uint64_t offset; ///< of five bytes of code
    std::string symbol;
  };
  struct Shorter {
    uint32_t section;
    std::string contents; ///< no longer than what they replace
  };
  std::vector<Shorter> shorter;
  std::vector<Retarget> relocations;
  std::vector<Jump> jumps; ///< done after the fills
  std::vector<Definition> definitions;
  std::vector<Fill> fills;
  std::vector<uint32_t> excluded; ///< sections that lld shall leave out
  std::vector<uint32_t> hidden;   ///< symbols
  /// Done last: sections that become a section for each function, and what is known about the object's other code. Not
  /// all of it may be possible.
  std::vector<SectionFunctions> functions;
  std::vector<char> liveSections; ///< of each section, where `functions` is not empty

  bool needsNewSymbols() const;
};

/// Contents that stand for an input.
struct EditedInput {
  size_t file = 0; ///< index of the input
  std::unique_ptr<llvm::MemoryBuffer> contents;
};

/// `edits` by index in resolution.linked(). `mapped`: private mappings of inputs that have been edited already, by
/// index; what is in them is kept, and those of them that no edit is for are in the result as well. In the order of the
/// inputs. Fails when memory runs out. `notSplit`: sections whose functions stay together, and why.
llvm::Expected<std::vector<EditedInput>>
applyEdits(const SymbolResolution &resolution, const std::map<uint32_t, ObjectEdits> &edits,
           std::map<size_t, std::unique_ptr<llvm::WritableMemoryBuffer>> mapped, std::vector<std::string> &notSplit);

} // namespace coppice
