// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One program: `coppice` with its subcommands, and the linker under the names by which compilers call it.
#include "linker/installation.h"
#include "linker/link.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

int main(int argc, char **argv) {
  coppice::Installation installation = coppice::findInstallation(argv[0], reinterpret_cast<void *>(&main));
  ArrayRef<const char *> arguments(argv + 1, argv + argc);
  StringRef name = sys::path::filename(argv[0]);
  if (name.starts_with("ld")) return coppice::link(arguments, installation, outs(), errs());
  return 0;
}
