// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the graphs of program_cases.py, which are linked into this program, and compares what they compute: once into
// memory of ours, once into memory that the runtime allocates.
#include "case_file.h"
#include <coppice/coppice.h>
#include <cstdio>
#include <cstring>

using namespace coppice;

#define CASE(name, ...) COPPICE_IMPORT_GRAPH(name, void(__VA_ARGS__));
#include "cases.inc"
#undef CASE

#define CASE(name, ...) [](DLTensor *const *all, uint32_t n) { return name(all, n); },
static status (*const graphs[])(DLTensor *const *, uint32_t) = {
#include "cases.inc"
};

static std::string run(const test::test_case &c, status (*graph)(DLTensor *const *, uint32_t), bool allocate) {
  std::vector<DLTensor> tensors;
  std::vector<DLTensor *> all;
  std::vector<test::tensor> results;
  int64_t room[COPPICE_MAX_RANK];
  for (const test::tensor &t : c.inputs) tensors.push_back(t.view());
  for (const test::tensor &t : c.expected) {
    results.emplace_back(t.dtype, t.shape);
    tensors.push_back(results.back().view());
    if (allocate) tensors.back() = {nullptr, {1, 0}, -1, {}, room, nullptr, 0};
  }
  for (DLTensor &t : tensors) all.push_back(&t);
  if (graph(all.data(), uint32_t(all.size())) != status::ok) return last_error();
  for (size_t i = 0; i < results.size(); ++i) {
    const DLTensor &t = tensors[c.inputs.size() + i];
    if (allocate) {
      results[i] = test::tensor(t.dtype, {t.shape, t.shape + t.ndim});
      memcpy(results[i].data(), t.data, size_t(results[i].bytes()));
      coppice_free(t.data);
    }
    if (std::string wrong = test::difference(results[i], c.expected[i], c.rtol, c.atol); !wrong.empty()) return wrong;
  }
  return {};
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: program_cases FILE\n"), 2;
  const std::vector<test::test_case> cases = test::read_cases(argv[1]);
  if (cases.size() != std::size(graphs)) return fprintf(stderr, "the data are of other cases\n"), 2;
  int failures = 0;
  for (size_t i = 0; i < cases.size(); ++i)
    for (bool allocate : {false, true}) {
      std::string wrong = run(cases[i], graphs[i], allocate);
      if (wrong.empty()) continue;
      ++failures;
      printf("FAIL c%zu, %s%s: %s\n", i, cases[i].name.c_str(), allocate ? ", allocated" : "", wrong.c_str());
    }
  printf("%zu graphs, %d failures\n", cases.size(), failures);
  return failures != 0;
}
