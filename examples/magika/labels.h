// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the scores of the network to a content type.
#pragma once
#include <cstdint>

// Arrays rather than pointers: a table of pointers would be relocated at every start.
struct content_type {
  char name[20], description[48], group[12];
  float threshold;  // a lower score is not believed
  uint8_t reported; // index of the type that stands for this one, most often itself
  bool is_text;
};
extern const content_type &txt_type, &unknown_type, &empty_type, &directory_type;

inline constexpr int scores_per_file = 214;

struct verdict {
  const content_type *type = nullptr;
  const content_type *guess = nullptr; // the network's best, when its score was too low
  float score = 1;
};

/// scores: float[scores_per_file].
verdict judge(const float *scores);
