// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where Coppice's own files are: beside the program, in the build tree as after installation, wherever that was moved.
#pragma once
#include <string>

namespace coppice {

struct Installation {
  std::string includeDirectory; ///< holds coppice/coppice.h
  std::string libraryDirectory; ///< holds libcoppice.a
  std::string linkerDirectory;  ///< holds ld.lld and nothing else, for gcc's -B
};

/// `programAddress` is the address of any function of the main program.
Installation findInstallation(const char *argv0, void *programAddress);

} // namespace coppice
