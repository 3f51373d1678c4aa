// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Twice as large: runs a network of waifu2x on a picture that it draws, in the manner of the programs that come with
// these models. Prints how far the result is from the picture with each pixel doubled.
//   upscale MODEL.param MODEL.bin PADDING RESULT.ppm     PADDING: pixels that the network takes off at each side
#include <net.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: %s MODEL.param MODEL.bin PADDING RESULT.ppm\n", argv[0]);
    return 2;
  }
  const int width = 60, height = 44, padding = atoi(argv[3]);
  std::vector<unsigned char> picture;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const bool disc = std::hypot(x - 24, y - 20) < 13, line = (x + y) % 30 < 3;
      picture.push_back(static_cast<unsigned char>(disc ? 230 : x * 4));
      picture.push_back(static_cast<unsigned char>(line ? 40 : 120 + y));
      picture.push_back(static_cast<unsigned char>(disc && !line ? 60 : 180));
    }

  ncnn::Net net;
  net.opt.num_threads = 1;
  if (net.load_param(argv[1]) != 0 || net.load_model(argv[2]) != 0) return 1;
  const ncnn::Mat pixels = ncnn::Mat::from_pixels(picture.data(), ncnn::Mat::PIXEL_RGB, width, height);
  ncnn::Mat input, output;
  ncnn::copy_make_border(pixels, input, padding, padding, padding, padding, ncnn::BORDER_REPLICATE, 0.f, net.opt);
  const float scale[] = {1 / 255.f, 1 / 255.f, 1 / 255.f};
  input.substract_mean_normalize(nullptr, scale);

  ncnn::Extractor extractor = net.create_extractor();
  if (extractor.input(net.input_names()[0], input) != 0 || extractor.extract(net.output_names()[0], output) != 0)
    return 1;
  if (output.w != 2 * width || output.h != 2 * height || output.c != 3) {
    fprintf(stderr, "%dx%dx%d is not twice %dx%d\n", output.w, output.h, output.c, width, height);
    return 1;
  }
  const float back[] = {255.f, 255.f, 255.f};
  output.substract_mean_normalize(nullptr, back);
  std::vector<unsigned char> result(static_cast<size_t>(12 * width * height));
  output.to_pixels(result.data(), ncnn::Mat::PIXEL_RGB);

  double difference = 0;
  for (int y = 0; y < 2 * height; ++y)
    for (int x = 0; x < 2 * width; ++x)
      for (int c = 0; c < 3; ++c)
        difference += std::abs(result[(y * 2 * width + x) * 3 + c] - picture[(y / 2 * width + x / 2) * 3 + c]);
  printf("%dx%d, on average %.2f of 255 from the picture\n", output.w, output.h,
         difference / static_cast<double>(result.size()));

  FILE *file = fopen(argv[4], "wb");
  if (!file) return 1;
  fprintf(file, "P6\n%d %d\n255\n", output.w, output.h);
  const bool written = fwrite(result.data(), 1, result.size(), file) == result.size();
  return fclose(file) == 0 && written ? 0 : 1;
}
