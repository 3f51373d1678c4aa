// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "labels.h"
#include "labels.inc"
static_assert(n_scores == scores_per_file);

verdict judge(const float *scores) {
  int best = 0;
  for (int i = 1; i < scores_per_file; ++i)
    if (scores[i] > scores[best]) best = i;
  const content_type &type = types[best];
  if (scores[best] >= type.threshold) return {&types[type.reported], nullptr, scores[best]};
  const content_type *fallback = type.is_text ? &txt_type : &unknown_type;
  return {fallback, fallback == &type ? nullptr : &type, scores[best]};
}
