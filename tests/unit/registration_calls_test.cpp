// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/decode_x86_64.h"
#include "analysis/reach/registration_calls.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <set>

using namespace coppice;
using namespace llvm;

namespace {
struct Object {
  explicit Object(const std::string &name)
      : buffer(std::move(*MemoryBuffer::getFile(COPPICE_TEST_OBJECTS "/" + name, false, false))),
        file(cantFail(ObjectFile::parse(buffer->getMemBufferRef()))), functions(FunctionSymbols(file)) {}
  std::string functionName(const RegistrationCall &r) const {
    if (r.symbol) return file.symbolName(r.symbol).str();
    for (uint32_t i : functions[r.section])
      if (file.symbols()[i].st_value == uint64_t(r.offset)) return file.symbolName(i).str();
    return "?";
  }

  std::unique_ptr<MemoryBuffer> buffer;
  ObjectFile file;
  FunctionSymbols functions;
  Decoder decoder;
};

CallEdge edge(StringRef call, unsigned key, unsigned function, std::optional<unsigned> length = {}) {
  CallEdge edge;
  edge.call = cantFail(SymbolPattern::parse(call));
  edge.key = key;
  edge.function = function;
  edge.length = length;
  return edge;
}
CallEdge arrayEdge(StringRef call, uint64_t stride, uint64_t keyOffset, uint64_t functionOffset) {
  CallEdge edge;
  edge.call = cantFail(SymbolPattern::parse(call));
  edge.array = CallEdge::Array{1, 2, 0, stride, keyOffset, functionOffset, {}};
  return edge;
}

using Pairs = std::multiset<std::pair<std::string, std::string>>; ///< key, mangled function

struct Result {
  Pairs pairs;
  std::multiset<std::pair<std::string, std::string>> unmatched; ///< function with the call, why
  bool missed(StringRef function) const {
    return llvm::any_of(unmatched, [&](auto &u) { return StringRef(u.first).contains(function); });
  }
};

Result match(Object &object, std::initializer_list<CallEdge> edges) {
  std::vector<const CallEdge *> list;
  for (const CallEdge &e : edges) list.push_back(&e);
  RegistrationCalls registrations = matchRegistrations(object.file, object.functions, object.decoder, list);
  Result result;
  for (const RegistrationCall &r : registrations.found) {
    result.pairs.insert({r.key, object.functionName(r)});
    if (!r.source.isRelocation) continue; // else the relocation is the one that refers to the function
    ObjectFile::Relocation relocation = object.file.relocations(r.source.section)[r.source.index];
    uint32_t symbol = relocation.getSymbol(false);
    EXPECT_EQ(r.symbol ? symbol == r.symbol : object.file.sectionOf(symbol) == r.section, true) << r.key;
  }
  for (const UnmatchedCall &u : registrations.unmatched)
    result.unmatched.insert({u.function ? object.file.symbolName(u.function).str() : "", u.why});
  return result;
}

std::vector<std::string> variants() {
  std::vector<std::string> result;
  for (const char *compiler : {"gcc", "clang"})
    for (const char *level : {"O0", "O1", "O2", "O3"})
      for (const char *pic : {"pic", "nopic"}) result.push_back(formatv("{0}.{1}.{2}", compiler, level, pic));
  return result;
}
} // namespace

// Every compiler, level and code model gives the same.
TEST(RegistrationCalls, OfCompilers) {
  for (const std::string &variant : variants()) {
    SCOPED_TRACE(variant);
    Object object("registrations." + variant + ".o");
    bool optimized = !StringRef(variant).contains("O0"), isPic = StringRef(variant).ends_with(".pic");
    Result result = match(object, {edge("Registrar::Registrar({*}", 2, 3), arrayEdge("registerAll({*}", 16, 0, 8),
                                   edge("Op::Op({*}", 2, 3), arrayEdge("registerOps({*}", 24, 0, 16),
                                   edge("registerView({*}", 2, 3, 1),
                                   edge("ClosureRegistrar::ClosureRegistrar({*}", 2, 3), edge("internal({*}", 2, 4)});
    Pairs expected = {{"mul", "_Z6mulCpui"},
                      {"mul", "_Z6mulGpui"},
                      {"local", "_ZL5locali"},
                      {"view", "_Z3k00i"},
                      {"first", "_Z6sharedi"},
                      {"second", "_Z6sharedi"},
                      {"a1", "_Z2a1i"},
                      {"a2", "_Z2a2i"},
                      {"a3", "_Z2a3i"},
                      {"c1", "_Z2c1i"},
                      {"c2", "_Z2c2i"},
                      {"c3", "_Z2c3i"},
                      {"c4", "_Z2c4i"},
                      {"c5", "_Z2c5i"},
                      {"s1", "_Z2s1i"},
                      {"s2", "_Z2s2i"},
                      {"o1", "_Z2o1i"},
                      {"o2", "_Z2o2i"},
                      {"branched", "_Z8branchedi"}};
    for (int i = 0; i < 20; ++i) {
      std::string name = "k" + std::to_string(i / 10) + std::to_string(i % 10);
      expected.insert({name, "_Z3" + name + "i"});
    }
    // Right at some levels, where the compiler makes separate operands or copies of the call.
    for (auto [key, function] :
         {std::pair("other", "_Z5otheri"), std::pair("twice", "_ZL10localTwicei"), std::pair("loop0", "_Z4loopi"),
          std::pair("loop1", "_Z4loopi"), std::pair("i1", "_Z2i1i"), std::pair("i3", "_Z2i3i")})
      if (StringRef(key) != "twice" || !isPic) result.pairs.erase({key, function});
    EXPECT_EQ(result.pairs, expected);
    for (const char *function : {"registerEither", "registerComputed", "registerChanged", "registerFirstChanged",
                                 "registerGivenAway", "registerGlobal", "takeAddress"})
      EXPECT_TRUE(result.missed(function)) << function;
    EXPECT_EQ(result.missed("registerLocalTwice"), isPic);
    EXPECT_TRUE(result.missed(optimized ? "_GLOBAL__sub_I" : "init")) << "closure";
  }
}

TEST(RegistrationCalls, StandardFunctionsAndStringsAreNotGuessed) {
  for (const char *compiler : {"gcc", "clang"})
    for (const char *level : {"O0", "O1", "O2", "O3"}) {
      Object object(formatv("registrations_function.{0}.{1}.o", compiler, level));
      Result result = match(object, {edge("Registrar::Registrar({*}", 2, 3)});
      EXPECT_EQ(result.pairs, Pairs()) << compiler << level;
      EXPECT_GE(result.unmatched.size(), 3U) << compiler << level;
    }
}

// The code of registrations.s, by the function with the call.
TEST(RegistrationCalls, OneByOne) {
  Object object("registrations.o");
  std::vector<CallEdge> edges = {edge("reg", 1, 2),
                                 arrayEdge("regs", 16, 0, 8),
                                 edge("reg_sized", 2, 3, 1),
                                 edge("reg_local", 1, 2),
                                 arrayEdge("typed(void const*, unsigned long)", 16, 0, 8),
                                 arrayEdge("regs_one", 16, 0, 8)};
  edges.back().array->count.reset();
  edges.back().array->fixedCount = 1;
  std::vector<const CallEdge *> list;
  for (const CallEdge &e : edges) list.push_back(&e);
  RegistrationCalls all = matchRegistrations(object.file, object.functions, object.decoder, list);

  std::map<std::string, std::string> found, unmatched;
  for (const RegistrationCall &r : all.found) {
    found[object.file.symbolName(r.function).str()] = r.key + " " + object.functionName(r);
    EXPECT_EQ(r.source.isRelocation, r.symbol != 0);
  }
  for (const UnmatchedCall &u : all.unmatched) unmatched[object.file.symbolName(u.function).str()] = u.why;

  for (const char *function :
       {"simple", "through_register", "tail", "conditional_tail", "stack_pushed", "realigned", "unpacked", "halves",
        "inserted", "copied_pool", "copied_string", "copied_call", "frame_after_branch"})
    EXPECT_EQ(found[function], "key f") << function << ": " << unmatched[function];
  EXPECT_EQ(found["local_once"], "key local_f") << unmatched["local_once"];
  EXPECT_EQ(found["sized_string"], "sized f") << unmatched["sized_string"];

  const std::pair<const char *, const char *> missed[] = {
      {"at_label", "argument 1 is not known"},
      {"calls_local", "the callee is internal, and the compiler may have changed its parameters"},
      {"entered", "argument 1 is not known"},
      {"jumps_indirectly", "the function with the call is not certain: it jumps to computed addresses"},
      {"after_call", "argument 1 is not known"},
      {"selected", "argument 2 is not known"},
      {"partly_overwritten", "argument 2 is not known"},
      {"stored_over", "the function of record 0 is not known"},
      {"stored_through_pointer", "the array is not known"},
      {"changed_by_call", "the array is not known"},
      {"count_unknown", "argument 2 is not a known number"},
      {"count_too_large", "the array is not known"},
      {"string_empty", "argument 1 is not a constant string"},
      {"string_control", "argument 1 is not a constant string"},
      {"string_relocated", "argument 1 is not a constant string"},
      {"string_unterminated", "argument 1 is not a constant string"},
      {"string_writableString", "argument 1 is not a constant string"},
      {"string_undefined", "argument 1 is not a constant string"},
      {"sized_too_far", "argument 2 is not a constant string"},
  };
  for (auto [function, why] : missed) {
    EXPECT_EQ(found.count(function), 0U) << function;
    EXPECT_EQ(unmatched[function], why) << function;
  }
  for (const char *function : {"also_called", "also_compared", "also_stored", "also_returned", "also_passed",
                               "also_argument", "also_kept", "also_unwound", "pool_shared", "local_twice"}) {
    EXPECT_EQ(found.count(function), 0U) << function;
    EXPECT_TRUE(StringRef(unmatched[function]).contains("is used in other ways, too")) << function;
  }
}
