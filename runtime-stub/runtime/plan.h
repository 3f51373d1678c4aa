// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* A compiled graph: what the linker writes (linker/plan_object.cpp) and the executor walks (execute.cpp).
   One read-only object with the symbol `coppice.plan.<name>.needs_fuse_ld_coppice`. Everything is found by byte offsets
   from its start, little-endian, naturally aligned; the only relocations are `weights`, `open_weights` and the table of
   kernels. Written and read by the same version of Coppice: `abi` is checked, nothing is converted. */
#pragma once
#include "coppice/kernel.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { COPPICE_PLAN_ABI = 1 };
static const uint32_t COPPICE_NONE = 0xffffffffu; /* no value, no string, no shape */
static const uint32_t COPPICE_OP_IF = 0xfffffffeu;
static const uint64_t COPPICE_DYNAMIC = ~(uint64_t)0; /* memory of this value is found at run time */

typedef struct coppice_plan {
  uint16_t abi, header_size; /* COPPICE_PLAN_ABI, sizeof(coppice_plan) */
  uint32_t total_size;       /* header and all tables, bytes */
  const uint8_t *weights;    /* 64-byte aligned; null without weights, or when they are in a file */
  /* `coppice_open_weights` when the weights are in a file of their own, else null. */
  const uint8_t *(*open_weights)(const struct coppice_plan *);
  uint64_t weights_bytes;
  uint64_t weights_hash; /* xxh3-64 of the weights; also in the header of the file */
  uint64_t arena_bytes;  /* memory of all intermediates whose shape is static, planned at link time */
  uint32_t name, file;   /* strings: of the graph, and where it came from */
  uint32_t weights_file; /* string, or COPPICE_NONE */
  uint32_t kernels;      /* const coppice_kernel *[n_kernels] */
  uint32_t levels;       /* uint8_t[n_kernels]: x86-64 level (1 to 4) that the kernel needs, 0 none */
  uint32_t slots;        /* coppice_plan_slot[] */
  uint32_t values;       /* coppice_plan_value[n_values] */
  uint32_t shapes;       /* int64_t[]: dimensions, -1 dynamic */
  uint32_t ops;          /* coppice_plan_op[n_ops] */
  uint32_t blocks;       /* coppice_plan_block[n_blocks]; block 0 is the graph */
  uint32_t indices;      /* uint32_t[]: lists of values */
  uint32_t attributes;   /* coppice_plan_attribute[] */
  uint32_t n_kernels, n_values, n_ops, n_blocks;
  uint32_t n_arguments, n_results; /* values 0 to n_arguments - 1 are the arguments; block 0 yields the results */
} coppice_plan;

/* One op after overload resolution: a kernel for each CPU level, best first; the first that the CPU can run is used. */
typedef struct coppice_plan_slot {
  uint32_t first, count; /* in kernels and levels */
} coppice_plan_slot;

enum { COPPICE_VALUE_ARGUMENT, COPPICE_VALUE_CONSTANT, COPPICE_VALUE_INTERMEDIATE };
typedef struct coppice_plan_value {
  uint8_t kind;       /* COPPICE_VALUE_* */
  uint8_t code, bits; /* as in DLDataType */
  int8_t rank;        /* -1: found at run time */
  uint32_t shape;     /* index into shapes, or COPPICE_NONE where the rank is -1 */
  uint64_t offset;    /* constant: in weights. Intermediate: in the arena, or COPPICE_DYNAMIC. Argument: 0 */
} coppice_plan_value;

typedef struct coppice_plan_op {
  uint32_t slot; /* or COPPICE_OP_IF: one input (i1), blocks `attributes` (then) and `attributes` + 1 (else) */
  uint16_t n_inputs, n_outputs;
  uint32_t operands;   /* index into indices: inputs (COPPICE_NONE: absent), then outputs (same) */
  uint32_t attributes; /* index of the first */
  uint16_t n_attributes, n_releases;
  uint32_t releases; /* index into indices: intermediates that no later op reads */
  uint32_t name;     /* string: node name, or file:line:column; for messages */
  uint32_t op;       /* string: "onnx.Conv"; for messages */
} coppice_plan_op;

typedef struct coppice_plan_block {
  uint32_t first_op, n_ops;
  uint32_t yields, n_yields; /* index into indices. The yields of a branch become the outputs of its COPPICE_OP_IF */
} coppice_plan_block;

/* A string, list<int64_t> or list<float> lies at byte `value` of the plan and has `count` elements. */
enum { COPPICE_ATTRIBUTE_I64, COPPICE_ATTRIBUTE_F64, COPPICE_ATTRIBUTE_LIST };
typedef struct coppice_plan_attribute {
  uint32_t kind, count;
  union {
    int64_t i;
    double f;
    uint64_t offset;
  } value;
} coppice_plan_attribute;

/* The file of --weights=FILE: this header, then weights_bytes bytes. */
typedef struct coppice_weights_header {
  char magic[8]; /* "COPPICEW" */
  uint64_t bytes, hash;
  uint8_t zero[40];
} coppice_weights_header;
const uint8_t *coppice_open_weights(const coppice_plan *);

#ifdef __cplusplus
}
#endif
