// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the bytecode of a Mojo package, in a frame that does not compress, and as a package.
#include "analysis/inspect/mojo_package.h"

using coppice::MojoPackage;

static void append(std::string &out, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  MojoPackage package;
  readMojoPackage(bytes, package);
  if (size >= 1 << 17) return 0; // what a block can hold
  std::string whole = "MPKG" + std::string(64, '0') + '\0';
  append(whole, size, 8);
  whole += "\x28\xB5\x2F\xFD\xA0";
  append(whole, size, 4);
  append(whole, size << 3 | 1, 3);
  whole += bytes;
  readMojoPackage(whole, package);
  return 0;
}
