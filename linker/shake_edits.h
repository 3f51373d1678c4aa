// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What has to change in the objects so that lld drops what is dead.
#pragma once
#include "analysis/reach/shake.h"
#include "linker/object_edits.h"

namespace coppice {

struct ShakeEdits {
  std::map<uint32_t, ObjectEdits> objects; ///< by index in linked()
  std::vector<std::string> droppedKernels; ///< that need a function in their place; sorted
  std::vector<std::string> undefined;      ///< symbols that lld has to keep (-u)
};

/// Which objects get a section for each function, so that dead ones take no space?
enum class SplitSections : uint8_t {
  Never,
  WithoutDebugInfo, ///< line tables would describe one section
  Always,
  All, ///< those with nothing dead as well: for tests
};

/// Reports symbols of `dropped: SYMBOL` that nothing defines (COP402).
ShakeEdits editsFor(const Shaken &shaken, llvm::ArrayRef<Binding> bindings, SplitSections splitSections,
                    Diagnostics &diagnostics);

} // namespace coppice
