// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/why_query.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/Path.h"
#include <map>
#include <optional>

using namespace llvm;

namespace coppice {
namespace {

using Item = WhyRecord::Item;
using Kind = WhyRecord::Kind;

constexpr StringLiteral kernelPrefix = "coppice.kernel.";

bool isNamedByUser(Kind kind) {
  return kind == Kind::Graph || kind == Kind::List || kind == Kind::Code || kind == Kind::Key || kind == Kind::Op;
}

// How well a name fits, the best first.
enum Fit : unsigned { Exact, Demangled, LastPart, Place, Inside, Glob, No };

// The longest identifier of a query: a mangled name without it cannot fit. Empty where mangling abbreviates.
StringRef identifierOf(StringRef query) {
  StringRef best;
  for (StringRef rest = query; !rest.empty();) {
    StringRef word = rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
    if (word.size() > best.size()) best = word;
    rest = rest.drop_front(std::max<size_t>(1, word.size()));
  }
  bool isAbbreviated = query.contains("operator") || best.starts_with("basic_") || best == "string" ||
                       best == "allocator" || best.ends_with("stream") || query.contains("for ");
  return isAbbreviated ? StringRef() : best;
}

// "ns::f(int) const" -> "ns::f".
std::string withoutParameters(const std::string &mangled, const std::string &demangled) {
  ItaniumPartialDemangler partial;
  if (partial.partialDemangle(mangled.c_str()) || !partial.isFunction()) return demangled;
  char *text = partial.getFunctionName(nullptr, nullptr);
  std::string result = text ? text : demangled;
  std::free(text);
  return result;
}

class Query {
public:
  Query(const WhyRecord &record, StringRef text) : record(record), text(text), identifier(identifierOf(text)) {
    if (text.find_first_of("*?[{") == StringRef::npos) return;
    if (auto parsed = GlobPattern::create(text))
      glob = std::move(*parsed);
    else
      consumeError(parsed.takeError());
  }

  Fit fitOfSymbol(StringRef name) const {
    if (name.empty()) return No;
    if (name == text) return Exact;
    if (name.starts_with(kernelPrefix) && name.drop_front(kernelPrefix.size()) == text) return Demangled;
    bool isPossible = identifier.empty() || name.contains(identifier);
    if (!isPossible && !glob) return No;
    std::string mangled = name.str(), demangled = demangle(mangled);
    if (demangled == text) return Demangled;
    std::string plain = withoutParameters(mangled, demangled);
    if (plain == text) return Demangled;
    if (StringRef(plain).ends_with(text) && StringRef(plain).drop_back(text.size()).ends_with("::")) return LastPart;
    if (StringRef(plain).starts_with(text) && StringRef(plain).drop_front(text.size()).starts_with("::")) return Inside;
    if (glob && (glob->match(name) || glob->match(demangled) || glob->match(plain) ||
                 (name.starts_with(kernelPrefix) && glob->match(name.drop_front(kernelPrefix.size())))))
      return Fit::Glob;
    return No;
  }

  Fit fitOf(uint32_t index) const {
    const Item &item = record.items[index];
    if (isNamedByUser(item.kind)) {
      if (item.name == text || (item.kind == Kind::Key && (item.section + ":" + item.name).str() == text)) return Exact;
      if (item.name.ends_with(text) && item.name.drop_back(text.size()).ends_with(".")) return LastPart;
      Fit fit = glob && glob->match(item.name) ? Fit::Glob : No;
      return item.kind == Kind::Graph ? std::min(fit, fitOfPlace(item)) : fit;
    }
    return std::min(fitOfSymbol(item.name), fitOfPlace(item));
  }

private:
  Fit fitOfPlace(const Item &item) const {
    if (item.section == text && !item.section.empty()) return Place;
    if (item.object == WhyRecord::none) return glob && glob->match(item.section) ? Fit::Glob : No;
    const WhyRecord::Object &object = record.objects[item.object];
    StringRef file = sys::path::filename(object.file);
    if (text.ends_with(")") && text.contains(":(")) {
      auto [place, section] = text.drop_back().split(":(");
      if (section == item.section && isObject(place, object)) return Exact;
    }
    if (isObject(text, object)) return Place;
    if (!glob) return No;
    std::string name = object.name();
    bool fits = glob->match(item.section) || glob->match(name) || glob->match(object.member) || glob->match(file) ||
                glob->match(name + ":(" + item.section.str() + ")");
    return fits ? Fit::Glob : No;
  }
  static bool isObject(StringRef text, const WhyRecord::Object &object) {
    StringRef file = sys::path::filename(object.file);
    if (text == object.file || text == file || (!object.member.empty() && text == object.member)) return true;
    if (!text.consume_back(")")) return false;
    auto [archive, member] = text.split('(');
    return member == object.member && (archive == object.file || archive == file);
  }

  const WhyRecord &record;
  StringRef text, identifier;
  std::optional<GlobPattern> glob;
};

std::vector<std::string> nearNames(const WhyRecord &record, StringRef text) {
  size_t colons = text.rfind("::");
  std::string wanted = (colons == StringRef::npos ? text : text.drop_front(colons + 2)).split('(').first.lower();
  unsigned limit = std::max<unsigned>(wanted.size() > 3 ? 2 : 1, unsigned(wanted.size() / 3));
  std::map<std::string, unsigned> found;
  auto offer = [&](StringRef name, const std::string &whole) {
    unsigned distance = StringRef(wanted).edit_distance(name.lower(), true, limit);
    if (distance <= limit) found.try_emplace(whole, distance);
  };
  auto offerSymbol = [&](StringRef symbol) {
    if (symbol.empty()) return;
    std::string plain = withoutParameters(symbol.str(), demangle(symbol));
    size_t at = StringRef(plain).rfind("::");
    offer(at == StringRef::npos ? StringRef(plain) : StringRef(plain).drop_front(at + 2), plain);
  };
  for (const Item &item : record.items) {
    if (isNamedByUser(item.kind))
      offer(item.name, item.name.str());
    else
      offerSymbol(item.name);
  }
  for (const auto &alias : record.aliases) offerSymbol(alias.name);
  std::vector<std::pair<unsigned, std::string>> sorted;
  for (auto &[name, distance] : found) sorted.push_back({distance, name});
  llvm::stable_sort(sorted, less_first());
  std::vector<std::string> result;
  for (auto &[distance, name] : ArrayRef(sorted).take_front(3)) result.push_back(name);
  return result;
}

} // namespace

std::string displayName(const WhyRecord &record, uint32_t index) {
  const Item &item = record.items[index];
  if (isNamedByUser(item.kind)) return item.name.str();
  if (item.name.starts_with(kernelPrefix)) return "kernel " + item.name.drop_front(kernelPrefix.size()).str();
  if (!item.name.empty()) return demangle(item.name);
  std::string object = item.object == WhyRecord::none ? "" : record.objects[item.object].name();
  return object + ":(" + item.section.str() + ")";
}

WhyMatches findInRecord(const WhyRecord &record, StringRef text) {
  Query query(record, text);
  std::vector<uint8_t> fits(record.items.size(), No);
  parallelFor(3, record.items.size(), [&](size_t i) { fits[i] = uint8_t(query.fitOf(uint32_t(i))); });
  std::vector<uint8_t> aliasFits(record.aliases.size(), No);
  parallelFor(0, record.aliases.size(),
              [&](size_t i) { aliasFits[i] = uint8_t(query.fitOfSymbol(record.aliases[i].name)); });
  DenseMap<uint32_t, StringRef> inside;
  for (size_t i = 0; i < aliasFits.size(); ++i)
    if (uint8_t &fit = fits[record.aliases[i].item]; aliasFits[i] < fit) {
      fit = aliasFits[i];
      inside[record.aliases[i].item] = record.aliases[i].name;
    }
  // A kernel in an archive member that is not linked has no item but its key's.
  for (const WhyRecord::Registration &r : record.registrations)
    if (r.kernel == text && r.item != WhyRecord::none && r.object == WhyRecord::none)
      fits[r.item] = std::min<uint8_t>(fits[r.item], Demangled);

  WhyMatches result;
  fits[0] = fits[1] = fits[2] = No;
  uint8_t best = *llvm::min_element(fits);
  if (best == No) {
    result.near = nearNames(record, text);
    return result;
  }
  for (uint32_t i = 3; i < fits.size(); ++i)
    if (fits[i] == best) result.items.push_back({i, inside.lookup(i)});
  llvm::stable_sort(result.items, [&](const WhyMatches::Match &a, const WhyMatches::Match &b) {
    const Item &left = record.items[a.item], &right = record.items[b.item];
    return std::pair(left.retained, left.size) > std::pair(right.retained, right.size);
  });
  return result;
}

} // namespace coppice
