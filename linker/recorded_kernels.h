// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --no-gc-kernels: nothing is dropped, and between each registration and its kernel stands a function that notes the
// kernel's name when the program runs with COPPICE_RECORD_KERNELS=FILE (runtime/record_kernel.cpp).
#pragma once
#include "analysis/reach/registrations.h"
#include "linker/object_edits.h"

namespace coppice {

struct RecordedKernels {
  std::map<uint32_t, ObjectEdits> objects;    ///< by index in linked()
  std::unique_ptr<llvm::MemoryBuffer> object; ///< the functions; null if there are none
};

/// Registrations that go through no relocation, or whose shape is `symbols` or `objects`, are not recorded.
RecordedKernels recordKernels(const SymbolResolution &resolution, llvm::ArrayRef<Binding> bindings,
                              const Registrations &registrations);

} // namespace coppice
