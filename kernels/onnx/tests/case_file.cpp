// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "case_file.h"
#include "../float16.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace coppice::test {
namespace {

struct reader { // of what struct.pack wrote; the file is our own, so that nothing is checked
  const char *at;
  template <class T> T get() {
    T v;
    memcpy(&v, at, sizeof v);
    at += sizeof v;
    return v;
  }
  std::string text() {
    auto n = get<uint32_t>();
    at += n;
    return {at - n, n};
  }
};

tensor read_tensor(reader &r, bool &given) {
  given = r.get<uint32_t>();
  if (!given) return {};
  auto code = uint8_t(r.get<uint32_t>()), bits = uint8_t(r.get<uint32_t>());
  std::vector<int64_t> shape(r.get<uint32_t>());
  for (int64_t &d : shape) d = r.get<int64_t>();
  tensor t({code, bits, 1}, shape);
  memcpy(t.data(), r.at, size_t(t.bytes()));
  r.at += t.bytes();
  return t;
}

test_case read_case(reader &r) {
  test_case c;
  c.name = r.text();
  c.op = r.text();
  c.version = int(r.get<uint32_t>());
  c.rtol = r.get<double>();
  c.atol = r.get<double>();
  c.attributes.resize(r.get<uint32_t>());
  for (attribute &a : c.attributes) {
    a.name = r.text();
    a.kind = attribute::kind_t(r.get<uint32_t>());
    if (a.kind == attribute::integer)
      a.i = r.get<int64_t>();
    else if (a.kind == attribute::real)
      a.f = r.get<double>();
    else if (a.kind == attribute::text)
      a.s = r.text();
    else if (a.kind == attribute::integers) {
      a.is.resize(r.get<uint32_t>());
      for (int64_t &v : a.is) v = r.get<int64_t>();
    } else {
      a.fs.resize(r.get<uint32_t>());
      for (float &v : a.fs) v = r.get<float>();
    }
  }
  bool given;
  for (uint32_t n = r.get<uint32_t>(); n; --n) {
    c.inputs.push_back(read_tensor(r, given));
    c.given.push_back(given);
  }
  for (uint32_t n = r.get<uint32_t>(); n; --n) c.expected.push_back(read_tensor(r, given));
  return c;
}

double value_at(const tensor &t, int64_t i) {
  DLDataType d = t.dtype;
  if (d.code == 6) return t.data<uint8_t>()[i] != 0;
  if (d.code == 4) return double(onnx::widen(t.data<bf16>()[i]));
  if (d.code == 2)
    return d.bits == 16   ? double(onnx::widen(t.data<f16>()[i]))
           : d.bits == 32 ? double(t.data<float>()[i])
                          : t.data<double>()[i];
  if (d.code == 0)
    return d.bits == 8    ? double(t.data<int8_t>()[i])
           : d.bits == 16 ? double(t.data<int16_t>()[i])
           : d.bits == 32 ? double(t.data<int32_t>()[i])
                          : double(t.data<int64_t>()[i]);
  return d.bits == 8    ? double(t.data<uint8_t>()[i])
         : d.bits == 16 ? double(t.data<uint16_t>()[i])
         : d.bits == 32 ? double(t.data<uint32_t>()[i])
                        : double(t.data<uint64_t>()[i]);
}

} // namespace

std::vector<test_case> read_cases(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    exit(2);
  }
  std::vector<char> file;
  char block[1 << 16];
  for (size_t n; (n = fread(block, 1, sizeof block, f));) file.insert(file.end(), block, block + n);
  fclose(f);
  reader r{file.data()};
  std::vector<test_case> cases(r.get<uint32_t>());
  for (test_case &c : cases) c = read_case(r);
  return cases;
}

std::string difference(const tensor &got, const tensor &want, double rtol, double atol) {
  if (got.dtype.code != want.dtype.code || got.dtype.bits != want.dtype.bits) return "another element type";
  if (got.shape != want.shape) {
    std::string text = "shape";
    for (int64_t d : got.shape) text += " " + std::to_string(d);
    text += ", expected";
    for (int64_t d : want.shape) text += " " + std::to_string(d);
    return text;
  }
  for (int64_t i = 0; i < want.count(); ++i) {
    double g = value_at(got, i), w = value_at(want, i);
    bool exact = want.dtype.code != 2 && want.dtype.code != 4;
    bool fine = g == w || (g != g && w != w) || (!exact && std::fabs(g - w) <= atol + rtol * std::fabs(w));
    if (exact)
      fine = !memcmp(got.data() + i * want.dtype.bits / 8, want.data() + i * want.dtype.bits / 8, want.dtype.bits / 8);
    if (!fine) {
      char text[160];
      snprintf(text, sizeof text, "element %lld is %.9g, expected %.9g", static_cast<long long>(i), g, w);
      return text;
    }
  }
  return {};
}

} // namespace coppice::test
