// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Notes which registered kernels a run calls, for --keep-from. Programs linked with --no-gc-kernels come here on the
// way to each kernel (linker/recorded_kernels.cpp). With COPPICE_RECORD_KERNELS=FILE the names are appended to FILE,
// one a line, each once a run; without, nothing is done but a test.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

struct entry {
  const char *name;
  void *kernel;
  unsigned char done;
};

// One write for a line: those of several processes do not mix.
void append(int file, const char *text) {
  char line[512];
  size_t size = strlen(text);
  if (size > sizeof line - 1) size = sizeof line - 1;
  memcpy(line, text, size);
  line[size] = '\n';
  ssize_t ignored = write(file, line, size + 1);
  (void)ignored;
}

} // namespace

extern "C" void coppice_note_kernel(entry *e) {
  if (__atomic_exchange_n(&e->done, 1, __ATOMIC_RELAXED)) return;
  const char *path = getenv("COPPICE_RECORD_KERNELS");
  if (!path || !*path) return;
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (lseek(file, 0, SEEK_END) == 0) append(file, "# coppice kernels");
  append(file, e->name);
  close(file);
}

#if defined(__x86_64__)
// r11 holds the entry; everything that may be an argument is kept. System V x86-64 psABI, 3.2.3.
__asm__(".text\n"
        ".p2align 4\n"
        ".globl coppice_record_kernel\n"
        ".hidden coppice_record_kernel\n"
        ".type coppice_record_kernel,@function\n"
        "coppice_record_kernel:\n"
        "  cmpb $0, 16(%r11)\n"
        "  jne 1f\n"
        "  pushq %rbp\n"
        "  movq %rsp, %rbp\n"
        "  andq $-16, %rsp\n"
        "  subq $208, %rsp\n"
        "  movups %xmm0, (%rsp)\n"
        "  movups %xmm1, 16(%rsp)\n"
        "  movups %xmm2, 32(%rsp)\n"
        "  movups %xmm3, 48(%rsp)\n"
        "  movups %xmm4, 64(%rsp)\n"
        "  movups %xmm5, 80(%rsp)\n"
        "  movups %xmm6, 96(%rsp)\n"
        "  movups %xmm7, 112(%rsp)\n"
        "  movq %rdi, 128(%rsp)\n"
        "  movq %rsi, 136(%rsp)\n"
        "  movq %rdx, 144(%rsp)\n"
        "  movq %rcx, 152(%rsp)\n"
        "  movq %r8, 160(%rsp)\n"
        "  movq %r9, 168(%rsp)\n"
        "  movq %rax, 176(%rsp)\n"
        "  movq %r11, 184(%rsp)\n"
        "  movq %r10, 192(%rsp)\n"
        "  movq %r11, %rdi\n"
        "  call coppice_note_kernel\n"
        "  movups (%rsp), %xmm0\n"
        "  movups 16(%rsp), %xmm1\n"
        "  movups 32(%rsp), %xmm2\n"
        "  movups 48(%rsp), %xmm3\n"
        "  movups 64(%rsp), %xmm4\n"
        "  movups 80(%rsp), %xmm5\n"
        "  movups 96(%rsp), %xmm6\n"
        "  movups 112(%rsp), %xmm7\n"
        "  movq 128(%rsp), %rdi\n"
        "  movq 136(%rsp), %rsi\n"
        "  movq 144(%rsp), %rdx\n"
        "  movq 152(%rsp), %rcx\n"
        "  movq 160(%rsp), %r8\n"
        "  movq 168(%rsp), %r9\n"
        "  movq 176(%rsp), %rax\n"
        "  movq 184(%rsp), %r11\n"
        "  movq 192(%rsp), %r10\n"
        "  leave\n"
        "1:\n"
        "  jmp *8(%r11)\n"
        ".size coppice_record_kernel, . - coppice_record_kernel\n");
#endif
