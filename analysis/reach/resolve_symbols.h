// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which members of which archives a link extracts, by lld's rules: files in order; a defined symbol of a file first,
// then its undefined ones; an archive's member is extracted as soon as a strong undefined reference meets it, whichever
// comes first.
#pragma once
#include "analysis/input_file.h"
#include "analysis/object_symbols.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/StringSaver.h"
#include <vector>

namespace coppice {

class SymbolResolution {
public:
  /// `inputs` must outlive this.
  explicit SymbolResolution(const std::vector<InputFile> &inputs) : inputs(inputs) {}

  /// Reads all inputs once. The error names the file.
  llvm::Error run();
  /// As if an object with this undefined reference were linked too; may extract.
  llvm::Error require(llvm::StringRef name);

  /// Objects and extracted members, in order of extraction. Grows with require().
  const std::vector<ObjectRef> &linked() const { return objects; }
  /// Is there a reference to this symbol in what is linked (defined or not)?
  bool isReferenced(llvm::StringRef name) const;
  /// Does something that is linked define it?
  bool isDefined(llvm::StringRef name) const;

private:
  struct Symbol {
    enum { None, Undefined, WeakUndefined, Lazy, Shared, Defined } state = None;
    bool referenced = false;
    size_t file = 0;
    uint64_t member = 0; // state Lazy: where the definition is
  };
  llvm::Error addObject(ObjectRef object);
  llvm::Error addArchive(size_t file);
  llvm::Error addLazyObject(size_t file);
  llvm::Error addShared(size_t file);
  llvm::Error offerLazy(llvm::StringRef name, size_t file, uint64_t member);
  llvm::Error reference(llvm::StringRef name, bool weak);
  llvm::Error extract(size_t file, uint64_t member);

  const std::vector<InputFile> &inputs;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
  llvm::StringMap<Symbol> symbols;
  llvm::StringMap<char> extracted; // "file:member"
  std::vector<ObjectRef> objects;
};

} // namespace coppice
