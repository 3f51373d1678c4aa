// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why each thing of a linked program is there: a forest of items, each with what keeps it and with its dominator, and
// what was dropped for want of a key. Kept in the program's section .coppice.why, which is not loaded:
//   0 "CPWHYR01"   8 u64 size of the contents   16 u64 size as stored (smaller: one zstd frame)   24 contents
// Numbers of the header are little-endian; the contents are LEB128 numbers and a table of strings (why_record.cpp).
#pragma once
#include "analysis/diagnostic.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"
#include <memory>
#include <string>
#include <vector>

namespace coppice {

inline constexpr char whySectionName[] = ".coppice.why";

struct WhyRecord {
  static constexpr uint32_t none = ~0u;

  enum class Kind : uint8_t {
    Program,      ///< item 0: what is linked
    Dropped,      ///< item 1: above what would be there if a key were used
    Unreferenced, ///< item 2: above what nothing refers to. Only where --why asks at link time
    Graph,        ///< a compiled one (its plan), or one whose ops are keys
    List,         ///< --keep-from=FILE, --keep-kernel=GLOB
    Code,         ///< a function of the program that asks for an op by itself
    Key,          ///< of a binding
    Op,           ///< of a compiled graph: an op with the kernels that were chosen for it
    Section,
    Function, ///< in a section that holds several
    Common,
  };
  enum class Via : uint8_t {
    Top,          ///< no parent: items 0 to 2
    Entry,        ///< roots of --gc-sections; the parent is the program
    Exported,     //
    Flag,         ///< -u, --keep-kernel of a kernel of Coppice's own
    InitArray,    ///< static constructors
    Retained,     ///< SHF_GNU_RETAIN
    Unwind,       ///< .eh_frame, and what it needs
    NotLoaded,    //
    Lto,          ///< bitcode mentions it
    Script,       ///< KEEP
    Given,        ///< a graph, a list, code that asks for ops
    Always,       ///< a key that its binding always needs
    Use,          ///< parent: a graph or list. detail: in `uses`
    Rule,         ///< parent: a key that brings this one. detail: in `uses`, the rule's place
    Registration, ///< parent: a key. detail: in `registrations`
    Reference,    ///< a relocation, or an instruction without one
    Grouped,      ///< same group, SHF_LINK_ORDER, or the function before runs on into this one
    Missing,      ///< parent: Dropped. A key that nothing uses, or a variant that is not wanted
    Unreferenced, ///< parent: Unreferenced
  };

  struct Item {
    Kind kind = Kind::Program;
    Via via = Via::Top;
    bool isOnlyWay = false;  ///< without this parent's reference it, and all that it dominates, would go
    bool isFilled = false;   ///< a dead function in a section that lives: its bytes are traps
    bool hasNoBytes = false; ///< SHT_NOBITS: takes memory, not file space
    uint32_t detail = none;
    uint32_t parent = 0, dominator = 0; ///< both less than the item's own index, but for items 0 to 2
    uint32_t object = none;
    llvm::StringRef name;    ///< symbol, mangled (empty: none names it); of graphs, lists, keys, ops their own
    llvm::StringRef section; ///< its name. Key: the binding. Graph: the file. Variant that is missing: see `variant`
    llvm::StringRef variant; ///< Via::Missing: the key is used, this variant of its kernels is not
    uint64_t size = 0;       ///< bytes of input, without those of functions in a section that have items of their own
    uint64_t retained = 0;   ///< with all that it dominates; not stored
  };
  struct Object {
    llvm::StringRef file, member; ///< member: of an archive
    std::string name() const;
  };
  struct Use {
    llvm::StringRef file, node;
    uint32_t line = 0, column = 0;
    uint64_t count = 1;
    Place place() const;
  };
  struct Registration {
    enum class Verdict : uint8_t { Unconditional, Used, KeyUnused, VariantUnused };
    Verdict verdict = Verdict::Unconditional;
    llvm::StringRef binding, key, kernel, variant; ///< kernel: demangled
    uint32_t object = none;
    uint32_t registry = none; ///< the item that refers to the kernel
    uint32_t item = none;     ///< the key
  };
  struct Alias {
    uint32_t item = 0;
    llvm::StringRef name; ///< a further symbol in the item, mangled
  };

  std::vector<Item> items;
  std::vector<Object> objects;
  std::vector<Use> uses;
  std::vector<Registration> registrations;
  std::vector<Alias> aliases; ///< by item
  /// Dropped for no key: nothing refers to it. Not counted where such have items.
  uint64_t unreferencedCount = 0, unreferencedBytes = 0;
  std::vector<llvm::StringRef> notes; ///< what could not be told apart or understood, and was kept

  bool isLive(uint32_t item) const { return root(item) == 0; }
  /// 0, 1 or 2.
  uint32_t root(uint32_t item) const;
  /// Fills `retained` from dominators and sizes.
  void addUpRetained();

  /// Where strings live that are in no input.
  llvm::StringRef save(const llvm::Twine &text) { return saver->save(text); }
  std::unique_ptr<llvm::WritableMemoryBuffer> contents; ///< of a record that was read
  std::unique_ptr<llvm::BumpPtrAllocator> allocator = std::make_unique<llvm::BumpPtrAllocator>();
  std::unique_ptr<llvm::StringSaver> saver = std::make_unique<llvm::StringSaver>(*allocator);
};

/// The section's contents.
std::string writeWhyRecord(const WhyRecord &record);
/// Any bytes. The error says what is wrong and where. Strings point into the result.
llvm::Expected<WhyRecord> readWhyRecord(llvm::StringRef contents);

} // namespace coppice
