// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs kernels by themselves, without a graph: finds those that fit an op as the linker does (docs/kernel-abi.md), and
// calls one with buffers that have nothing behind them, so that AddressSanitizer sees every step too far.
#pragma once
#include "tensor.h"
#include <string>

namespace coppice::test {

struct attribute {
  enum kind_t : uint32_t { integer, real, text, integers, reals } kind;
  std::string name;
  int64_t i = 0;
  double f = 0;
  std::string s;
  std::vector<int64_t> is;
  std::vector<float> fs;
  static attribute of(std::string name, int64_t i) { return {integer, name, i, 0, {}, {}, {}}; }
  static attribute of(std::string name, int i) { return of(name, int64_t(i)); }
  static attribute of(std::string name, const char *s) { return {text, name, 0, 0, s, {}, {}}; }
  static attribute of(std::string name, std::vector<int64_t> is) { return {integers, name, 0, 0, {}, is, {}}; }
};

struct node {
  std::string op; // "onnx.Add"
  int version = 0;
  std::vector<attribute> attributes;
  std::vector<const tensor *> inputs; // null: absent
  uint32_t n_outputs = 1;
};

struct parameter {
  enum kind_t { in, optional_in, variadic_in, out, attribute } kind;
  std::string dtype, type, name, value; // dtype of tensors; type of attributes
  int rank = -1;
  bool has_default = false, is_constraint = false;
};
struct kernel {
  const coppice_kernel *descriptor;
  std::string op, variant, target, versions;
  std::vector<parameter> parameters;
  bool in_place() const { return descriptor->flags & COPPICE_IN_PLACE; }
};

/// All kernels of the library.
const std::vector<kernel> &kernels();
/// Those that fit, one for each CPU level. Two for one level are an error of the library: aborts with their names.
std::vector<const kernel *> fitting(const node &n);
/// Can this CPU run it?
bool runnable(const kernel &k);

struct outcome {
  status result;
  std::string message;
  std::vector<tensor> outputs;
};
/// `over`: the input whose buffer output 0 gets, or -1. The inputs' data are copied first.
outcome run(const kernel &k, const node &n, int over = -1);

} // namespace coppice::test
