// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands in the place of kernels that were dropped, as an object in memory: for each a function that names it and
// ends the program (runtime/dropped_kernel.cpp).
#pragma once
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace coppice {

/// The symbol of the function for a kernel.
std::string droppedKernelSymbol(llvm::StringRef kernel);

/// `kernels`: sorted, without duplicates. `program` is what the message calls the program.
std::unique_ptr<llvm::MemoryBuffer> droppedKernelsObject(const std::vector<std::string> &kernels,
                                                         const std::string &program);

} // namespace coppice
