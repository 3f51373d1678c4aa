// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs commands in turn, so that all of them see the same noise, and measures each as a whole process.
//   run_in_turn ROUNDS COMMAND ARGUMENT... [: COMMAND ARGUMENT...]...
// Prints a line for each process: number of the command, microseconds of wall clock, microseconds of processor time,
// peak resident set in KiB, exit status. One round before is not printed. A program of its own because the kernel
// counts the memory of the process that starts another into the peak of the new one: with Python's the small programs
// would not show.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;

static long microseconds(timeval t) { return t.tv_sec * 1000000 + t.tv_usec; }
static long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char **argv) {
  enum { most = 16 };
  char **commands[most];
  int n = 0, rounds = argc > 2 ? atoi(argv[1]) : 0;
  if (rounds < 1) return fputs("usage: run_in_turn ROUNDS COMMAND ARGUMENT... [: COMMAND ARGUMENT...]...\n", stderr), 2;
  commands[n++] = argv + 2;
  for (int i = 2; i < argc && n < most; ++i)
    if (!strcmp(argv[i], ":")) argv[i] = nullptr, commands[n++] = argv + i + 1;

  posix_spawn_file_actions_t silent;
  posix_spawn_file_actions_init(&silent);
  posix_spawn_file_actions_addopen(&silent, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&silent, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&silent, 2, "/dev/null", O_WRONLY, 0);
  for (int round = 0; round <= rounds; ++round)
    for (int k = 0; k < n; ++k) {
      pid_t child;
      int status;
      rusage used;
      long start = now();
      if (int error = posix_spawnp(&child, commands[k][0], &silent, nullptr, commands[k], environ))
        return fprintf(stderr, "run_in_turn: %s: %s\n", commands[k][0], strerror(error)), 1;
      if (wait4(child, &status, 0, &used) < 0) return perror("run_in_turn"), 1;
      long wall = now() - start;
      if (round)
        printf("%d %ld %ld %ld %d\n", k, wall, microseconds(used.ru_utime) + microseconds(used.ru_stime),
               used.ru_maxrss, status);
    }
}
