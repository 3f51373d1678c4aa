// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/link.h"
#include "linker/command_line.h"
#include "linker/installation.h"
#include "linker/lld.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {

int link(ArrayRef<const char *> arguments, const Installation &, raw_ostream &out, raw_ostream &err) {
  return runLld(arguments, {}, out, err);
}

} // namespace coppice
