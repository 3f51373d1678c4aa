// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contents, in columns, since these compress best: all kinds, then all names, and so on. Strings are numbered in
// the order of their first use, so that most numbers follow the one before.
#include "analysis/reach/why_record.h"
#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {

std::string WhyRecord::Object::name() const { return (file + (member.empty() ? "" : "(" + member + ")")).str(); }

Place WhyRecord::Use::place() const { return {.file = file.str(), .line = line, .column = column, .node = node.str()}; }

uint32_t WhyRecord::root(uint32_t item) const {
  while (item > 2) item = items[item].parent;
  return item;
}

void WhyRecord::addUpRetained() {
  for (Item &item : items) item.retained = item.size;
  for (size_t i = items.size(); i-- > 3;) items[items[i].dominator].retained += items[i].retained;
}

namespace {

constexpr StringLiteral magic = "CPWHYR01";
constexpr size_t headerSize = 24;
// No record of ours comes near; what claims more would only take memory.
constexpr uint64_t greatestSize = uint64_t(1) << 30, greatestRatio = 1024;

using Item = WhyRecord::Item;

constexpr unsigned itemColumns = 10;

// How a section's name follows from its symbol's.
enum SectionForm : uint8_t { Whole, PrefixOfName };

class Writer {
public:
  std::string run(const WhyRecord &record) {
    ArrayRef<Item> items = ArrayRef(record.items).drop_front(3);
    number(items.size());
    for (const Item &i : items)
      number(unsigned(i.kind) | unsigned(i.isOnlyWay) << 4 | unsigned(i.isFilled) << 5 | unsigned(i.hasNoBytes) << 6);
    for (const Item &i : items) number(unsigned(i.via));
    for (const Item &i : items) number(i.detail + 1);
    for (size_t i = 0; i < items.size(); ++i) number(i + 3 - items[i].parent);
    for (size_t i = 0; i < items.size(); ++i) number(i + 3 - items[i].dominator);
    uint32_t object = 0;
    for (const Item &i : items) difference(i.object + 1, object);
    for (const Item &i : items) newString(i.name);
    for (const Item &i : items) {
      bool isSuffix = !i.name.empty() && i.section.size() > i.name.size() && i.section.ends_with(i.name);
      number(isSuffix ? PrefixOfName : Whole);
      string(isSuffix ? i.section.drop_back(i.name.size()) : i.section);
    }
    for (const Item &i : items)
      if (i.via == WhyRecord::Via::Missing) string(i.variant);
    for (const Item &i : items) number(i.size);

    number(record.objects.size());
    for (const auto &o : record.objects) string(o.file);
    for (const auto &o : record.objects) string(o.member);
    number(record.uses.size());
    for (const auto &u : record.uses) {
      string(u.file);
      string(u.node);
      number(u.line);
      number(u.column);
      number(u.count);
    }
    number(record.registrations.size());
    for (const auto &r : record.registrations) {
      number(unsigned(r.verdict));
      string(r.binding);
      newString(r.key);
      newString(r.kernel);
      string(r.variant);
      number(r.object + 1);
      number(r.registry + 1);
      number(r.item + 1);
    }
    number(record.aliases.size());
    uint32_t item = 0;
    for (const auto &a : record.aliases) difference(a.item, item);
    for (const auto &a : record.aliases) newString(a.name);
    number(record.unreferencedCount);
    number(record.unreferencedBytes);
    number(record.notes.size());
    for (StringRef note : record.notes) string(note);
    os.flush();

    std::string result;
    raw_string_ostream all(result);
    encodeULEB128(strings.size(), all);
    for (StringRef s : strings) encodeULEB128(s.size(), all);
    for (StringRef s : strings) all << s;
    all << numbers;
    return result;
  }

private:
  void number(uint64_t value) { encodeULEB128(value, os); }
  void difference(uint32_t value, uint32_t &last) {
    encodeSLEB128(int64_t(value) - int64_t(last), os);
    last = value;
  }
  void string(StringRef s) {
    auto [it, isNew] = ids.try_emplace(CachedHashStringRef(s), uint32_t(strings.size()));
    if (isNew) strings.push_back(s);
    difference(it->second, lastString);
  }

  // Nearly all names are different; to look for those that are not takes longer than it saves.
  void newString(StringRef s) {
    if (s.empty()) return string(s);
    difference(uint32_t(strings.size()), lastString);
    strings.push_back(s);
  }

  std::string numbers;
  raw_string_ostream os{numbers};
  DenseMap<CachedHashStringRef, uint32_t> ids;
  std::vector<StringRef> strings;
  uint32_t lastString = 0;
};

// Stops at the first thing that is wrong; what is read after that is zero.
class Reader {
public:
  Reader(StringRef bytes, WhyRecord &record) : all(bytes), rest(bytes), record(record) {}

  Error run() {
    std::vector<uint64_t> sizes(count("strings"));
    for (uint64_t &size : sizes) size = number();
    for (uint64_t size : sizes) {
      if (size > rest.size()) fail("a string reaches beyond the end");
      if (!message.empty()) break;
      strings.push_back(rest.take_front(size));
      rest = rest.drop_front(size);
    }

    record.items.resize(3 + count("items", itemColumns));
    for (uint32_t i = 0; i < 3; ++i) {
      record.items[i].kind = WhyRecord::Kind(i);
      record.items[i].parent = record.items[i].dominator = i;
    }
    MutableArrayRef<Item> items = MutableArrayRef(record.items).drop_front(3);
    for (Item &i : items) {
      uint64_t bits = limited(128, "kind");
      if ((bits & 15) > unsigned(WhyRecord::Kind::Common) || (bits & 15) < 3) bits = 3, fail("an item has no kind");
      i.kind = WhyRecord::Kind(bits & 15);
      i.isOnlyWay = bits & 16;
      i.isFilled = bits & 32;
      i.hasNoBytes = bits & 64;
    }
    for (Item &i : items) i.via = WhyRecord::Via(limited(unsigned(WhyRecord::Via::Unreferenced) + 1, "reason"));
    for (Item &i : items) i.detail = uint32_t(limited(UINT32_MAX, "detail")) - 1;
    for (uint32_t *(*member)(Item &) : {+[](Item &i) { return &i.parent; }, +[](Item &i) { return &i.dominator; }})
      for (size_t i = 0; i < items.size(); ++i) {
        uint64_t distance = limited(i + 4, "parent");
        if (!distance) distance = i + 3, fail("an item is its own parent");
        *member(items[i]) = uint32_t(i + 3 - distance);
      }
    uint32_t object = 0;
    for (Item &i : items) i.object = difference(object) - 1;
    for (Item &i : items) i.name = string();
    for (Item &i : items) {
      bool isPrefix = limited(2, "section") == PrefixOfName;
      i.section = string();
      if (isPrefix) i.section = record.save(i.section + i.name);
    }
    for (Item &i : items)
      if (i.via == WhyRecord::Via::Missing) i.variant = string();
    for (Item &i : items) i.size = number();

    record.objects.resize(count("objects"));
    for (auto &o : record.objects) o.file = string();
    for (auto &o : record.objects) o.member = string();
    record.uses.resize(count("uses"));
    for (auto &u : record.uses) {
      u.file = string();
      u.node = string();
      u.line = uint32_t(limited(UINT32_MAX, "line"));
      u.column = uint32_t(limited(UINT32_MAX, "column"));
      u.count = number();
    }
    record.registrations.resize(count("registrations"));
    for (auto &r : record.registrations) {
      r.verdict = WhyRecord::Registration::Verdict(limited(4, "verdict"));
      r.binding = string();
      r.key = string();
      r.kernel = string();
      r.variant = string();
      r.object = uint32_t(limited(record.objects.size() + 1, "object")) - 1;
      r.registry = uint32_t(limited(record.items.size() + 1, "item")) - 1;
      r.item = uint32_t(limited(record.items.size() + 1, "item")) - 1;
    }
    record.aliases.resize(count("aliases"));
    uint32_t item = 0;
    for (auto &a : record.aliases) a.item = difference(item);
    for (auto &a : record.aliases) a.name = string();
    record.unreferencedCount = number();
    record.unreferencedBytes = number();
    record.notes.resize(count("notes"));
    for (StringRef &note : record.notes) note = string();
    check();
    if (!message.empty()) return createStringError("at byte " + Twine(failedAt) + " of its contents: " + message);
    return Error::success();
  }

private:
  void fail(const Twine &what) {
    if (!message.empty()) return;
    message = what.str();
    failedAt = all.size() - rest.size();
    rest = {};
  }

  // Indices whose tables come later.
  void check() {
    for (const Item &i : record.items) {
      if (i.object != WhyRecord::none && i.object >= record.objects.size())
        return fail("an object is not in the table");
      bool isUse = i.via == WhyRecord::Via::Use || i.via == WhyRecord::Via::Rule;
      if (isUse && i.detail >= record.uses.size()) return fail("a use is not in the table");
      if (i.via == WhyRecord::Via::Registration && i.detail >= record.registrations.size())
        return fail("a registration is not in the table");
    }
    for (const auto &a : record.aliases)
      if (a.item >= record.items.size()) return fail("an item is not in the table");
  }

  uint64_t number() {
    const char *why = nullptr;
    unsigned length = 0;
    if (!message.empty()) return 0;
    uint64_t value = decodeULEB128(rest.bytes_begin(), &length, rest.bytes_end(), &why);
    if (why) return fail("a number is cut off or too large"), 0;
    rest = rest.drop_front(length);
    return value;
  }
  /// Less than `limit`.
  uint64_t limited(uint64_t limit, const char *what) {
    uint64_t value = number();
    if (value >= limit) return fail(Twine(what) + " is out of range"), 0;
    return value;
  }
  size_t count(const char *what, unsigned leastBytes = 1) {
    uint64_t value = number();
    if (value > rest.size() / leastBytes) return fail("more " + Twine(what) + " than bytes"), 0;
    return size_t(value);
  }
  uint32_t difference(uint32_t &last) {
    const char *why = nullptr;
    unsigned length = 0;
    if (!message.empty()) return 0;
    int64_t value = decodeSLEB128(rest.bytes_begin(), &length, rest.bytes_end(), &why);
    if (why || value > int64_t(UINT32_MAX) - last || value < -int64_t(last)) return fail("a number is out of range"), 0;
    rest = rest.drop_front(length);
    return last = uint32_t(last + value);
  }
  StringRef string() {
    uint32_t id = difference(lastString);
    if (!message.empty()) return {};
    if (id >= strings.size()) return fail("a string is not in the table"), StringRef();
    return strings[id];
  }

  StringRef all, rest;
  WhyRecord &record;
  std::vector<StringRef> strings;
  uint32_t lastString = 0;
  std::string message;
  size_t failedAt = 0;
};

ArrayRef<uint8_t> bytesOf(StringRef s) { return ArrayRef(s.bytes_begin(), s.size()); }

} // namespace

std::string writeWhyRecord(const WhyRecord &record) {
  std::string contents = Writer().run(record);
  std::string result = magic.str();
  result.resize(headerSize);
  support::endian::write64le(result.data() + 8, contents.size());
  SmallVector<uint8_t, 0> compressed;
  if (compression::zstd::isAvailable()) compression::zstd::compress(bytesOf(contents), compressed, /*Level=*/3);
  if (!compressed.empty() && compressed.size() < contents.size() && contents.size() / compressed.size() < greatestRatio)
    result += toStringRef(compressed);
  else
    result += contents;
  support::endian::write64le(result.data() + 16, result.size() - headerSize);
  return result;
}

Expected<WhyRecord> readWhyRecord(StringRef section) {
  if (!section.starts_with(magic)) {
    bool isOther = section.starts_with(magic.drop_back(2));
    return createStringError(isOther ? "it was written by another version of Coppice"
                                     : "it does not begin with 'CPWHYR01'");
  }
  if (section.size() < headerSize) return createStringError("its header is cut off");
  uint64_t size = support::endian::read64le(section.data() + 8),
           stored = support::endian::read64le(section.data() + 16);
  section = section.drop_front(headerSize);
  if (stored > section.size())
    return createStringError("it would have " + Twine(stored) + " bytes, " + Twine(section.size()) + " are there");
  section = section.take_front(stored);
  if (size < stored || size > greatestSize || (stored && size / stored > greatestRatio))
    return createStringError("its size makes no sense: " + Twine(size) + " bytes in " + Twine(stored));
  WhyRecord record;
  record.contents = WritableMemoryBuffer::getNewUninitMemBuffer(size);
  if (!record.contents) return createStringError("it is too large for the memory that there is");
  MutableArrayRef<char> contents = record.contents->getBuffer();
  if (size == stored) {
    llvm::copy(section, contents.begin());
  } else {
    if (!compression::zstd::isAvailable())
      return createStringError("it is compressed with zstd, which this LLVM lacks");
    size_t got = size;
    if (Error error =
            compression::zstd::decompress(bytesOf(section), reinterpret_cast<uint8_t *>(contents.data()), got))
      return createStringError("it cannot be decompressed: " + toString(std::move(error)));
    if (got != size) return createStringError("it holds " + Twine(got) + " bytes instead of " + Twine(size));
  }
  if (Error error = Reader(StringRef(contents.data(), contents.size()), record).run()) return error;
  record.addUpRetained();
  return record;
}

} // namespace coppice
