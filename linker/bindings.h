// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bindings a link asks to drop kernels, and what its graphs, lists and flags use of each.
#pragma once
#include "analysis/graph/import.h"
#include "analysis/reach/shake.h"
#include "linker/command_line.h"

namespace coppice {

/// Those that ship with Coppice and --binding; a file's name wins over a built-in one of the same name.
std::vector<Binding> loadBindings(const LinkOptions &options, Diagnostics &diagnostics);

/// Could this link drop registrations? Without reading anything but the first bytes of the graphs.
bool mayUseBindings(const LinkOptions &options);

struct KeyGraphs {
  /// Graphs of the command line that are lists of keys: by index in options.graphs. No plan is made of them unless the
  /// program imports them too.
  std::vector<char> isKeyGraph;
  std::vector<std::string> filesRead;
  std::vector<BindingUse> uses; ///< of each binding
};

/// Reads the graphs and lists. A graph of a format that bindings read makes these conditional, if their framework is
/// linked; so do --gc-kernels and --keep-from.
KeyGraphs readKeyGraphs(const LinkOptions &options, llvm::ArrayRef<Binding> bindings,
                        const Registrations &registrations, Diagnostics &diagnostics);

/// Shape `symbols`: a used key refers to its symbol, and may extract members.
llvm::Error requireSymbolsOfKeys(SymbolResolution &resolution, llvm::ArrayRef<Binding> bindings,
                                 const std::vector<BindingUse> &uses);

/// COP103: the symbol of a used key is in several archives. (An object on the command line wins over all of them.)
void reportKeysOfSeveralArchives(const SymbolResolution &resolution, llvm::ArrayRef<Binding> bindings,
                                 const std::vector<BindingUse> &uses, Diagnostics &diagnostics);

/// COP101 for keys of graphs that nothing registers, with the nearest names; COP404 for names in lists.
void reportMissingKeys(const SymbolResolution &resolution, llvm::ArrayRef<Binding> bindings,
                       const Registrations &registrations, const std::vector<BindingUse> &uses,
                       Diagnostics &diagnostics);

} // namespace coppice
