// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "registrar.h"
#include <map>
#include <string>
static std::map<std::string, Kernel> &all() {
  static std::map<std::string, Kernel> kernels;
  return kernels;
}
Registrar::Registrar(const char *name, Kernel kernel) { all()[name] = kernel; }
Kernel find(const char *name) {
  auto kernel = all().find(name);
  return kernel == all().end() ? nullptr : kernel->second;
}
