// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a kernel that the link dropped is called all the same: says so and ends. The link makes one small function for
// each such kernel (linker/dropped_kernels.cpp), which comes here with its name.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text) {
  size_t left = strlen(text);
  while (left) {
    ssize_t written = write(STDERR_FILENO, text, left);
    if (written <= 0) return;
    text += written;
    left -= size_t(written);
  }
}

extern "C" [[noreturn]] void coppice_dropped_kernel(const char *kernel, const char *program) {
  say(program);
  say(": kernel '");
  say(kernel);
  say("' was called, and coppice dropped it when this program was linked, because no graph uses it\n");
  say(program);
  say(": to keep it, link with --keep-kernel=");
  say(kernel);
  say("\n");
  abort();
}
