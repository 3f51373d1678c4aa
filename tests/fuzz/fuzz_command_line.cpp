// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any lines as the arguments of the linker. Response files are left out: they would be any file of this machine.
#include "linker/command_line.h"
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::string> lines;
  for (llvm::StringRef rest(reinterpret_cast<const char *>(data), size); !rest.empty();) {
    auto [line, next] = rest.split('\n');
    rest = next;
    if (!line.starts_with("@") && !line.contains('\0')) lines.push_back(line.str());
  }
  std::vector<const char *> arguments;
  for (const std::string &line : lines) arguments.push_back(line.c_str());
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  coppice::Diagnostics diagnostics;
  coppice::CommandLine commandLine = coppice::parseCommandLine(arguments, saver, diagnostics);
  for (const char *argument : commandLine.forLld) (void)strlen(argument);
  for (const coppice::Diagnostic &d : diagnostics.all())
    if (d.code.empty() || d.message.empty()) abort();
  for (unsigned level : commandLine.options.cpuLevels)
    if (level < 1 || level > 4) abort();
  return 0;
}
