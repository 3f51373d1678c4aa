// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One program: `coppice` with its subcommands, and the linker under the names by which compilers call it.
#include "linker/installation.h"
#include "linker/link.h"
#include "linker/subcommands.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {

/// Leaves as ld.lld does, without running destructors: after a big link they only give memory back.
[[noreturn]] void leave(int status) {
  outs().flush();
  errs().flush();
  sys::Process::Exit(status, /*NoCleanup=*/true);
}

} // namespace

int main(int argc, char **argv) {
  coppice::Installation installation = coppice::findInstallation(argv[0], reinterpret_cast<void *>(&main));
  ArrayRef<const char *> arguments(argv + 1, argv + argc);

  // Before anything else: a linker's arguments are nobody's but lld's and ours.
  if (sys::path::filename(argv[0]).starts_with("ld"))
    leave(coppice::link(arguments, installation, outs(), errs(), leave));
  if (!arguments.empty() && StringRef(arguments[0]) == "link")
    leave(coppice::link(arguments.drop_front(), installation, outs(), errs(), leave));

  return coppice::runSubcommand(argc, argv, installation);
}
