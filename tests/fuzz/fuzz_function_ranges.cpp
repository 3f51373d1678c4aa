// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an object whose code is decoded: functions of sections, and registrations by calls.
#include "analysis/reach/decode_x86_64.h"
#include "analysis/reach/registration_calls.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace coppice;
using namespace llvm;

static void require(bool invariant) {
  if (!invariant) abort();
}

static void checkRanges(const ObjectFile &object, uint32_t section, const SectionRanges &split) {
  require(split.fieldToEnd.size() == object.relocations(section).size());
  uint64_t end = 0;
  for (const FunctionRange &range : split.ranges) {
    require(range.begin >= end && range.end > range.begin && range.end <= object.contents(section).size());
    end = range.end;
    require(split.at(range.begin) == &range && split.at(range.end - 1) == &range);
    for (uint64_t target : range.references) require(split.at(target) && split.at(target) != &range);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static Decoder decoder;
  auto buffer = MemoryBuffer::getMemBufferCopy({reinterpret_cast<const char *>(bytes), size}); // aligned
  auto object = ObjectFile::parse(buffer->getMemBufferRef());
  if (!object) return consumeError(object.takeError()), 0;
  FunctionSymbols functions = FunctionSymbols(*object);
  for (uint32_t i = 1; i < object->sections().size(); ++i)
    if (!functions[i].empty()) checkRanges(*object, i, splitIntoFunctions(*object, i, decoder, functions[i]));

  CallEdge arguments, array; // of all functions whose names begin so
  arguments.call = cantFail(SymbolPattern::parse("reg{*}"));
  arguments.key = 1;
  arguments.function = 2;
  array.call = arguments.call;
  array.array = CallEdge::Array{1, 2, 0, 16, 0, 8, {}};
  RegistrationCalls registrations = matchRegistrations(*object, functions, decoder, {&arguments, &array});
  for (const RegistrationCall &r : registrations.found) {
    require(r.function < object->symbols().size() && r.symbol < object->symbols().size() && !r.key.empty());
    require(!r.source.isRelocation || r.source.index < object->relocations(r.source.section).size());
  }
  return 0;
}
