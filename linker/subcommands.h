// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace coppice {
struct Installation;

/// `coppice` with any subcommand but `link`, whose arguments are not ours to read. Returns the exit status: 0, 1 for a
/// failure, 2 for a command line that makes no sense.
int runSubcommand(int argc, const char *const *argv, const Installation &installation);

} // namespace coppice
