// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the linker would write for the graphs of app.cpp and c_app.c: `add3` adds its three arguments, `twice` doubles
// its argument, both with my.vector_add.
#include "plan.h"

namespace {

struct plan {
  coppice_plan head;
  const coppice_kernel *kernels[1];
  coppice_plan_value values[5];
  int64_t shapes[1];
  coppice_plan_op ops[2];
  coppice_plan_block blocks[1];
  coppice_plan_slot slots[1];
  uint32_t indices[8];
  uint8_t levels[4];
  char name[8], file[8], op[16];
};
constexpr uint32_t at(size_t offset) { return uint32_t(offset); }
constexpr coppice_plan_value argument{COPPICE_VALUE_ARGUMENT, 2, 32, 1, 0, 0},
    intermediate{COPPICE_VALUE_INTERMEDIATE, 2, 32, 1, 0, COPPICE_DYNAMIC};
constexpr coppice_plan_op add(uint32_t operands, uint16_t n_releases) {
  return {0,
          2,
          1,
          operands,
          0,
          0,
          n_releases,
          6 /* value 3, see indices */,
          at(offsetof(plan, file)),
          at(offsetof(plan, op))};
}
constexpr coppice_plan head(uint32_t n_values, uint32_t n_ops, uint32_t n_arguments) {
  coppice_plan h{};
  h.abi = COPPICE_PLAN_ABI;
  h.header_size = sizeof h;
  h.total_size = sizeof(plan);
  h.name = at(offsetof(plan, name));
  h.file = at(offsetof(plan, file));
  h.weights_file = COPPICE_NONE;
  h.kernels = at(offsetof(plan, kernels));
  h.levels = at(offsetof(plan, levels));
  h.slots = at(offsetof(plan, slots));
  h.values = at(offsetof(plan, values));
  h.shapes = at(offsetof(plan, shapes));
  h.ops = at(offsetof(plan, ops));
  h.blocks = at(offsetof(plan, blocks));
  h.indices = at(offsetof(plan, indices));
  h.n_kernels = 1;
  h.n_values = n_values;
  h.n_ops = n_ops;
  h.n_blocks = 1;
  h.n_arguments = n_arguments;
  h.n_results = 1;
  return h;
}

} // namespace

#define HIDDEN(symbol) __asm__(symbol) __attribute__((visibility("hidden")))
extern "C" {
extern const coppice_kernel vector_add HIDDEN("coppice.kernel.my.vector_add");

extern const plan add3 HIDDEN("coppice.plan.add3.needs_fuse_ld_coppice");
const plan add3 = {head(5, 2, 3),
                   {&vector_add},
                   {argument, argument, argument, intermediate, intermediate},
                   {-1},
                   {add(0, 0), add(3, 1)},
                   {{0, 2, 5, 1}},
                   {{0, 1}},
                   {0, 1, 3, 3, 2, 4, 3}, // add(0, 1) -> 3; add(3, 2) -> 4, which is the result; 3 is released
                   {0},
                   "add3",
                   "by:1:2",
                   "my.vector_add"};

extern const plan twice HIDDEN("coppice.plan.twice.needs_fuse_ld_coppice");
const plan twice = {
    head(2, 1, 1), {&vector_add}, {argument, intermediate}, {-1}, {add(0, 0)}, {{0, 1, 2, 1}}, {{0, 1}}, {0, 0, 1}, {0},
    "twice",       "by:3:4",      "my.vector_add"};
}
