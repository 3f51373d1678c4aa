// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kernels the CPU can run. One file per architecture.
#pragma once

namespace coppice::runtime {

/// The x86-64 level (1 to 4, https://gitlab.com/x86-psABIs/x86-64-ABI, "Micro-Architecture Levels") of this CPU and
/// operating system; 0 on other architectures. The variable COPPICE_CPU_LEVEL may lower it, for tests.
int cpu_level();

} // namespace coppice::runtime
