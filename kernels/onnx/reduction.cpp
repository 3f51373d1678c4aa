// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduction.h"

namespace coppice::onnx {

status plan_reduction(call &c, const bool *fold, bool keep, reduction &r) {
  const DLTensor *x = c.inputs[0];
  int64_t dim[COPPICE_MAX_RANK];
  bool last_folded = false;
  int rank = 0;
  r = {};
  r.folded = 1;
  for (int k = 0; k < x->ndim; ++k) {
    if (!fold[k])
      dim[rank++] = x->shape[k];
    else if (keep)
      dim[rank++] = 1;
    if (fold[k]) r.folded *= x->shape[k];
    if (x->shape[k] == 0) r.empty = true;
    if (x->shape[k] == 1) continue;
    if (r.rank && last_folded == fold[k])
      r.dim[r.rank - 1] *= x->shape[k];
    else
      r.dim[r.rank++] = x->shape[k];
    last_folded = fold[k];
    r.out_step[r.rank - 1] = fold[k] ? 0 : 1;
  }
  if (!r.rank) r.dim[r.rank++] = 1; // one element: folded once
  int64_t step = 1;
  for (int k = r.rank - 1; k >= 0; --k)
    if (r.out_step[k]) {
      r.out_step[k] = step;
      step *= r.dim[k];
    }
  if (status s = allocate(c, 0, dim, rank); s != status::ok) return s;
  r.out_count = count_of(c.outputs[0]);
  return status::ok;
}

} // namespace coppice::onnx
