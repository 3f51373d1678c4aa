// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints what a program sees of itself; packed or not, it is the same.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdexcept>
#include <string>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

static int constructed;
struct Constructed {
  Constructed() { constructed = 42; }
} constructedGlobal;
__attribute__((constructor)) static void early(int, char **argv, char **) {
  if (argv[0]) constructed += 0;
}

thread_local int perThread = 7;
thread_local std::string perThreadText = "text";

static int fast() { return 1; }
static int slow() { return 2; }
extern "C" {
int chosen();
static int (*resolve())() { return __builtin_cpu_supports("sse2") ? fast : slow; }
}
int chosen() __attribute__((ifunc("_ZL7resolvev")));

extern const char table[3 << 20];
const char table[3 << 20] = {1, 2, 3};
char zeros[1 << 20];
static const int *const relro[] = {&constructed};

static int depth(int n) {
  volatile char page[4096];
  page[0] = char(n);
  return n ? depth(n - 1) + page[0] * 0 : 0;
}

static std::string thrown(int n) {
  try {
    std::vector<int> v(1);
    return std::to_string(v.at(size_t(n)));
  } catch (const std::out_of_range &) {
    return "caught";
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "abort")) abort();
  if (argc > 1 && !strcmp(argv[1], "exit")) return atoi(argv[2]);
  printf("arguments %d %s\n", argc, argc > 1 ? argv[1] : "");
  printf("environment %s\n", getenv("PACKED_TEST") ? getenv("PACKED_TEST") : "none");
  printf("constructed %d\n", constructed);
  printf("ifunc %d\n", chosen());
  printf("main %s\n", thrown(1).c_str());
  std::string other;
  int tls = 0;
  std::thread([&] {
    other = thrown(2);
    tls = perThread++ + int(perThreadText.size());
  }).join();
  printf("thread %s %d %d\n", other.c_str(), tls, perThread);
  int objects = 0, loads = 0, covered = 0, relroPages = 0;
  struct Seen {
    int *objects, *loads, *covered, *relro;
  } seen = {&objects, &loads, &covered, &relroPages};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto *s = static_cast<Seen *>(data);
        if ((*s->objects)++) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto &p = info->dlpi_phdr[i];
          if (p.p_type == PT_GNU_RELRO) ++*s->relro;
          if (p.p_type != PT_LOAD) continue;
          ++*s->loads;
          auto at = reinterpret_cast<uintptr_t>(&main);
          if (at >= info->dlpi_addr + p.p_vaddr && at < info->dlpi_addr + p.p_vaddr + p.p_memsz)
            *s->covered = int(p.p_flags);
        }
        return 0;
      },
      &seen);
  printf("dl_iterate_phdr %d %d %d\n", loads, covered, relroPages);
  auto *headers = reinterpret_cast<const ElfW(Phdr) *>(getauxval(AT_PHDR));
  printf("auxv %lu %d %lu %d\n", getauxval(AT_PAGESZ), headers && getauxval(AT_PHNUM) > 0, getauxval(AT_SECURE),
         getauxval(AT_RANDOM) != 0);
  timespec now;
  printf("vdso %d\n", clock_gettime(CLOCK_MONOTONIC, &now) == 0 && getauxval(AT_SYSINFO_EHDR) != 0);
  char path[4096] = {}, comm[16] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) > 0)
    printf("exe %d\n", access(path, X_OK) == 0 && strstr(path, "memfd") == nullptr);
  prctl(PR_GET_NAME, comm);
  printf("comm %s\n", argc > 2 ? "" : comm);
  printf("table %d %d %d\n", table[argc + 1 - (argc > 1)], table[sizeof table - size_t(argc ? 1 : 2)], zeros[12345]);
  printf("stack %d\n", depth(1500));
  printf("relro %d\n", *relro[0]);
  // No descriptor of the loader's is left, no other thread, no child.
  int descriptors = 0, threads = 0;
  if (DIR *d = opendir("/proc/self/fd")) {
    while (readdir(d)) ++descriptors;
    closedir(d);
    printf("descriptors %d\n", descriptors);
  }
  if (DIR *d = opendir("/proc/self/task")) {
    while (readdir(d)) ++threads;
    closedir(d);
    printf("threads %d\n", threads - 2);
  }
  if (FILE *maps = fopen("/proc/self/maps", "r")) {
    char line[512];
    int both = 0;
    while (fgets(line, sizeof line, maps)) both += strstr(line, " rwx") != nullptr;
    fclose(maps);
    printf("writable and executable %d\n", both);
  }
  fflush(stdout);
  return 3;
}
