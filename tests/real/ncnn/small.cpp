// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small network with ncnn's C++ API: small.param, all of whose weights are 0.
//   small small.param
#include <net.h>

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s small.param\n", argv[0]);
    return 2;
  }
  ncnn::Net net;
  const int loaded = net.load_param(argv[1]);
  alignas(4) static const unsigned char weights[4 + (216 + 8) * sizeof(float)] = {}; // a tag, the weights, the bias
  if (loaded != 0 || net.load_model(weights) != sizeof weights) return 1;
  ncnn::Mat image(16, 16, 3), scores;
  image.fill(1.f);
  ncnn::Extractor extractor = net.create_extractor();
  const int put = extractor.input("image", image), run = extractor.extract("scores", scores);
  if (put != 0 || run != 0) return 1;
  printf("rc %d %d %dx%dx%d %f\n", put, run, scores.w, scores.h, scores.c, static_cast<double>(scores[0]));
}
