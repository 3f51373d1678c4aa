// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cases that backend_cases.py writes.
#pragma once
#include "run_kernel.h"

namespace coppice::test {

struct test_case {
  std::string name, op;
  int version;
  double rtol, atol;
  std::vector<attribute> attributes;
  std::vector<tensor> inputs, expected;
  std::vector<bool> given;
};

/// Prints why and exits when there is no such file.
std::vector<test_case> read_cases(const char *path);

/// What differs, or "".
std::string difference(const tensor &got, const tensor &want, double rtol, double atol);

} // namespace coppice::test
