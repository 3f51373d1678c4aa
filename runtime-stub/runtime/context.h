// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything that one run of a plan needs besides the plan, laid out once: a run follows pointers and decodes nothing.
#pragma once
#include "coppice/graph.h"
#include "coppice/tensor.h"
#include "plan.h"
#include "pool.h"

namespace coppice::runtime {

/// A value of the plan: what its tensor is now.
struct value {
  DLTensor tensor;                // shape == dims; data is never null once the value is defined
  int64_t dims[COPPICE_MAX_RANK]; // of static values: from the plan, for good
  uint64_t bytes;                 // of the data
  uint32_t element_bytes;
  bool is_static; // the plan knows all dimensions
};

/// An op of the plan, ready to call.
struct step {
  const coppice_kernel *kernel; // null: COPPICE_OP_IF
  DLTensor **inputs, **outputs;
  const coppice_attribute *attributes;
};

/// A block that is running. Blocks nest as deep as the plan says, so they do not recurse.
struct frame {
  uint32_t block, next_op, end_op;
};

/// A result of the graph during a run.
struct result {
  uint8_t *data;        // the caller's, or `allocated`, or null: not yet allocated
  void *allocated;      // by this run; the caller's once it has succeeded
  const int64_t *shape; // the caller's; meaningless when the caller has given no data
  block *saved;         // a copy of the argument that this result is, when another result is written over it
  uint64_t bytes;       // of the caller's data
  int32_t rank;
  bool overlaps; // an argument: must not be written before the end
};

/// What a kernel is given, and what allocate_output and scratch need to know.
struct running_call {
  coppice_call call; // first: the kernel hands back a pointer to it
  coppice_context *context;
  uint32_t op;
  block *scratch;
  int32_t error; // of allocate_output; its message stands
};

} // namespace coppice::runtime

struct coppice_context {
  const coppice_plan *plan;
  const uint8_t *weights;
  uint8_t *arena;

  // By value. The last three are reset for each run.
  coppice::runtime::value *values;
  uint32_t *home;                  // the block whose op defines the value; COPPICE_NONE: not an output
  coppice::runtime::block **owned; // the pool's memory that this value, and no other, lies in
  uint32_t *bound;                 // 1 + the result whose memory the value is written into, 0: none
  uint8_t *defined;

  coppice::runtime::step *steps;     // by op
  coppice::runtime::frame *frames;   // by depth
  coppice::runtime::result *results; // by result
  bool *overwritten;                 // by argument: the memory of a result overlaps it
  coppice::runtime::pool pool;
  coppice::runtime::running_call running;
};

namespace coppice::runtime {

template <class T> const T *at(const coppice_plan *plan, uint32_t offset) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(plan) + offset);
}
inline const char *string_of(const coppice_plan *plan, uint32_t offset) { return at<char>(plan, offset); }
inline const coppice_plan_op &op_of(const coppice_plan *plan, uint32_t i) {
  return at<coppice_plan_op>(plan, plan->ops)[i];
}
inline const coppice_plan_value &value_of(const coppice_plan *plan, uint32_t i) {
  return at<coppice_plan_value>(plan, plan->values)[i];
}
inline const coppice_plan_block &block_of(const coppice_plan *plan, uint32_t i) {
  return at<coppice_plan_block>(plan, plan->blocks)[i];
}
inline const uint32_t *indices_of(const coppice_plan *plan, uint32_t first) {
  return at<uint32_t>(plan, plan->indices) + first;
}
inline const int64_t *shape_of(const coppice_plan *plan, const coppice_plan_value &v) {
  return at<int64_t>(plan, plan->shapes) + v.shape;
}

constexpr int32_t ok = int32_t(status::ok), bad_shape = int32_t(status::bad_shape),
                  out_of_memory = int32_t(status::out_of_memory), failed = int32_t(status::failed);

/// Null with a message and a status.
coppice_context *make_context(const coppice_plan *, int32_t &status);

/// Checks and takes the tensors of a call: arguments become values, results get ready to be written.
int32_t take_arguments(coppice_context &, DLTensor *const *all, uint32_t count);
/// Writes the results that no op has written yet, and tells the caller about those that were allocated.
int32_t give_results(coppice_context &, DLTensor *const *results);

/// Runs block 0, with all blocks within it.
int32_t run_blocks(coppice_context &);

/// Output `i` of an op that is about to be computed: checks its shape and gives it memory. `dims` may be its own.
/// Where it needs memory of its own it gets that of value `from`, if that is of the pool.
int32_t define_output(coppice_context &, uint32_t op, uint32_t i, const int64_t *dims, int32_t rank,
                      uint32_t from = COPPICE_NONE);
/// The same for a kernel that does not allocate: the shape is known, or it is that of the inputs.
int32_t define_output(coppice_context &, uint32_t op, uint32_t i);
/// Memory for a result that the caller gets, or null.
void *allocate_result(uint64_t bytes);
/// coppice_call.allocate_output and coppice_call.scratch.
int32_t allocate_output(coppice_call *, uint32_t i, const int64_t *dims, int32_t rank);
void *allocate_scratch(coppice_call *, uint64_t bytes);

/// `graph m: node "/conv1" (onnx.Conv): <what>, inputs (1, 3, 8, 8) (4, 2, 3, 3)`
class message;
message begin_op_message(const coppice_context &, uint32_t op);
int32_t op_error(const coppice_context &, uint32_t op, int32_t status, const char *what);
/// Ends a message that was begun by begin_op_message with the shapes of the inputs.
void put_inputs(message &, const coppice_context &, uint32_t op);

} // namespace coppice::runtime
