// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loaders that runtime-stub/loader builds, part of this program.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace coppice {

/// Starts with a LoaderHeader; its code may lie anywhere.
llvm::StringRef fastLoader();
llvm::StringRef smallLoader(); ///< half the size, and decodes at about half the speed

} // namespace coppice
