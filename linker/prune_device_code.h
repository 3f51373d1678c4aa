// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --target=cuda:…,hip:…: device images for other targets are left out of the program. Fatbins and bundles become
// shorter in the objects that lld is given.
#pragma once
#include "analysis/device/device_targets.h"
#include "analysis/diagnostic.h"
#include "linker/object_edits.h"

namespace coppice {

struct PrunedDeviceCode {
  uint64_t bytesBefore = 0, bytesAfter = 0; ///< of sections with device code
};

/// Adds to `edits`, by index in resolution.linked(). Reports COP601 for a target that no image of the link serves,
/// COP602 for objects that have none for a target that others serve, or PTX only, and for what is kept since it was not
/// understood.
PrunedDeviceCode pruneDeviceCode(const SymbolResolution &resolution, const WantedTargets &wanted,
                                 std::map<uint32_t, ObjectEdits> &edits, Diagnostics &diagnostics);

} // namespace coppice
