// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU code objects (LLVM's AMDGPUUsage, "Code Object"): linked ELF files; a kernel K has a descriptor K.kd.
#pragma once
#include "analysis/device/device_image.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace coppice {

bool isCodeObject(llvm::ArrayRef<uint8_t> bytes);

struct CodeObject {
  DeviceTarget target;                   ///< from e_flags, without xnack and sramecc
  std::vector<DeviceFunction> functions; ///< by name
};
llvm::Expected<CodeObject> readCodeObject(llvm::ArrayRef<uint8_t> bytes);

} // namespace coppice
