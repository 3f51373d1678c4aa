// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 1. Symbols that are callees; functions that may call them.
// 2. Calls in these functions, with what is known of their arguments.
// 3. A candidate for each key and function that a call hands over. Whatever else is done with a function's address
//    there is noted.
// 4. Candidates whose address had no other use are registrations.
#include "analysis/reach/registration_calls.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Demangle/Demangle.h"

using namespace llvm;

namespace coppice {

/// At most how many integer registers the parameters of a demangled name take, without `this` and the like.
static unsigned parameterRegisters(StringRef demangled) {
  constexpr unsigned all = 6;
  size_t close = demangled.rfind(')'), open = close;
  for (unsigned depth = 1; depth > 0;) { // over a pointer to a function
    if (open == StringRef::npos || open == 0) return all;
    char c = demangled[--open];
    depth += c == ')';
    depth -= c == '(';
  }
  unsigned registers = 0;
  for (StringRef rest = demangled.slice(open + 1, close); !rest.empty();) {
    size_t end = 0;
    for (int depth = 0; end < rest.size() && (depth > 0 || rest[end] != ','); ++end)
      depth += StringRef("<([{").contains(rest[end]) - StringRef(">)]}").contains(rest[end]);
    StringRef type = rest.take_front(end).trim();
    rest = rest.drop_front(std::min(end + 1, rest.size()));
    if (type.contains("...")) return all;
    bool isWord = type.ends_with("*") || type.ends_with("&") || (type.contains("(*") && !type.contains("::*)"));
    type.consume_front("unsigned ");
    isWord |=
        StringSwitch<bool>(type).Cases({"bool", "char", "short", "int", "long", "long long"}, true).Default(false);
    registers += isWord ? 1 : 2; // no value in registers is larger
  }
  return std::min(registers, all);
}

namespace {
class Matcher {
public:
  Matcher(const ObjectFile &object, const FunctionSymbols &functions, Decoder &decoder,
          ArrayRef<const CallEdge *> edges)
      : object(object), functions(functions), tracker(object, decoder), edges(edges),
        entries(object.sections().size()) {}

  RegistrationCalls run() {
    if (!findCallees()) return {};
    findCallers();
    for (auto [section, begin] : callers) match(section, begin);
    reportOtherReferences();
    confirm();
    return std::move(result);
  }

private:
  using Offsets = std::pair<uint32_t, uint64_t>; // section, offset
  struct Candidate {
    RegistrationCall registration;
    std::optional<KnownMemory::Place> place; ///< of the pointer, if it is in memory
    std::optional<AddressSource> writable;   ///< what refers to the array, where others could write to it
  };

  // --- 1. Callees and callers ---------------------------------------------------------------------------------------

  bool findCallees() {
    for (uint32_t i = 1; i < object.symbols().size(); ++i) {
      unsigned type = object.symbols()[i].getType();
      if (type != ELF::STT_FUNC && type != ELF::STT_NOTYPE && type != ELF::STT_GNU_IFUNC) continue;
      StringRef name = object.symbolName(i);
      if (name.contains(".cold")) continue; // where only the function itself jumps
      std::string demangled;
      if (name.contains(".cold")) continue; // the callee itself jumps there
      for (size_t e = 0; e < edges.size(); ++e) {
        if (!name.contains(edges[e]->call.literal())) continue;
        if (demangled.empty()) demangled = demangle(name.split('.').first);
        if (!edges[e]->call.matches(demangled)) continue;
        callees[i].push_back(e);
        registersOf[i] = parameterRegisters(demangled);
        if (uint32_t section = object.sectionOf(i))
          definedCallees[{section, object.symbols()[i].st_value}].push_back(i);
      }
    }
    return !callees.empty();
  }

  /// The edges whose callee this is.
  ArrayRef<size_t> edgesOf(const Value &callee, uint32_t *symbol = nullptr) {
    if (callee.kind != Value::Address) return {};
    uint32_t named = callee.symbol;
    if (!named && callee.section)
      if (auto it = definedCallees.find({callee.section, uint64_t(callee.offset)}); it != definedCallees.end())
        named = it->second.front();
    auto it = callees.find(named);
    if (!named || it == callees.end()) return {};
    if (symbol) *symbol = named;
    return it->second;
  }

  /// The function that these bytes are of: the end is exclusive.
  uint32_t functionAt(uint32_t section, uint64_t offset) const {
    ArrayRef<uint32_t> symbols = functions[section];
    auto after = partition_point(symbols, [&](uint32_t i) { return object.symbols()[i].st_value <= offset; });
    uint32_t best = 0;
    for (auto i = after; i != symbols.begin() && (!best || valueOf(*std::prev(i)) == valueOf(best)); --i) {
      uint32_t symbol = *std::prev(i);
      if (offset - valueOf(symbol) >= object.symbols()[symbol].st_size) continue;
      if (!best || object.symbols()[symbol].st_size >= object.symbols()[best].st_size) best = symbol;
    }
    return best;
  }
  uint64_t valueOf(uint32_t symbol) const { return object.symbols()[symbol].st_value; }

  void findCallers() {
    for (uint32_t section = 1; section < object.sections().size(); ++section) {
      uint64_t flags = object.sections()[section].sh_flags;
      if (!(flags & ELF::SHF_ALLOC)) continue;
      bool isCode = flags & ELF::SHF_EXECINSTR;
      for (uint32_t i = 0; i < object.relocations(section).size(); ++i) {
        auto target = tracker.target(section, i, isCode ? 4 : 0);
        if (!target) {
          if (uint32_t symbol = object.symbolOf(object.relocations(section)[i]))
            opaqueReferences.insert(object.sectionOf(symbol));
          continue;
        }
        if (target->section) entries[target->section].push_back(target->offset);
        if (!isCode && target->symbol == 0) continue; // what unwinders read
        if (edgesOf(*target).empty()) continue;
        references.push_back({section, i});
        uint64_t offset = object.relocations(section)[i].r_offset;
        if (uint32_t function = isCode ? functionAt(section, offset) : 0) callers.insert({section, valueOf(function)});
      }
    }
    for (auto &[place, symbols] : definedCallees) // these may be called without a relocation
      for (uint32_t function : functions[place.first])
        if (object.symbols()[function].getType() != ELF::STT_OBJECT) callers.insert({place.first, valueOf(function)});
    for (uint32_t section = 1; section < object.sections().size(); ++section) {
      for (uint32_t function : functions[section]) entries[section].push_back(valueOf(function));
      llvm::sort(entries[section]);
    }
  }

  // --- 2. Calls -----------------------------------------------------------------------------------------------------

  void match(uint32_t section, uint64_t begin) {
    caller = functionAt(section, begin);
    if (!caller) return;
    uint64_t end = begin + object.symbols()[caller].st_size;
    TrackedCalls code = tracker.track(section, begin, end, entries[section]);
    otherUses.insert(code.otherUses.begin(), code.otherUses.end());
    for (auto &[place, instructions] : code.loads) loads[place] += instructions.size();
    for (auto [instruction, target] : code.localReferences)
      localReferences[{caller, target}].push_back({section, false, instruction});

    std::set<std::pair<KnownMemory::Place, AddressSource>> handedOver;
    for (const CallSite &call : code.calls) {
      if (call.callee.source) calledThrough.insert(*call.callee.source);
      uint32_t callee = 0;
      ArrayRef<size_t> of = edgesOf(call.callee, &callee);
      std::vector<Candidate> matched = matchCall(code, call, of, callee, section);
      std::set<KnownMemory::Place> places;
      for (Candidate &c : matched)
        if (c.place) {
          places.insert(*c.place);
          handedOver.insert({*c.place, c.registration.source});
        }
      unsigned passed = call.arguments.size(); // what is in further registers is left from before
      for (const Candidate &c : matched) {
        const CallEdge &edge = *edges[c.registration.edge];
        passed = std::min(passed, (edge.array ? edge.array->position : std::min(edge.key, edge.function)) - 1 +
                                      registersOf[callee]);
      }
      for (unsigned i = 0; i < passed; ++i)
        if (llvm::none_of(matched, [&](const Candidate &c) {
              const CallEdge &edge = *edges[c.registration.edge];
              return edge.array ? edge.array->position == i + 1 : edge.function == i + 1;
            }))
          used(call.arguments[i]);
      for (auto &[place, word] : call.memory.all())
        if (place.isFrame && !places.count(place)) used(word.value);
      llvm::append_range(candidates, matched);
    }
    for (const auto &store : code.stores)
      if (!handedOver.count(store)) otherUses.insert(store.second);
  }

  void used(const std::optional<Value> &value) {
    if (value && value->source && tracker.isFollowed(*value)) otherUses.insert(*value->source);
  }

  // --- 3. Candidates ------------------------------------------------------------------------------------------------

  std::vector<Candidate> matchCall(const TrackedCalls &code, const CallSite &call, ArrayRef<size_t> of, uint32_t callee,
                                   uint32_t section) {
    std::vector<Candidate> matched;
    std::vector<UnmatchedCall> failures;
    for (size_t e : of) {
      auto fail = [&](const Twine &why) { failures.push_back({e, caller, section, call.offset, why.str()}); };
      if (!code.uncertain.empty())
        fail("the function with the call is not certain: " + code.uncertain);
      else if (object.symbolName(callee).contains('.'))
        fail("the compiler has changed the callee's parameters");
      else if (object.symbols()[callee].getBinding() == ELF::STB_LOCAL && !compilerMarksClones())
        fail("the callee is internal, and the compiler may have changed its parameters");
      else if (auto &array = edges[e]->array)
        matchArray(e, *array, call, matched, fail);
      else
        matchArguments(e, call, matched, fail);
    }
    for (UnmatchedCall &failure : failures) // several edges may describe the same callee
      if (matched.empty() ||
          llvm::any_of(matched, [&](const Candidate &c) { return c.registration.edge == failure.edge; }))
        result.unmatched.push_back(std::move(failure));
    for (Candidate &c : matched) {
      c.registration.function = caller;
      c.registration.call = call.offset;
    }
    return matched;
  }

  using Fail = function_ref<void(const Twine &)>;

  /// GCC gives a function another name when it changes its parameters; LLVM does not.
  bool compilerMarksClones() const {
    bool isGcc = false;
    for (uint32_t i = 1; i < object.sections().size(); ++i) {
      if (object.sectionName(i) != ".comment") continue;
      SmallVector<StringRef> producers;
      toStringRef(object.contents(i)).split(producers, '\0', -1, /*KeepEmpty=*/false);
      isGcc = !producers.empty() && llvm::all_of(producers, [](StringRef p) { return p.starts_with("GCC: "); });
    }
    return isGcc;
  }

  static std::optional<Value> argument(const CallSite &call, unsigned position) {
    if (position < 1 || position > call.arguments.size()) return std::nullopt;
    return call.arguments[position - 1];
  }

  void matchArguments(size_t e, const CallSite &call, std::vector<Candidate> &matched, Fail fail) {
    const CallEdge &edge = *edges[e];
    std::optional<Value> length;
    if (edge.length) {
      length = argument(call, *edge.length);
      if (!length) return fail("argument " + Twine(*edge.length) + " is not known");
    }
    add(e, argument(call, edge.key), length, argument(call, edge.function), std::nullopt, std::nullopt, matched,
        "argument " + utostr(edge.key), "argument " + utostr(edge.function), fail);
  }

  void matchArray(size_t e, const CallEdge::Array &array, const CallSite &call, std::vector<Candidate> &matched,
                  Fail fail) {
    auto pointer = argument(call, array.position);
    auto first = pointer ? KnownMemory::placeOf(*pointer) : std::nullopt;
    if (!first) return fail("argument " + Twine(array.position) + " is not the address of an array that is known");
    uint64_t count = array.fixedCount;
    if (array.count) {
      auto value = argument(call, *array.count);
      if (!value || value->kind != Value::Integer || value->offset < 0)
        return fail("argument " + Twine(*array.count) + " is not a known number");
      count = value->offset;
    }
    uint64_t initial = first->isFrame ? 0 : object.contents(first->space).size();
    if (array.stride == 0 || count > std::max(initial / array.stride, call.memory.all().size()))
      return fail("the array is not known");
    std::optional<AddressSource> writable;
    if (!first->isFrame && tracker.isWritable(first->space) && !object.contents(first->space).empty()) {
      if (isWritten(*first, count * array.stride, call)) return fail("the array is written to");
      writable = pointer->source;
    }
    for (uint64_t i = 0; i < count; ++i) {
      auto word = [&](uint64_t offset) {
        KnownMemory::Place place = *first;
        place.offset += i * array.stride + offset;
        if (auto value = call.memory.load(place, 8); value || place.isFrame || place.offset < 0) return value;
        return tracker.initialValue(place.space, place.offset);
      };
      KnownMemory::Place place = *first;
      place.offset += i * array.stride + array.functionOffset;
      std::optional<Value> length;
      if (array.lengthOffset) {
        length = word(*array.lengthOffset);
        if (!length) {
          fail("the length of record " + Twine(i) + " is not known");
          continue;
        }
      }
      std::string record = " of record " + utostr(i);
      add(e, word(array.keyOffset), length, word(array.functionOffset), place, writable, matched, "the key" + record,
          "the function" + record, fail);
    }
  }

  /// May an array that can be written have other than its initial values? Whether this call is all that is done with
  /// its address is only known in the end.
  bool isWritten(KnownMemory::Place first, uint64_t size, const CallSite &call) const {
    if (first.offset < 0 || opaqueReferences.count(first.space) ||
        llvm::any_of(call.memory.all(), [&](auto &w) { return w.first.space == first.space; }))
      return true;
    for (uint32_t i = 1; i < object.symbols().size(); ++i) { // other objects may write to it
      const ObjectFile::Symbol &s = object.symbols()[i];
      if (s.getBinding() != ELF::STB_LOCAL && object.sectionOf(i) == first.space &&
          s.st_value < uint64_t(first.offset) + size &&
          s.st_value + std::max<uint64_t>(s.st_size, 1) > uint64_t(first.offset))
        return true;
    }
    // An instruction with an immediate operand may refer to up to four bytes behind its entry.
    const std::vector<uint64_t> &all = entries[first.space];
    uint64_t from = first.offset < 4 ? 0 : first.offset - 4;
    return llvm::lower_bound(all, uint64_t(first.offset) + size) - llvm::lower_bound(all, from) != 1;
  }

  void add(size_t e, std::optional<Value> key, std::optional<Value> length, std::optional<Value> function,
           std::optional<KnownMemory::Place> place, std::optional<AddressSource> writable,
           std::vector<Candidate> &matched, const Twine &keyName, const Twine &functionName, Fail fail) {
    if (!key) return fail(keyName + " is not known");
    auto text = readString(*key, length);
    if (!text) return fail(keyName + " is not a constant string");
    if (!function) return fail(functionName + " is not known");
    if (!function->source || !isFunction(*function)) return fail(functionName + " is not the address of a function");
    matched.push_back(
        {{e, *text, function->symbol, function->section, function->offset, *function->source}, place, writable});
  }

  bool isFunction(const Value &value) const {
    if (!tracker.mayBeFunction(value)) return false;
    if (!value.section) return value.offset == 0;
    return llvm::any_of(functions[value.section], [&](uint32_t i) { return valueOf(i) == uint64_t(value.offset); });
  }

  std::optional<std::string> readString(const Value &pointer, std::optional<Value> length) {
    if (pointer.kind != Value::Address || !pointer.section || pointer.offset < 0) return std::nullopt;
    const ObjectFile::Section &s = object.sections()[pointer.section];
    StringRef contents = toStringRef(object.contents(pointer.section));
    if (s.sh_flags & ELF::SHF_WRITE || uint64_t(pointer.offset) >= contents.size()) return std::nullopt;
    StringRef text = contents.drop_front(pointer.offset);
    size_t size = text.find('\0');
    if (length) {
      if (length->kind != Value::Integer || length->offset < 0 || uint64_t(length->offset) > text.size())
        return std::nullopt;
      size = length->offset;
    }
    if (size == StringRef::npos) return std::nullopt;
    text = text.take_front(size);
    OrderedRelocations relocations{object.relocations(pointer.section), tracker.relocationsOf(pointer.section)};
    const uint32_t *next = relocations.from(pointer.offset);
    if (next != relocations.order.end() && relocations.table[*next].r_offset < pointer.offset + size)
      return std::nullopt;
    if (text.empty() || !llvm::all_of(text, isPrint)) return std::nullopt;
    return text.str();
  }

  // --- 4. What is certain -------------------------------------------------------------------------------------------

  void reportOtherReferences() {
    for (auto [section, relocation] : references) {
      if (calledThrough.count({section, true, relocation})) continue;
      uint64_t offset = object.relocations(section)[relocation].r_offset;
      bool isCode = object.sections()[section].sh_flags & ELF::SHF_EXECINSTR;
      uint32_t function = isCode ? functionAt(section, offset) : 0;
      auto callee = tracker.target(section, relocation, isCode ? 4 : 0);
      for (size_t e : callee ? edgesOf(*callee) : ArrayRef<size_t>())
        result.unmatched.push_back({e, function, section, offset, "the callee's address is taken"});
    }
  }

  void confirm() {
    std::set<AddressSource> registered;
    for (const Candidate &c : candidates) registered.insert(c.registration.source);
    for (const Candidate &c : candidates) {
      const RegistrationCall &r = c.registration;
      bool isOnlyUse = !otherUses.count(r.source) && isLoadedHereOnly(r.source);
      if (!r.source.isRelocation)
        for (const AddressSource &reference : localReferences[{r.function, uint64_t(r.offset)}])
          isOnlyUse &= registered.count(reference) && !otherUses.count(reference);
      if (c.writable && otherUses.count(*c.writable))
        result.unmatched.push_back({r.edge, r.function, object.sectionOf(r.function), r.call,
                                    "the array of \"" + r.key + "\" could be written to"});
      else if (isOnlyUse)
        result.found.push_back(r);
      else
        result.unmatched.push_back({r.edge, r.function, object.sectionOf(r.function), r.call,
                                    "the function of \"" + r.key + "\" is used in other ways, too"});
    }
  }

  /// Compilers share constants that several functions copy from.
  bool isLoadedHereOnly(const AddressSource &source) {
    if (!source.isRelocation || object.sections()[source.section].sh_flags & ELF::SHF_EXECINSTR) return true;
    uint64_t offset = object.relocations(source.section)[source.index].r_offset;
    auto after = loads.upper_bound({false, source.section, int64_t(offset)});
    if (after == loads.begin()) return true; // the table itself was handed over
    auto [place, count] = *std::prev(after);
    if (place.space != source.section || place.offset + 16 <= int64_t(offset)) return true;
    const std::vector<uint64_t> &all = entries[source.section];
    return size_t(llvm::upper_bound(all, offset) - llvm::lower_bound(all, uint64_t(place.offset))) == count;
  }

  const ObjectFile &object;
  const FunctionSymbols &functions;
  CallTracker tracker;
  ArrayRef<const CallEdge *> edges;

  std::map<uint32_t, std::vector<size_t>> callees;         ///< symbol -> edges
  std::map<uint32_t, unsigned> registersOf;                ///< parameterRegisters() of a callee
  std::map<Offsets, std::vector<uint32_t>> definedCallees; ///< -> symbols
  std::vector<std::vector<uint64_t>> entries;              ///< where relocations point, by section; sorted
  std::set<uint32_t> opaqueReferences;                     ///< sections that relocations of unknown types refer to
  std::vector<std::pair<uint32_t, uint32_t>> references;   ///< relocations that refer to callees
  std::set<Offsets> callers;                               ///< functions to look at
  uint32_t caller = 0;                                     ///< the one that is looked at
  std::vector<Candidate> candidates;
  std::set<AddressSource> otherUses, calledThrough;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<AddressSource>> localReferences; ///< caller, target
  std::map<KnownMemory::Place, size_t> loads;
  RegistrationCalls result;
};
} // namespace

RegistrationCalls matchRegistrations(const ObjectFile &object, const FunctionSymbols &functions, Decoder &decoder,
                                     ArrayRef<const CallEdge *> edges) {
  return Matcher(object, functions, decoder, edges).run();
}

} // namespace coppice
