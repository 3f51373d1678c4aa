// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA's cubins: ELF files for one GPU, with a section for each function. From sm_100 on a second set of sections
// ("Mercury", .nv.merc.*, .nv.capmerc.*) says the same in another form; its sizes are counted with the first set's.
#pragma once
#include "analysis/device/device_image.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace coppice {

bool isCubin(llvm::ArrayRef<uint8_t> bytes);

/// From the ELF header. The number only: sm_90a and sm_90 are told apart by the container.
unsigned cubinArchitecture(llvm::ArrayRef<uint8_t> cubin);

/// Functions by name. `bytes` is what sections of its own a function has. References: relocations of these sections
/// and .nv.callgraph.
llvm::Expected<std::vector<DeviceFunction>> readCubinFunctions(llvm::ArrayRef<uint8_t> cubin);

} // namespace coppice
