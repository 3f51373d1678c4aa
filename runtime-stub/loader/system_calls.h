// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls of x86-64 Linux without libc. Results are as the kernel gives them: -4095 to -1 are errors.
#pragma once
#include <asm/unistd.h>
#include <stdint.h>

namespace coppice {

template <typename T> inline long asArgument(T value) { return (long)value; }

template <typename A = long, typename B = long, typename C = long, typename D = long, typename E = long,
          typename F = long>
inline long systemCall(long number, A a = 0, B b = 0, C c = 0, D d = 0, E e = 0, F f = 0) {
  register long r10 asm("r10") = asArgument(d);
  register long r8 asm("r8") = asArgument(e);
  register long r9 asm("r9") = asArgument(f);
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(asArgument(a)), "S"(asArgument(b)), "d"(asArgument(c)), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

inline bool failed(long result) { return (unsigned long)result >= -4095UL; }

} // namespace coppice
