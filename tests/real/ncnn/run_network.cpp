// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs any ncnn network once with each of several options and prints all values of its outputs: what prove.py compares.
//   run_network NETWORK.param
// Inputs are made up from the names of the blobs, KIND:WxHxDxC with one to four sizes:
//   floats from -1 to 1; positives from 0.1 to 1.1; integersN from 0 to N - 1, int32; boxesN: x1 y1 x2 y2 inside N x N
// Weights are made up too, so that a network is its .param file alone.
#include <datareader.h>
#include <net.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

class Sequence { // of numbers that are the same everywhere
public:
  explicit Sequence(uint64_t seed) : state(seed) {}
  uint32_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  }
  float uniform() { return static_cast<float>(next() & 0xffff) / 65536.f; }

private:
  uint64_t state;
};

/// An endless .bin file: arrays of weights, each after its tag, which says what they are, and arrays of other floats
/// without one.
class MadeUpWeights : public ncnn::DataReader {
public:
  explicit MadeUpWeights(uint32_t tag) : tag(tag) {}
  size_t reference(size_t, const void **) const override { // ncnn asks for this before each read but that of a tag
    array = true;
    return 0;
  }
  size_t read(void *buffer, size_t size) const override {
    if (!array) {
      memcpy(buffer, &tag, size < sizeof tag ? size : sizeof tag);
      tagged = true;
      return size;
    }
    auto *bytes = static_cast<unsigned char *>(buffer);
    memset(bytes, 1, size);
    for (size_t at = 0; at + 4 <= size; at += 4) {
      uint32_t word;
      if (tagged && tag == Half) { // two of +-0.125 to +-0.25
        word = 0x30003000u | (sequence.next() & 0x83ff83ffu);
      } else {
        float value = sequence.uniform() - 0.5f;
        if (!tagged && size == 4) // a scale
          value = 3.7f;
        else if (!tagged && at % 16 == 0) // scales are among them: without large values there would be zeros only
          value *= 64.f;
        memcpy(&word, &value, 4);
      }
      memcpy(bytes + at, &word, 4);
    }
    array = tagged = false;
    return size;
  }
  static constexpr uint32_t Half = 0x01306B47;

private:
  uint32_t tag;
  mutable bool array = false, tagged = false;
  mutable Sequence sequence{1};
};

ncnn::Mat make_input(const std::string &name, Sequence &sequence) {
  int sizes[4];
  const size_t colon = name.find(':');
  const int dims = colon == std::string::npos
                       ? 0
                       : sscanf(name.c_str() + colon + 1, "%dx%dx%dx%d", &sizes[0], &sizes[1], &sizes[2], &sizes[3]);
  ncnn::Mat m;
  if (dims == 1)
    m.create(sizes[0]);
  else if (dims == 2)
    m.create(sizes[0], sizes[1]);
  else if (dims == 3)
    m.create(sizes[0], sizes[1], sizes[2]);
  else if (dims == 4)
    m.create(sizes[0], sizes[1], sizes[2], sizes[3]);
  if (m.empty()) return m;
  m.fill(0.f); // the gaps between channels too
  const std::string kind = name.substr(0, name.find_first_of("0123456789:"));
  const int bound = atoi(name.c_str() + kind.size());
  for (int c = 0; c < m.c; ++c) {
    ncnn::Mat channel = m.channel(c);
    auto *floats = static_cast<float *>(channel.data);
    auto *integers = static_cast<int *>(channel.data);
    for (int i = 0; i < m.w * m.h * m.d; ++i) {
      if (kind == "floats")
        floats[i] = sequence.uniform() * 2.f - 1.f;
      else if (kind == "positives")
        floats[i] = sequence.uniform() + 0.1f;
      else if (kind == "integers")
        integers[i] = static_cast<int>(sequence.next() % static_cast<uint32_t>(bound));
      else if (kind == "boxes") // the second corner after the first one
        floats[i] = static_cast<float>(bound) * (sequence.uniform() + static_cast<float>(i % 4 / 2)) / 2.f;
    }
  }
  return m;
}

void print(const char *name, const ncnn::Mat &m) {
  printf("%s %d:%dx%dx%dx%d/%zu", name, m.dims, m.w, m.h, m.d, m.c, m.elemsize);
  for (int c = 0; c < m.c; ++c) {
    const ncnn::Mat channel = m.channel(c);
    for (int i = 0; i < m.w * m.h * m.d; ++i) {
      if (m.elemsize == 4) // nine digits are exact
        printf(" %.9g", static_cast<double>(static_cast<const float *>(channel.data)[i]));
      else if (m.elemsize == 2)
        printf(" %04x", unsigned{static_cast<const uint16_t *>(channel.data)[i]});
      else
        printf(" %d", static_cast<const signed char *>(channel.data)[i]);
    }
  }
  printf("\n");
}

int run(const char *what, const ncnn::Option &option, uint32_t weight_tag, const char *param) {
  ncnn::Net net;
  net.opt = option;
  net.opt.num_threads = 1;
  int status = net.load_param(param);
  printf("%s: load_param %d\n", what, status);
  if (status == 0) {
    status = net.load_model(MadeUpWeights(weight_tag));
    printf("%s: load_model %d\n", what, status);
  }
  if (status != 0) return 1;
  ncnn::Extractor extractor = net.create_extractor();
  Sequence sequence(2);
  for (const char *name : net.input_names()) {
    const ncnn::Mat input = make_input(name, sequence);
    if (input.empty() || extractor.input(name, input) != 0) {
      printf("%s: no input %s\n", what, name);
      return 1;
    }
  }
  for (const char *name : net.output_names()) {
    ncnn::Mat output;
    status = extractor.extract(name, output);
    printf("%s: extract %d: ", what, status);
    if (status != 0) {
      printf("\n");
      return 1;
    }
    print(name, output);
  }
  return 0;
}

/// In a process of its own: with some options ncnn itself crashes, or uses instructions that the CPU does not have.
void run_apart(const char *what, const ncnn::Option &option, uint32_t weight_tag, const char *param) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int failed = run(what, option, weight_tag, param);
    fflush(stdout);
    _exit(failed);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) abort();
  if (WIFSIGNALED(status)) printf("%s: died with signal %d\n", what, WTERMSIG(status));
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s NETWORK.param\n", argv[0]);
    return 2;
  }
  ncnn::Option plain, bfloat, unpacked;
  bfloat.use_bf16_storage = true;
  unpacked.use_packing_layout = false;
  unpacked.use_winograd_convolution = false;
  unpacked.use_sgemm_convolution = false;
  run_apart("plain", plain, 0, argv[1]);
  run_apart("half weights", plain, MadeUpWeights::Half, argv[1]);
  run_apart("bfloat16", bfloat, 0, argv[1]);
  run_apart("unpacked", unpacked, 0, argv[1]);
}
