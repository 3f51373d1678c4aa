// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/installation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace coppice {

Installation findInstallation(const char *argv0, void *programAddress) {
  std::string program = sys::fs::getMainExecutable(argv0, programAddress);
  StringRef prefix = sys::path::parent_path(sys::path::parent_path(program));
  auto below = [&](const Twine &a, const Twine &b = "") {
    SmallString<256> path(prefix);
    sys::path::append(path, a, b);
    return std::string(path);
  };
  Installation result;
  result.includeDirectory = below("include");
  result.libraryDirectory = below("lib", "coppice");
  if (!sys::fs::exists(result.libraryDirectory + "/libcoppice.a")) result.libraryDirectory = below("lib");
  result.linkerDirectory = below("libexec", "coppice");
  return result;
}

} // namespace coppice
