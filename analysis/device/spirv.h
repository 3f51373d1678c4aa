// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPIR-V modules: 32-bit words, an instruction begins with its length and number (SPIR-V specification, 2.3).
#pragma once
#include "analysis/device/device_image.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace coppice {

bool isSpirv(llvm::ArrayRef<uint8_t> bytes);

/// Entry points and the functions that they reach, by name; functions without one are called "%12".
llvm::Expected<std::vector<DeviceFunction>> readSpirv(llvm::ArrayRef<uint8_t> bytes);

} // namespace coppice
