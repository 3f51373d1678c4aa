// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program as a graph. Vertices are input sections, functions inside of sections that hold several, and common
// symbols; edges are relocations, groups and SHF_LINK_ORDER. Roots and edges are those of lld's --gc-sections
// (lld/ELF/MarkLive.cpp of LLVM 22), so that what is reachable here is what lld keeps. On top of that, edges can be cut
// (a registration whose key is not used) and sections be split into functions.
#pragma once
#include "analysis/reach/function_ranges.h"
#include "analysis/reach/link_settings.h"
#include "analysis/reach/relative_tables.h"
#include "analysis/reach/resolve_symbols.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <string>
#include <vector>

namespace coppice {

class SectionGraph {
public:
  using Node = uint32_t; ///< 0: none
  static constexpr uint32_t noRelocation = ~0u;

  struct Edge {
    Node to;
    uint32_t relocation; ///< index into relocations() of the section; noRelocation: group, link order, fall-through
  };
  enum class RootKind : uint8_t { Entry, Exported, Flag, InitArray, Retained, Unwind, NotLoaded, Lto, Script };
  struct Root {
    Node node;
    RootKind kind;
    uint32_t symbol; ///< of RootKind Entry, Exported, Flag, Lto: index in symbols()
  };

  /// `resolution` and `settings` must outlive this.
  SectionGraph(const SymbolResolution &resolution, const LinkSettings &settings);

  // What is changed before the graph is walked.
  void cut(uint32_t object, uint32_t section, uint32_t relocation);
  /// Does nothing for ranges that are empty.
  void split(uint32_t object, uint32_t section, SectionRanges ranges);
  /// A reference without a relocation, by the instruction at an offset: it goes from the function that has it.
  void cutLocal(uint32_t object, uint32_t section, uint64_t instruction, uint64_t target);
  /// Is the section split, so that cutLocal() has an effect?
  bool isSplit(Node node) const { return state[node] & Split; }
  /// A root besides lld's; -u does the same in lld.
  void keep(uint32_t symbol) { kept.push_back(symbol); }
  /// An object's constructors (.init_array and the like) are no roots.
  void dropConstructors(uint32_t object) { withoutConstructors.insert(object); }
  /// A symbol is not exported, whatever its visibility.
  void hide(uint32_t symbol) { hidden.insert(symbol); }

  size_t size() const { return nodes; }
  void forEachRoot(llvm::function_ref<void(Root)> visit) const;
  void forEachEdge(Node node, llvm::function_ref<void(Edge)> visit) const;

  /// Edges that were cut, from a section or the functions in it; `from` is the function where it has one.
  void forEachCut(Node section, llvm::function_ref<void(Node from, Edge)> visit) const;

  Node nodeOf(uint32_t object, uint32_t section) const { return firstNode[object] + section; }
  /// Does lld make an input section of it (and not discard it with its COMDAT group)?
  bool isPresent(Node node) const { return state[node] & Present; }
  bool isSection(Node node) const { return node < commons; }
  bool isCommon(Node node) const { return node >= commons && node < firstRange; }
  bool isRange(Node node) const { return node >= firstRange; }
  uint32_t objectOf(Node node) const;
  /// Of a section or a function.
  uint32_t sectionOf(Node node) const;
  /// Of a common symbol: index in symbols().
  uint32_t commonSymbol(Node node) const { return commonSymbols[node - commons]; }
  const FunctionRange &range(Node node) const;
  /// The functions of a section that was split: their nodes follow each other.
  llvm::ArrayRef<FunctionRange> rangesOf(Node section) const;
  Node firstRangeOf(Node section) const;
  /// What is known about the code of a section that was split; null: it was not.
  const SectionRanges *functionsOf(Node section) const;
  bool isEhFrame(Node node) const { return state[node] & EhFrame; }
  /// Bytes in memory: of the section, function or common symbol.
  uint64_t sizeOf(Node node) const;
  bool isExported(const GlobalSymbol &symbol, uint32_t id) const {
    return isExported(symbol, id, settings.hideExports);
  }
  /// With or without --hide-exports.
  bool isExported(const GlobalSymbol &symbol, uint32_t id, bool hideExports) const;
  /// Where a definition is: the section, and the function in it if that was split.
  void forEachNodeOfSymbol(const GlobalSymbol &symbol, llvm::function_ref<void(Node)> visit) const;
  const SymbolResolution &symbols() const { return resolution; }

private:
  enum : uint8_t { Present = 1, InGroup = 2, EhFrame = 4, Split = 8, Cut = 16 };
  struct SplitSection {
    SectionRanges functions;
    std::vector<uint32_t> byOffset; // relocations in order
    Node first;
  };
  void addSections(uint32_t object);
  void reach(Node section, uint64_t offset, uint32_t relocation, llvm::function_ref<void(Edge)> visit) const;
  void reachWhole(Node section, uint32_t relocation, llvm::function_ref<void(Edge)> visit) const;
  void follow(Node from, uint32_t relocation, bool fromFde, llvm::function_ref<void(Edge)> visit) const;
  void followGlobal(Node from, uint32_t symbol, const ObjectFile::Relocation &r, bool fromFde, uint32_t relocation,
                    llvm::function_ref<void(Edge)> visit) const;
  void followTo(Node from, uint32_t object, uint32_t symbol, const ObjectFile::Relocation &r, bool fromFde,
                uint32_t relocation, llvm::function_ref<void(Edge)> visit) const;
  void scanEhFrame(Node node, llvm::function_ref<void(Edge)> visit) const;
  bool isReserved(Node node) const;
  bool isCut(Node node, uint32_t relocation) const;

  const SymbolResolution &resolution;
  const LinkSettings &settings;
  std::vector<const LinkedObject *> objects;
  std::vector<Node> definition; // of each symbol: the section; 0 if it has none that is present
  std::vector<Node> firstNode;  // of each object
  std::vector<uint8_t> state;   // of each section
  std::vector<uint32_t> owner;  // object of each section
  std::vector<Node> nextInGroup;
  llvm::DenseMap<Node, llvm::SmallVector<Node, 2>> dependents;
  llvm::DenseMap<Node, std::vector<uint32_t>> cuts; // sorted
  llvm::DenseMap<Node, SplitSection> splits;
  llvm::DenseMap<uint32_t, std::unique_ptr<RelativeTables>> tables; // of objects with sections that are split
  std::vector<std::pair<Node, uint32_t>> rangeOwner;                // section, index, of each range node
  std::vector<uint32_t> commonSymbols;
  llvm::DenseMap<uint32_t, Node> commonNode;
  llvm::DenseMap<uint32_t, llvm::SmallVector<uint32_t, 1>> alsoMeans; // --wrap
  llvm::StringMap<std::vector<Node>> startStop;                       // "__start_x" -> sections x
  std::vector<uint32_t> kept;
  llvm::DenseSet<uint32_t> withoutConstructors, hidden;
  Node commons = 1, firstRange = 1, nodes = 1;
};

/// What is reachable from the roots: for each node whether it is.
std::vector<char> markLive(const SectionGraph &graph);

} // namespace coppice
