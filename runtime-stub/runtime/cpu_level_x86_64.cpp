// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// By hand: __builtin_cpu_supports needs a constructor of libgcc, and room for everything else that it knows.
#include "cpu_level.h"
#include <cpuid.h>
#include <stdint.h>
#include <stdlib.h>

namespace coppice::runtime {
namespace {

// Bits of CPUID, Intel SDM volume 2A, CPUID.
constexpr uint32_t leaf1_ecx_v2 =
    1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;                      // SSE3 SSSE3 CX16 SSE4 POPCNT
constexpr uint32_t ext1_ecx_v2 = 1u << 0;                                               // LAHF
constexpr uint32_t leaf1_ecx_v3 = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29; // FMA MOVBE OSXSAVE AVX F16C
constexpr uint32_t ext1_ecx_v3 = 1u << 5;                                               // LZCNT
constexpr uint32_t leaf7_ebx_v3 = 1u << 3 | 1u << 5 | 1u << 8;                          // BMI1 AVX2 BMI2
constexpr uint32_t leaf7_ebx_v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; // AVX512 F DQ CD BW VL
constexpr uint32_t xcr0_v3 = 0x6;                                                       // the system saves SSE, AVX
constexpr uint32_t xcr0_v4 = 0xe6;                                                      // and opmask, ZMM

bool all(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

int detect() {
  uint32_t a, b, c1, d, b7 = 0, c7, c_ext = 0;
  if (!__get_cpuid(1, &a, &b, &c1, &d)) return 1;
  if (!__get_cpuid(0x80000001u, &a, &b, &c_ext, &d)) c_ext = 0;
  if (!all(c1, leaf1_ecx_v2) || !all(c_ext, ext1_ecx_v2)) return 1;
  if (!all(c1, leaf1_ecx_v3) || !all(c_ext, ext1_ecx_v3)) return 2;
  uint32_t xcr0, xcr0_high;
  __asm__("xgetbv" : "=a"(xcr0), "=d"(xcr0_high) : "c"(0)); // OSXSAVE is set
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d)) b7 = 0;
  if (!all(b7, leaf7_ebx_v3) || !all(xcr0, xcr0_v3)) return 2;
  return all(b7, leaf7_ebx_v4) && all(xcr0, xcr0_v4) ? 4 : 3;
}

int detected; // 0: not yet. CPUID leaves a virtual machine each time, so it is asked once a process

} // namespace

int cpu_level() {
  int level = __atomic_load_n(&detected, __ATOMIC_RELAXED);
  if (!level) __atomic_store_n(&detected, level = detect(), __ATOMIC_RELAXED);
  const char *wanted = getenv("COPPICE_CPU_LEVEL");
  if (wanted && *wanted >= '1' && *wanted <= '4' && !wanted[1] && *wanted - '0' < level) level = *wanted - '0';
  return level;
}

} // namespace coppice::runtime
