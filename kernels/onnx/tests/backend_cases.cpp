// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the cases that backend_cases.py wrote on all kernels that fit, those of every CPU level that this machine has;
// kernels that may compute in place also over each of their operands. usage: onnx_backend_cases FILE
#include "case_file.h"
#include <cstdio>
#include <set>

using namespace coppice;
using namespace coppice::test;

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: onnx_backend_cases FILE\n");
    return 2;
  }
  int runs = 0, failures = 0;
  std::set<const kernel *> used;
  std::set<std::string> skipped;
  const std::vector<test_case> cases = read_cases(argv[1]);
  for (const test_case &c : cases) {
    node n{c.op, c.version, c.attributes, {}, uint32_t(c.expected.size())};
    for (size_t k = 0; k < c.inputs.size(); ++k) n.inputs.push_back(c.given[k] ? &c.inputs[k] : nullptr);
    auto fit = fitting(n);
    if (fit.empty()) {
      printf("FAIL %s: no kernel of %s fits\n", c.name.c_str(), c.op.c_str());
      ++failures;
    }
    for (const kernel *k : fit) {
      if (!runnable(*k)) {
        skipped.insert(k->target);
        continue;
      }
      used.insert(k);
      for (int over = -1; over < (k->in_place() ? int(n.inputs.size()) : 0); ++over) {
        outcome o = run(*k, n, over);
        ++runs;
        std::string wrong = o.result == status::ok ? "" : "status " + std::to_string(int(o.result)) + " " + o.message;
        for (size_t q = 0; wrong.empty() && q < c.expected.size(); ++q)
          wrong = difference(o.outputs[q], c.expected[q], c.rtol, c.atol);
        if (wrong.empty()) continue;
        ++failures;
        printf("FAIL %s, kernel %s$%s%s: %s\n", c.name.c_str(), k->op.c_str(), k->variant.c_str(),
               over < 0 ? "" : (" over operand " + std::to_string(over)).c_str(), wrong.c_str());
      }
    }
  }
  for (const kernel &k : kernels())
    if (!used.count(&k) && !skipped.count(k.target)) {
      printf("FAIL %s$%s: no case has run it\n", k.op.c_str(), k.variant.c_str());
      ++failures;
    }
  for (auto &level : skipped) printf("skipped: kernels for %s, which this CPU is not\n", level.c_str());
  printf("%zu cases, %d runs of %zu of %zu kernels, %d failures\n", cases.size(), runs, used.size(), kernels().size(),
         failures);
  return failures != 0;
}
