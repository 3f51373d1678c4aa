// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symbol resolution by lld's rules: which members of which archives a link extracts, and which definition each symbol
// gets. Files in order; the defined symbols of a file first, then its undefined ones; a member is extracted as soon as
// a strong undefined reference meets it, whichever comes first. COMDAT groups belong to the object extracted first, and
// symbols are resolved without regard to them.
#pragma once
#include "analysis/input_file.h"
#include "analysis/object_symbols.h"
#include "analysis/reach/link_settings.h"
#include "analysis/reach/object_file.h"
#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/StringSaver.h"
#include <deque>
#include <optional>
#include <vector>

namespace coppice {

/// A symbol that several objects may mean.
struct GlobalSymbol {
  enum Kind : uint8_t { None, Undefined, Lazy, Shared, Common, Defined };
  llvm::StringRef name;
  Kind kind = None;
  uint8_t binding =
      llvm::ELF::STB_GLOBAL; ///< of the definition; of what is undefined or lazy: are all references weak?
  uint8_t visibility = llvm::ELF::STV_DEFAULT;
  bool referenced = false; ///< by an object or a shared library that is linked
  bool exported = false;   ///< a shared library defines or refers to it
  uint32_t object = 0;     ///< Defined, Common: index in linked(). Lazy, Shared: index of the input
  uint32_t index = 0;      ///< Defined, Common: index in that object's symbol table
  uint64_t member = 0;     ///< Lazy: the member's offset in the archive
};

/// An object of the link with what its symbols mean.
struct LinkedObject : ObjectRef {
  std::optional<ObjectFile> elf; ///< not for bitcode
  std::vector<uint32_t> globals; ///< for each symbol from elf->firstGlobal() on, or of the bitcode: index in symbols()
  std::vector<uint32_t> groups;  ///< SHT_GROUP sections
  bool mentionsCoppice = false;  ///< it has a symbol "coppice.…", or gcc's LTO code alone
  std::vector<uint32_t> losing;  ///< groups, and .gnu.linkonce sections, whose contents an earlier object gives
};

class SymbolResolution {
public:
  /// `inputs` must outlive this. `order`: indices of the inputs as lld sees them; empty: as they are.
  explicit SymbolResolution(const std::vector<InputFile> &inputs, LinkSettings settings = {},
                            std::vector<size_t> order = {})
      : inputs(inputs), settings(std::move(settings)), order(std::move(order)) {}

  /// Reads all inputs once. The error names the file.
  llvm::Error run();
  /// As if an object with this undefined reference were linked too; may extract.
  llvm::Error require(llvm::StringRef name);

  /// Objects and extracted members, in order of extraction. Grows with require(); elements stay where they are.
  const std::deque<LinkedObject> &linked() const { return objects; }
  const std::vector<GlobalSymbol> &symbols() const { return symbolList; }
  /// Null if nothing mentions it.
  const GlobalSymbol *find(llvm::StringRef name) const;
  /// Is there a reference to this symbol in what is linked (defined or not)?
  bool isReferenced(llvm::StringRef name) const;
  /// Does something that is linked define it?
  bool isDefined(llvm::StringRef name) const;
  const std::vector<InputFile> &files() const { return inputs; }

private:
  llvm::Error addObject(ObjectRef object);
  llvm::Error addBitcodeSymbols(LinkedObject &object);
  llvm::Error addElfSymbols(LinkedObject &object);
  void chooseGroups(LinkedObject &object, llvm::ArrayRef<llvm::CachedHashStringRef> names);
  llvm::Error addArchive(size_t file);
  llvm::Error addLazyObject(size_t file);
  llvm::Error addShared(size_t file);
  llvm::Error offerLazy(llvm::CachedHashStringRef name, size_t file, uint64_t member);
  llvm::Error reference(uint32_t id, bool weak, uint8_t visibility = llvm::ELF::STV_DEFAULT);
  void define(uint32_t id, size_t object, uint32_t index, uint8_t binding, bool common);
  llvm::Error extract(size_t file, uint64_t member);
  llvm::Expected<ObjectRef> openMember(size_t file, uint64_t member) const;
  bool replacesCommon(llvm::StringRef name, size_t file, uint64_t member);
  uint32_t intern(llvm::CachedHashStringRef name);
  uint32_t intern(llvm::StringRef name) { return intern(llvm::CachedHashStringRef(name)); }
  void readAhead();

  const std::vector<InputFile> &inputs;
  LinkSettings settings;
  std::vector<size_t> order;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
  llvm::DenseMap<llvm::CachedHashStringRef, uint32_t> ids;
  std::vector<GlobalSymbol> symbolList;
  /// What needs no order: done for all objects in parallel.
  struct ReadAhead {
    std::optional<ObjectFile> elf;
    std::vector<llvm::CachedHashStringRef> names; ///< of global symbols, without @@VERSION
  };
  llvm::DenseMap<std::pair<size_t, uint64_t>, ReadAhead> ahead;
  std::vector<std::vector<llvm::CachedHashStringRef>> indexNames; ///< of each archive's index
  llvm::DenseSet<std::pair<size_t, uint64_t>> extracted;
  llvm::DenseMap<llvm::CachedHashStringRef, uint32_t> groupOwner;
  std::deque<LinkedObject> objects;
};

} // namespace coppice
