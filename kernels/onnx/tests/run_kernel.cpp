// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_kernel.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

extern "C" const coppice_kernel *const coppice_test_kernels[]; // written by kernel_table.cmake; ends with null

namespace coppice::test {

namespace {

std::string name_of(DLDataType t) {
  if (t.code == 6) return "i1";
  const char *prefix = t.code == 0 ? "i" : t.code == 1 ? "ui" : t.code == 4 ? "bf" : "f";
  return prefix + std::to_string(t.bits);
}
DLDataType dtype_named(const std::string &name) {
  if (name == "i1") return {6, 8, 1};
  uint8_t bits = uint8_t(atoi(name.c_str() + name.find_first_of("0123456789")));
  return {uint8_t(name[0] == 'i' ? 0 : name[0] == 'u' ? 1 : name[0] == 'b' ? 4 : 2), bits, 1};
}

parameter parse_parameter(const std::string &text) {
  std::istringstream words(text);
  std::string kind, type, name;
  words >> kind >> type;
  parameter p{};
  if (kind == "attr") {
    p.kind = parameter::attribute;
    if (type == "list") {
      words >> name;
      type += " " + name;
    }
    words >> name;
    size_t equals = name.find('=');
    p.type = type;
    p.name = name.substr(0, equals);
    if (equals != std::string::npos) {
      p.is_constraint = name[equals + 1] == '=';
      p.has_default = !p.is_constraint;
      p.value = name.substr(equals + 1 + p.is_constraint);
    }
    return p;
  }
  p.kind = kind == "in"      ? parameter::in
           : kind == "in?"   ? parameter::optional_in
           : kind == "in..." ? parameter::variadic_in
                             : parameter::out;
  size_t at = 0;
  if (type[0] == '*')
    at = 2;
  else
    for (p.rank = 0; type[at] == '?'; at += 2) ++p.rank;
  p.dtype = type.substr(at);
  return p;
}

kernel parse(const coppice_kernel *descriptor) {
  kernel k{descriptor, {}, {}, {}, {}, {}};
  const char *text = reinterpret_cast<const char *>(descriptor) + descriptor->size;
  for (std::string *field : {&k.op, &k.variant, &k.target, &k.versions}) {
    *field = text;
    text += field->size() + 1;
  }
  std::string signature = text;
  for (size_t at = 0; at < signature.size();) {
    size_t comma = signature.find(", ", at);
    if (comma == std::string::npos) comma = signature.size();
    k.parameters.push_back(parse_parameter(signature.substr(at, comma - at)));
    at = comma + 2;
  }
  return k;
}

bool tensor_fits(const parameter &p, const tensor &t, std::string (&any)[2]) {
  if (p.rank >= 0 && p.rank != int(t.shape.size())) return false;
  std::string dtype = name_of(t.dtype);
  if (p.dtype != "any" && p.dtype != "any2") return p.dtype == dtype;
  std::string &bound = any[p.dtype == "any2"];
  if (bound.empty()) bound = dtype;
  return bound == dtype;
}

bool fits(const kernel &k, const node &n) {
  size_t dash = k.versions.find('-');
  if (dash != std::string::npos) {
    int last = atoi(k.versions.c_str() + dash + 1);
    if (n.version < atoi(k.versions.c_str()) || (last && n.version > last)) return false;
  }
  size_t input = 0, named = 0;
  std::string any[2];
  for (const parameter &p : k.parameters) {
    if (p.kind == parameter::in || p.kind == parameter::optional_in) {
      const tensor *t = input < n.inputs.size() ? n.inputs[input] : nullptr;
      ++input;
      if (!t) {
        if (p.kind == parameter::in) return false;
      } else if (!tensor_fits(p, *t, any)) {
        return false;
      }
    } else if (p.kind == parameter::variadic_in) {
      for (; input < n.inputs.size(); ++input)
        if (!tensor_fits(p, *n.inputs[input], any)) return false;
    } else if (p.kind == parameter::attribute) {
      const attribute *given = nullptr;
      for (const attribute &a : n.attributes)
        if (a.name == p.name) given = &a;
      if (given) ++named;
      if (!given && !p.has_default) return false;
      if (p.is_constraint && std::to_string(given->i) != p.value) return false;
    }
  }
  return input >= n.inputs.size() && named == n.attributes.size();
}

coppice_attribute value_of(const parameter &p, const node &n) {
  const attribute *given = nullptr;
  for (const attribute &a : n.attributes)
    if (a.name == p.name) given = &a;
  coppice_attribute v;
  v.list = {}; // the largest member: {} would clear the first one alone
  if (p.type == "i64" || p.type == "i1")
    v.i = given ? given->i : strtoll(p.value.c_str(), nullptr, 10);
  else if (p.type == "f64")
    v.f = given ? given->f : atof(p.value.c_str());
  else if (p.type == "string")
    v.list =
        given ? decltype(v.list){given->s.data(), given->s.size()} : decltype(v.list){p.value.data(), p.value.size()};
  else if (given && p.type == "list i64")
    v.list = {given->is.data(), given->is.size()};
  else if (given && p.type == "list f32")
    v.list = {given->fs.data(), given->fs.size()};
  return v;
}

struct running_call : call {
  const kernel *of;
  std::vector<tensor> results;
  std::vector<DLTensor> result_views;
  std::vector<std::shared_ptr<char>> scratches;
  tensor *over;
};

int32_t give_output(coppice_call *c, uint32_t i, const int64_t *shape, int32_t rank) {
  auto *r = static_cast<running_call *>(c);
  if (i >= r->n_outputs || rank < 0 || rank > COPPICE_MAX_RANK) {
    r->message = "bad allocate_output";
    return int32_t(status::failed);
  }
  std::string dtype;
  uint32_t output = 0, any_input = 0;
  for (const parameter &p : r->of->parameters)
    if (p.kind == parameter::out && output++ == i) dtype = p.dtype;
  if (dtype == "any")
    for (const parameter &p : r->of->parameters) {
      if (p.dtype == "any") break;
      ++any_input;
    }
  DLDataType type = dtype == "any" ? r->inputs[any_input]->dtype : dtype_named(dtype);
  int64_t bytes = type.bits / 8;
  for (int k = 0; k < rank; ++k)
    if (shape[k] < 0 || __builtin_mul_overflow(bytes, shape[k], &bytes)) bytes = INT64_MAX;
  if (bytes > int64_t(1) << 32) {
    r->message = "an output of a size that cannot be";
    return int32_t(status::out_of_memory);
  }
  std::vector<int64_t> dims(shape, shape + rank);
  if (i == 0 && r->over && r->over->bytes() == tensor::bytes(type, dims)) {
    r->results[i] = *r->over;
    r->results[i].dtype = type;
    r->results[i].shape = dims;
  } else {
    r->results[i] = tensor(type, dims);
  }
  r->result_views[i] = r->results[i].view();
  return 0;
}
void *give_scratch(coppice_call *c, uint64_t bytes) {
  auto *r = static_cast<running_call *>(c);
  void *p = nullptr;
  if (posix_memalign(&p, 64, bytes)) return nullptr;
  memset(p, 0xcd, bytes);
  r->scratches.emplace_back(static_cast<char *>(p), free);
  return p;
}

} // namespace

const std::vector<kernel> &kernels() {
  static const std::vector<kernel> all = [] {
    std::vector<kernel> list;
    for (auto *const *k = coppice_test_kernels; *k; ++k) list.push_back(parse(*k));
    return list;
  }();
  return all;
}

std::vector<const kernel *> fitting(const node &n) {
  std::vector<const kernel *> list;
  for (const kernel &k : kernels()) {
    if (k.op != n.op || !fits(k, n)) continue;
    for (const kernel *other : list)
      if (other->target == k.target) {
        fprintf(stderr, "%s: both %s and %s fit\n", k.op.c_str(), other->variant.c_str(), k.variant.c_str());
        abort();
      }
    list.push_back(&k);
  }
  return list;
}

bool runnable(const kernel &k) {
  if (k.target == "x86-64-v4")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (k.target == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return true;
}

outcome run(const kernel &k, const node &n, int over) {
  std::vector<tensor> inputs(n.inputs.size());
  std::vector<DLTensor> views(n.inputs.size());
  std::vector<DLTensor *> input_pointers(n.inputs.size()), output_pointers(n.n_outputs);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i]) continue;
    size_t first = i; // an operand that is given twice stays one tensor
    while (first > 0 && n.inputs[first - 1] != n.inputs[i]) --first;
    inputs[i] = first > 0 ? inputs[first - 1] : n.inputs[i]->copy();
    views[i] = inputs[i].view();
    input_pointers[i] = &views[i];
  }
  std::vector<coppice_attribute> attributes;
  for (const parameter &p : k.parameters)
    if (p.kind == parameter::attribute) attributes.push_back(value_of(p, n));

  running_call c{};
  c.of = &k;
  c.results.resize(n.n_outputs);
  c.result_views.resize(n.n_outputs);
  c.over = over >= 0 && n.inputs[size_t(over)] ? &inputs[size_t(over)] : nullptr;
  for (uint32_t i = 0; i < n.n_outputs; ++i) output_pointers[i] = &c.result_views[i];
  c.size = sizeof(coppice_call);
  c.n_inputs = uint32_t(n.inputs.size());
  c.n_outputs = n.n_outputs;
  c.n_attributes = uint32_t(attributes.size());
  c.inputs = input_pointers.data();
  c.outputs = output_pointers.data();
  c.attributes = attributes.data();
  c.allocate_output = give_output;
  c.scratch = give_scratch;
  auto result = status(k.descriptor->run(&c));
  return {result, c.message ? c.message : "", std::move(c.results)};
}

} // namespace coppice::test
