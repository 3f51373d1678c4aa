// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a packed executable starts with: it checks the payload, decodes each frame to its place in the image, which the
// kernel has already reserved, gives each segment its protection, and jumps to the program (or to the dynamic linker
// that the program names). No libc, no file is read but that dynamic linker, nothing is ever writable and executable.
// Whatever goes wrong is said on stderr, and the exit status is 127, before any instruction of the program ran.
#include "packed_format.h"
#include "system_calls.h"
#include <elf.h>
#include <linux/memfd.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <sys/mman.h>

#define ZSTD_STATIC_LINKING_ONLY
#define ZSTDLIB_VISIBLE
#include "lib/zstd.h"

extern "C" {
unsigned long long loaderHash(const void *data, size_t size);
extern const unsigned char loaderHeader[] __attribute__((visibility("hidden"))); // a LoaderHeader

// What compilers call by themselves. `rep movsb` is as fast as anything where it matters (kilobytes and up).
void *memcpy(void *to, const void *from, size_t size) {
  void *result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size)::"memory");
  return result;
}
void *memset(void *to, int value, size_t size) {
  void *result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
  return result;
}
void *memmove(void *to, const void *from, size_t size) {
  if ((uintptr_t)to - (uintptr_t)from >= size) return memcpy(to, from, size);
  auto *d = (volatile uint8_t *)to;
  auto *s = (const volatile uint8_t *)from;
  while (size--) d[size] = s[size];
  return to;
}
}

namespace coppice {
namespace {

constexpr uint64_t pageDown(uint64_t x) { return x & ~(packedPage - 1); }
constexpr uint64_t pageUp(uint64_t x) { return pageDown(x + packedPage - 1); }

uint64_t lengthOf(const char *text) {
  uint64_t n = 0;
  while (text[n]) ++n;
  return n;
}

struct Failure {
  const char *program;

  [[noreturn]] void operator()(const char *what, const char *more = "") const {
    write(program);
    write(": cannot start the packed executable: ");
    write(what);
    write(more);
    write("\n");
    for (;;) systemCall(__NR_exit_group, 127);
  }
  static void write(const char *text) { systemCall(__NR_write, 2, text, lengthOf(text)); }
};

/// What the decoding processes share.
struct Work {
  const PackedTables *tables;
  uint8_t *base; ///< load address
  uint64_t contextSize;
  uint32_t next;  ///< frame that nobody has taken yet; atomic
  uint32_t error; ///< atomic
};

// Takes frames until there are no more. Frames are taken in order, so the place of the next is found by going on.
void decodeFrames(Work &work, uint8_t *memory) {
  const PackedTables &tables = *work.tables;
  ZSTD_DCtx *context = ZSTD_initStaticDCtx(memory, work.contextSize);
  if (!context) {
    __atomic_store_n(&work.error, 1, __ATOMIC_RELAXED);
    return;
  }
  const uint8_t *source = (const uint8_t *)tables.header + tables.dataOffset;
  uint32_t at = 0, region = 0;
  for (;;) {
    uint32_t frame = __atomic_fetch_add(&work.next, 1, __ATOMIC_RELAXED);
    if (frame >= tables.header->loadedFrames || __atomic_load_n(&work.error, __ATOMIC_RELAXED)) return;
    for (; at < frame; ++at) source += tables.frameSizes[at];
    while (frame >= tables.regions[region].firstFrame + framesOf(tables.regions[region].size)) ++region;
    const PackedRegion &r = tables.regions[region];
    uint64_t offset = uint64_t(frame - r.firstFrame) * packedFrameSize;
    uint64_t size = r.size - offset < packedFrameSize ? r.size - offset : packedFrameSize;
    uint8_t *to = work.base + r.vaddr + offset;
    if (ZSTD_decompressDCtx(context, to, size, source, tables.frameSizes[frame]) != size) {
      __atomic_store_n(&work.error, 1, __ATOMIC_RELAXED);
      return;
    }
    if (r.flags & PackedRegion::BranchFilter) filterBranches<false>(to, size, uint32_t(offset), uint32_t(r.size));
  }
}

/// A process that shares our memory, like vfork's, with a stack of its own: unlike a thread it is gone for good when it
/// was waited for, so the program starts with one thread. Returns its id, or an error.
long startProcess(uint8_t *stackEnd, Work *work, uint8_t *memory) {
  auto *top = (uint64_t *)stackEnd;
  top[-1] = (uint64_t)memory;
  top[-2] = (uint64_t)work;
  long result;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = 0;
  asm volatile("syscall\n"
               "test %%rax, %%rax\n"
               "jnz 1f\n"
               "xor %%ebp, %%ebp\n"
               "pop %%rdi\n"
               "pop %%rsi\n"
               "call loaderDecode\n"
               "mov %[exit], %%eax\n"
               "xor %%edi, %%edi\n"
               "syscall\n"
               "hlt\n"
               "1:\n"
               : "=a"(result)
               : "a"(__NR_clone), "D"(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND), "S"(top - 2), "d"(0),
                 "r"(r10), "r"(r8), [exit] "i"(__NR_exit)
               : "rcx", "r11", "memory");
  return result;
}

unsigned usableCpus() {
  uint64_t mask[128] = {};
  long bytes = systemCall(__NR_sched_getaffinity, 0, sizeof mask, mask);
  unsigned count = 0;
  for (long i = 0; !failed(bytes) && i < bytes / 8; ++i)
    for (uint64_t m = mask[i]; m; m &= m - 1) ++count;
  return count ? count : 1;
}

void decodeImage(const PackedTables &tables, uint8_t *base, const Failure &fail) {
  constexpr unsigned most = 8;
  constexpr uint64_t stackSize = 64 << 10, framesWorthAProcess = 4;
  uint64_t contextSize = pageUp(ZSTD_estimateDCtxSize());
  uint64_t each = contextSize + stackSize;
  unsigned workers = unsigned(tables.header->loadedFrames / framesWorthAProcess);
  if (workers > most) workers = most;
  if (workers > 1) {
    unsigned cpus = usableCpus();
    if (workers > cpus) workers = cpus;
  }
  if (workers == 0) workers = 1;
  long memory = systemCall(__NR_mmap, 0, each * workers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(memory) && workers > 1) {
    workers = 1;
    memory = systemCall(__NR_mmap, 0, each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (failed(memory)) fail("no memory for the decoder (is `ulimit -v` too small?)");

  Work work = {&tables, base, contextSize, 0, 0};
  auto *slots = (uint8_t *)memory;
  long children[most];
  unsigned started = 0;
  // Where a sandbox allows no further process, one decodes all.
  for (; started + 1 < workers; ++started) {
    uint8_t *slot = slots + (started + 1) * each;
    children[started] = startProcess(slot + each, &work, slot);
    if (failed(children[started])) break;
  }
  decodeFrames(work, slots);
  for (unsigned i = 0; i < started; ++i) {
    long waited;
    do waited = systemCall(__NR_wait4, children[i], 0, __WALL, 0);
    while (waited == -4 /*EINTR*/);
    if (failed(waited)) fail("waiting for the decoder failed");
  }
  systemCall(__NR_munmap, memory, each * workers); // on failure some address space stays taken, no more
  if (work.error) fail("its payload is damaged (a frame cannot be decoded)");
}

/// Makes written memory executable. Where that is forbidden (PR_SET_MDWE, SELinux' execmem), a copy in a memfd takes
/// its place, which was never writable at an address where it is executable.
void makeExecutable(uint8_t *at, uint64_t size, const Failure &fail) {
  if (!failed(systemCall(__NR_mprotect, at, size, PROT_READ | PROT_EXEC))) return;
  const char *refused = "memory cannot be made executable here, and no memfd either; "
                        "allow memfd_create or do without MemoryDenyWriteExecute, or unpack it: coppice unpack";
  long fd = systemCall(__NR_memfd_create, "text", MFD_CLOEXEC | 0x10U /*MFD_EXEC, Linux 6.3*/);
  if (failed(fd)) fd = systemCall(__NR_memfd_create, "text", MFD_CLOEXEC);
  if (failed(fd)) fail(refused);
  for (uint64_t done = 0; done < size;) {
    long n = systemCall(__NR_write, fd, at + done, size - done);
    if (n == -4 /*EINTR*/) continue;
    if (failed(n) || n == 0) fail("no memory for its code");
    done += uint64_t(n);
  }
  long mapped = systemCall(__NR_mmap, at, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
  if (failed(mapped)) fail(refused);
  systemCall(__NR_close, fd);
}

void protectImage(const PackedTables &tables, uint8_t *base, const Failure &fail) {
  const PackedHeader &h = *tables.header;
  uint64_t end = h.imageLow;
  auto closeGap = [&](uint64_t to) {
    if (to > end && failed(systemCall(__NR_mprotect, base + end, to - end, PROT_NONE)))
      fail("memory cannot be protected (mprotect)");
  };
  for (uint32_t i = 0; i < h.loadedRegions; ++i) {
    const PackedRegion &r = tables.regions[i];
    uint64_t low = pageDown(r.vaddr), high = pageUp(r.vaddr + r.memorySize);
    closeGap(low);
    end = high;
    if (high == low) continue;
    if (r.flags & PackedRegion::Execute)
      makeExecutable(base + low, high - low, fail);
    else if (!(r.flags & PackedRegion::Write) && failed(systemCall(__NR_mprotect, base + low, high - low, PROT_READ)))
      fail("memory cannot be protected (mprotect)");
  }
  closeGap(h.imageHigh);
}

struct Interpreter {
  uint64_t base, entry;
};

// As the kernel does it for PT_INTERP.
Interpreter mapInterpreter(const char *path, const Failure &fail) {
  long fd = systemCall(__NR_openat, -100 /*AT_FDCWD*/, path, 02000000 /*O_CLOEXEC*/);
  if (failed(fd)) fail("its dynamic linker cannot be opened: ", path);
  alignas(Elf64_Ehdr) uint8_t page[4096];
  long got = systemCall(__NR_read, fd, page, sizeof page);
  auto &header = *(const Elf64_Ehdr *)page;
  bool isElf = !failed(got) && uint64_t(got) >= sizeof header && header.e_ident[0] == 0x7F &&
               header.e_ident[1] == 'E' && header.e_ident[2] == 'L' && header.e_ident[3] == 'F' &&
               header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN && header.e_machine == EM_X86_64 &&
               header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phoff <= uint64_t(got) && header.e_phoff % 8 == 0 &&
               header.e_phnum <= (uint64_t(got) - header.e_phoff) / sizeof(Elf64_Phdr);
  if (!isElf) fail("its dynamic linker is no shared object for x86-64: ", path);
  auto *segments = (const Elf64_Phdr *)(page + header.e_phoff);
  uint64_t low = ~uint64_t(0), high = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr &p = segments[i];
    if (p.p_type != PT_LOAD) continue;
    constexpr uint64_t most = uint64_t(1) << 40;
    if (p.p_vaddr > most || p.p_memsz > most || p.p_filesz > p.p_memsz || p.p_offset > most ||
        (p.p_vaddr - p.p_offset) % packedPage)
      fail("its dynamic linker has segments that cannot be mapped: ", path);
    if (pageDown(p.p_vaddr) < low) low = pageDown(p.p_vaddr);
    if (pageUp(p.p_vaddr + p.p_memsz) > high) high = pageUp(p.p_vaddr + p.p_memsz);
  }
  if (low >= high) fail("its dynamic linker has no segments: ", path);
  long reserved = systemCall(__NR_mmap, 0, high - low, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(reserved)) fail("no memory for its dynamic linker: ", path);
  uint64_t base = uint64_t(reserved) - low;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr &p = segments[i];
    if (p.p_type != PT_LOAD) continue;
    long protection =
        (p.p_flags & PF_R ? PROT_READ : 0) | (p.p_flags & PF_W ? PROT_WRITE : 0) | (p.p_flags & PF_X ? PROT_EXEC : 0);
    uint64_t start = pageDown(base + p.p_vaddr), fileEnd = base + p.p_vaddr + p.p_filesz;
    uint64_t end = pageUp(base + p.p_vaddr + p.p_memsz);
    if (p.p_filesz && failed(systemCall(__NR_mmap, start, fileEnd - start, protection, MAP_PRIVATE | MAP_FIXED, fd,
                                        pageDown(p.p_offset))))
      fail("its dynamic linker cannot be mapped: ", path);
    uint64_t fileEndPage = p.p_filesz ? pageUp(fileEnd) : start;
    // To the end of the page: glibc's dynamic linker allocates from there.
    if (p.p_filesz && p.p_memsz > p.p_filesz && (p.p_flags & PF_W)) memset((void *)fileEnd, 0, fileEndPage - fileEnd);
    if (end > fileEndPage && failed(systemCall(__NR_mmap, fileEndPage, end - fileEndPage, protection,
                                               MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0)))
      fail("no memory for its dynamic linker: ", path);
  }
  systemCall(__NR_close, fd);
  return {base, base + header.e_entry};
}

} // namespace

extern "C" {

__attribute__((visibility("hidden"), used)) void loaderDecode(Work *work, uint8_t *memory) {
  decodeFrames(*work, memory);
}

/// `stack` is as the kernel left it: argc, argv, environment, auxiliary vector. Returns where to go on.
__attribute__((visibility("hidden"), used)) uint64_t loaderMain(uint64_t *stack) {
  auto **argv = (const char **)(stack + 1);
  uint64_t *auxiliary = stack + 1 + stack[0] + 1;
  while (*auxiliary++) {
  }

  Failure fail = {stack[0] && argv[0] ? argv[0] : "coppice"};
  const uint8_t *payload = loaderHeader + ((const LoaderHeader *)loaderHeader)->payload;
  // The payload's segment is as large as the packer made it; a shorter file ends in SIGBUS at the first byte that
  // lacks, and so does every other program.
  auto *header = (const PackedHeader *)payload;
  PackedTables tables;
  if (const char *wrong = readPackedTables(payload, header->mappedSize, tables)) fail(wrong);
  constexpr uint64_t hashed = offsetof(PackedHeader, mappedSize);
  if (loaderHash(payload + hashed, header->mappedSize - hashed) != header->hash)
    fail("its payload is damaged (the hash is wrong)");

  auto *base = (uint8_t *)(payload - header->vaddr);
  uint8_t elfHeaders[packedPage];
  memcpy(elfHeaders, base + header->imageLow, header->headerSize);
  // Huge pages for what is written at once anyway, not for .bss; where they are not allowed, small ones do.
  for (uint32_t i = 0; i < header->loadedRegions; ++i) {
    const PackedRegion &r = tables.regions[i];
    uint64_t low = pageDown(r.vaddr), high = pageUp(r.vaddr + r.size);
    if (high - low >= (2 << 20)) systemCall(__NR_madvise, base + low, high - low, MADV_HUGEPAGE);
  }
  decodeImage(tables, base, fail);
  memcpy(base + header->imageLow, elfHeaders, header->headerSize);
  protectImage(tables, base, fail);

  uint64_t entry = uint64_t(base) + header->entry, next = entry, interpreterBase = 0;
  if (header->interpreter) {
    auto *path = (const char *)base + header->interpreter;
    if (path[header->interpreterSize - 1]) fail("the addresses of the payload are damaged");
    Interpreter interpreter = mapInterpreter(path, fail);
    next = interpreter.entry;
    interpreterBase = interpreter.base;
  }
  // The program finds its own program headers. (What /proc/self/auxv names are those of the packed file, which agree
  // with what a debugger reads from that file.)
  for (; auxiliary[0] != AT_NULL; auxiliary += 2) {
    if (auxiliary[0] == AT_PHDR) auxiliary[1] = uint64_t(tables.programHeaders);
    if (auxiliary[0] == AT_PHNUM) auxiliary[1] = header->programHeaders;
    if (auxiliary[0] == AT_ENTRY) auxiliary[1] = entry;
    if (auxiliary[0] == AT_BASE) auxiliary[1] = interpreterBase;
  }
  // The compressed pages are needed no more.
  uint64_t tablesEnd = pageUp(tables.dataOffset);
  if (header->mappedSize > tablesEnd)
    systemCall(__NR_madvise, payload + tablesEnd, header->mappedSize - tablesEnd, MADV_DONTNEED);
  return next;
}
}

} // namespace coppice

// %rdx: nothing for atexit. %rbx is for the callee to keep.
asm(R"(
  .section .text.header,"ax",@progbits
  .globl loaderHeader
  .hidden loaderHeader
loaderHeader:
  .ascii "COPLOAD1"
  .quad 0
  .globl _start
_start:
  xor %ebp, %ebp
  mov %rsp, %rbx
  mov %rsp, %rdi
  and $-16, %rsp
  call loaderMain
  mov %rbx, %rsp
  xor %edx, %edx
  xor %ebx, %ebx
  jmp *%rax
)");
