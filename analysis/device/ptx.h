// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX: NVIDIA's virtual machine as text (PTX ISA, "Directives").
#pragma once
#include "analysis/device/device_image.h"

namespace coppice {

/// Does the text begin with a .version directive, comments aside?
bool isPtx(llvm::StringRef text);

struct PtxModule {
  DeviceTarget target;                   ///< of .target
  std::vector<DeviceFunction> functions; ///< with a body, by name; `bytes` is their text
};

/// Takes any text. Strings and comments are skipped; what is no directive that defines a function is passed over.
PtxModule readPtx(llvm::StringRef text);

} // namespace coppice
