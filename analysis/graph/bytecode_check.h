// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of MLIR bytecode, https://mlir.llvm.org/docs/BytecodeFormat/: header and sections. MLIR's reader says what
// is wrong with a file but not where; a cut off or overwritten file is found here, with the offset.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace coppice {

struct BytecodeError {
  uint64_t offset; ///< of what cannot be read
  std::string message;
};

/// `bytes` begin with the magic number. Looks at no contents of sections.
std::optional<BytecodeError> checkBytecode(llvm::StringRef bytes);

} // namespace coppice
