// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/child_trial.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void limit(int resource, rlim_t value) {
  rlimit current;
  if (getrlimit(resource, &current) != 0) return;
  current.rlim_cur = std::min(value, current.rlim_max);
  setrlimit(resource, &current);
}

/// Bytes that count for RLIMIT_DATA now: field 6 of /proc/self/statm, in pages (proc(5)).
rlim_t dataInUse() {
  uint64_t pages = 0;
  if (FILE *statm = fopen("/proc/self/statm", "r")) {
    char line[256] = {};
    llvm::SmallVector<llvm::StringRef, 8> fields;
    if (fgets(line, sizeof line, statm)) llvm::SplitString(line, fields);
    if (fields.size() < 6 || fields[5].getAsInteger(10, pages)) pages = 0;
    fclose(statm);
  }
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void runChild(uint64_t inputSize, llvm::function_ref<void()> action) {
  // LLVM's handlers would print a stack trace or, in lld, try to go on.
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGXCPU}) std::signal(signal, SIG_DFL);
  if (int nowhere = open("/dev/null", O_RDWR); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  prctl(PR_SET_DUMPABLE, 0); // no core file, whoever takes them on this machine
  limit(RLIMIT_CPU, 5);
  limit(RLIMIT_DATA, dataInUse() + (rlim_t(1) << 30) + 32 * inputSize);
  action();
  _exit(0); // no destructors: they belong to the parent
}

} // namespace

std::optional<std::string> coppice::tryInChild(uint64_t inputSize, llvm::function_ref<void()> action) {
  pid_t child = fork();
  if (child == 0) runChild(inputSize, action);
  if (child < 0) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return std::nullopt;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (!WIFSIGNALED(status)) return "it exits";
  if (WTERMSIG(status) == SIGXCPU) return "it does not come to an end";
  return strsignal(WTERMSIG(status));
}
