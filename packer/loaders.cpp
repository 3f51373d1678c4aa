// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "packer/loaders.h"

#ifdef COPPICE_FAST_LOADER // not where this is built for another architecture
// COPPICE_FAST_LOADER and COPPICE_SMALL_LOADER are the files' paths.
asm(".section .rodata.coppice_loaders, \"a\", @progbits\n"
    ".balign 16\n"
    ".globl coppice_fast_loader, coppice_fast_loader_end, coppice_small_loader, coppice_small_loader_end\n"
    ".hidden coppice_fast_loader, coppice_fast_loader_end, coppice_small_loader, coppice_small_loader_end\n"
    "coppice_fast_loader: .incbin \"" COPPICE_FAST_LOADER "\"\n"
    "coppice_fast_loader_end: .balign 16\n"
    "coppice_small_loader: .incbin \"" COPPICE_SMALL_LOADER "\"\n"
    "coppice_small_loader_end:\n"
    ".text\n");

extern "C" __attribute__((visibility("hidden"))) const char coppice_fast_loader[], coppice_fast_loader_end[],
    coppice_small_loader[], coppice_small_loader_end[];

namespace coppice {

llvm::StringRef fastLoader() { return {coppice_fast_loader, size_t(coppice_fast_loader_end - coppice_fast_loader)}; }
llvm::StringRef smallLoader() {
  return {coppice_small_loader, size_t(coppice_small_loader_end - coppice_small_loader)};
}

} // namespace coppice
#else
namespace coppice {
llvm::StringRef fastLoader() { return {}; }
llvm::StringRef smallLoader() { return {}; }
} // namespace coppice
#endif
