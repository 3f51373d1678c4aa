// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights in a file of their own (--weights=FILE). Only plans that have them refer to this file of the library.
//
// A file is mapped once for each plan and stays mapped: contexts of several threads share it.
#include "context.h"
#include "message.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace coppice::runtime {
namespace {

struct mapping {
  const coppice_plan *plan;
  uint64_t bytes, hash; // a plan of a library that was unloaded may be followed by another one at its address
  const uint8_t *weights;
  mapping *next;
};
mapping *mappings; // grows at its front; written with compare-and-swap

const uint8_t *find(const mapping *m, const coppice_plan *plan) {
  for (; m; m = m->next)
    if (m->plan == plan && m->bytes == plan->weights_bytes && m->hash == plan->weights_hash) return m->weights;
  return nullptr;
}

/// A relative name is looked for beside the executable, wherever the program was started.
bool full_name(const char *name, char *path, size_t capacity) {
  size_t directory = 0;
  if (*name != '/') {
    ssize_t n = readlink("/proc/self/exe", path, capacity);
    if (n <= 0) return false;
    directory = size_t(n);
    while (directory && path[directory - 1] != '/') --directory;
  }
  size_t length = strlen(name);
  if (directory + length >= capacity) return false;
  memcpy(path + directory, name, length + 1);
  return true;
}

message begin(const coppice_plan *plan, const char *path) {
  message m;
  m.text("graph ").text(string_of(plan, plan->name)).text(": its weights in \"").text(path).text("\"");
  return m;
}

const uint8_t *map(const coppice_plan *plan, const char *path, int file) {
  struct stat s;
  coppice_weights_header header;
  const uint64_t wanted = sizeof header + plan->weights_bytes;
  if (fstat(file, &s) != 0 || !S_ISREG(s.st_mode)) {
    begin(plan, path).text(" cannot be read: not a regular file");
    return nullptr;
  }
  if (uint64_t(s.st_size) < sizeof header || pread(file, &header, sizeof header, 0) != ssize_t(sizeof header) ||
      memcmp(header.magic, "COPPICEW", 8) != 0) {
    begin(plan, path).text(" cannot be used: not a file of weights (it must begin with \"COPPICEW\")");
    return nullptr;
  }
  if (header.bytes != plan->weights_bytes || header.hash != plan->weights_hash) {
    begin(plan, path)
        .text(" are not those that the program was linked with (")
        .text(header.bytes != plan->weights_bytes ? "size" : "hash")
        .text(" differs)");
    return nullptr;
  }
  if (uint64_t(s.st_size) != wanted) {
    begin(plan, path)
        .text(" cannot be used: the file has ")
        .number(int64_t(s.st_size))
        .text(" bytes, not ")
        .number(int64_t(wanted));
    return nullptr;
  }
  void *memory = mmap(nullptr, wanted, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) {
    begin(plan, path).text(" cannot be mapped: error ").number(errno);
    return nullptr;
  }
  return static_cast<const uint8_t *>(memory) + sizeof header;
}

const uint8_t *open_and_map(const coppice_plan *plan) {
  char path[4096];
  const char *name = string_of(plan, plan->weights_file);
  if (!full_name(name, path, sizeof path)) {
    begin(plan, name).text(" cannot be found: the name is too long, or /proc is not mounted");
    return nullptr;
  }
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const int error = errno;
    message m = begin(plan, path);
    if (error == ENOENT)
      m.text(" are missing: no such file");
    else
      m.text(" cannot be opened: error ").number(error);
    return nullptr;
  }
  const uint8_t *weights = map(plan, path, file);
  close(file);
  return weights;
}

void unmap(const coppice_plan *plan, const uint8_t *weights) {
  munmap(const_cast<uint8_t *>(weights) - sizeof(coppice_weights_header),
         sizeof(coppice_weights_header) + plan->weights_bytes);
}

} // namespace
} // namespace coppice::runtime

using namespace coppice::runtime;

extern "C" const uint8_t *coppice_open_weights(const coppice_plan *plan) {
  mapping *first = __atomic_load_n(&mappings, __ATOMIC_ACQUIRE);
  if (const uint8_t *known = find(first, plan)) return known;
  const uint8_t *weights = open_and_map(plan);
  if (!weights) return nullptr;
  mapping *mine = static_cast<mapping *>(malloc(sizeof(mapping)));
  if (!mine) {
    unmap(plan, weights);
    begin(plan, string_of(plan, plan->weights_file)).text(" cannot be mapped: out of memory");
    return nullptr;
  }
  *mine = {plan, plan->weights_bytes, plan->weights_hash, weights, first};
  while (!__atomic_compare_exchange_n(&mappings, &mine->next, mine, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
    if (const uint8_t *theirs = find(mine->next, plan)) { // another thread was faster
      unmap(plan, weights);
      free(mine);
      return theirs;
    }
  }
  return mine->weights;
}
