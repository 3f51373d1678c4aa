// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which registrations count, and what is alive then. A registration counts when its key is used: by a graph, by hand,
// or because another key brings it. What only registrations that do not count refer to is dead.
#pragma once
#include "analysis/reach/code_uses.h"
#include "analysis/reach/registrations.h"
#include "analysis/reach/section_graph.h"
#include <memory>

namespace coppice {

/// What the user and the graphs of the program want of one binding.
struct BindingUse {
  bool isConditional = false; ///< its registrations count only with their keys
  std::vector<UsedKey> keys;
};

struct ShakeOptions {
  std::vector<std::string> keepKernels; ///< globs over keys and kernels
  VariantChoice variants = VariantChoice::All;
  unsigned cpuLevel = 1;
  bool splitFunctions = true; ///< find dead functions in sections that live
};

enum class Verdict : uint8_t {
  Unconditional, ///< its binding is not asked to drop anything
  Used,
  KeyUnused,     ///< dropped
  VariantUnused, ///< dropped: the key is used, another variant serves it
};

struct Shaken {
  std::unique_ptr<SectionGraph> graph;
  std::vector<char> live; ///< of each node
  Registrations registrations;
  std::vector<Verdict> verdicts;      ///< of each of registrations.list
  std::vector<char> constructorsDead; ///< of each of registrations.objects
  std::vector<std::string> keptWhole; ///< "libk.a(conv.o):(.text): why its functions could not be told apart"
  /// Code that asks its framework for kernels that no constant names. Its binding drops nothing then, unless a list
  /// says what is needed.
  std::vector<CodeUses::Unknown> unknownUses;
  /// What the closures point into.
  std::vector<BindingUse> uses;
  std::vector<KeyClosure> closures; ///< of each binding
  bool cutsAnything = false;
  /// What only exported symbols keep alive, where kernels are dropped: symbols (indices in symbols()) with the bytes
  /// that each pins besides those before it, largest first.
  std::vector<std::pair<uint32_t, uint64_t>> pinnedByExports;
  /// --hide-exports: symbols (indices in symbols()) that would have been exported.
  std::vector<uint32_t> hiddenExports;

  bool counts(size_t registration) const { return verdicts[registration] <= Verdict::Used; }
};

/// Does the pattern of --keep-kernel name it?
bool matchesGlob(llvm::StringRef pattern, const Registration &registration);

/// `resolution`, `settings` and `bindings` must outlive the result.
Shaken shake(const SymbolResolution &resolution, const LinkSettings &settings, llvm::ArrayRef<Binding> bindings,
             Registrations registrations, std::vector<BindingUse> uses, const ShakeOptions &options);

} // namespace coppice
