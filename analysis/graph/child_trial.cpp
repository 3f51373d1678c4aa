// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/child_trial.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
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

[[noreturn]] void runChild(llvm::function_ref<void()> action) {
  // LLVM's handlers would print a stack trace or, in lld, try to go on.
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGXCPU}) std::signal(signal, SIG_DFL);
  if (int nowhere = open("/dev/null", O_RDWR); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, 10);
  action();
  _exit(0); // no destructors: they belong to the parent
}

} // namespace

std::optional<std::string> coppice::tryInChild(llvm::function_ref<void()> action) {
  pid_t child = fork();
  if (child == 0) runChild(action);
  if (child < 0) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return std::nullopt;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (!WIFSIGNALED(status)) return "it exits";
  if (WTERMSIG(status) == SIGXCPU) return "it does not come to an end";
  return strsignal(WTERMSIG(status));
}
