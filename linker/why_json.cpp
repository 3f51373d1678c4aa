// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/why_print.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {
namespace {

using Item = WhyRecord::Item;
using Kind = WhyRecord::Kind;
using Via = WhyRecord::Via;

StringRef nameOf(Kind kind) {
  switch (kind) {
  case Kind::Program:
    return "program";
  case Kind::Dropped:
  case Kind::Unreferenced:
    return "dropped";
  case Kind::Graph:
    return "graph";
  case Kind::List:
    return "list";
  case Kind::Code:
    return "code";
  case Kind::Key:
  case Kind::Op:
    return "op";
  case Kind::Section:
    return "section";
  case Kind::Function:
    return "function";
  case Kind::Common:
    return "common";
  }
  return "";
}

StringRef nameOf(Via via) {
  switch (via) {
  case Via::Top:
    return "";
  case Via::Entry:
    return "entry";
  case Via::Exported:
    return "exported";
  case Via::Flag:
    return "flag";
  case Via::InitArray:
    return "static-constructor";
  case Via::Retained:
    return "retained";
  case Via::Unwind:
    return "unwind";
  case Via::NotLoaded:
    return "not-loaded";
  case Via::Lto:
    return "lto";
  case Via::Script:
    return "script";
  case Via::Given:
    return "given";
  case Via::Always:
    return "always";
  case Via::Use:
    return "use";
  case Via::Rule:
    return "rule";
  case Via::Registration:
    return "registration";
  case Via::Reference:
    return "reference";
  case Via::Grouped:
    return "group";
  case Via::Missing:
    return "missing";
  case Via::Unreferenced:
    return "unreferenced";
  }
  return "";
}

class Writer {
public:
  Writer(raw_ostream &os, const WhyRecord &record) : record(record), json(os, /*IndentSize=*/2) {}

  void write(StringRef program, StringRef name, const WhyMatches &matches) {
    json.object([&] {
      json.attribute("version", 1);
      text("file", program);
      text("query", name);
      json.attributeArray("matches", [&] {
        for (const auto &[item, symbol] : matches.items) json.object([&, item = item] { writeMatch(item); });
      });
      json.attributeArray("near", [&] {
        for (const std::string &near : matches.near) json.value(json::fixUTF8(near));
      });
    });
  }

private:
  void text(StringRef key, StringRef value) { json.attribute(key, json::fixUTF8(value)); }
  void number(StringRef key, uint64_t value) { json.attribute(key, int64_t(std::min<uint64_t>(value, INT64_MAX))); }

  void writeName(uint32_t index) {
    const Item &item = record.items[index];
    text("name", displayName(record, index));
    text("kind", nameOf(item.kind));
    if (item.kind == Kind::Section || item.kind == Kind::Function || item.kind == Kind::Common) {
      if (!item.name.empty()) text("symbol", item.name);
      text("section", item.section);
    }
    if (item.kind == Kind::Key) text("binding", item.section);
    if (!item.variant.empty()) text("variant", item.variant);
    if (item.kind == Kind::Graph && !item.section.empty()) text("file", item.section);
    if (item.object == WhyRecord::none) return;
    text("object", record.objects[item.object].file);
    if (!record.objects[item.object].member.empty()) text("member", record.objects[item.object].member);
  }

  void writeMatch(uint32_t index) {
    const Item &item = record.items[index];
    uint32_t root = record.root(index);
    writeName(index);
    json.attribute("live", root == 0);
    number("size", item.size);
    number("retained", item.retained);
    if (item.hasNoBytes) json.attribute("zeros", true);
    if (item.isFilled) json.attribute("filled", true);
    std::vector<uint32_t> chain = chainTo(record, index);
    if (root == 1) {
      const Item &key = record.items[chain[0]];
      json.attributeObject("dropped", [&] {
        text("binding", key.section);
        text("op", key.name);
        if (!key.variant.empty()) text("variant", key.variant);
        text("keptBy", flagThatKeeps(key));
        number("bytes", key.retained);
      });
    }
    if (item.dominator > 2)
      json.attributeObject("dominator", [&] {
        writeName(item.dominator);
        number("retained", record.items[item.dominator].retained);
      });
    json.attributeArray("chain", [&] {
      for (uint32_t i : chain) json.object([&] { writeStep(i); });
    });
  }

  void writeStep(uint32_t index) {
    const Item &item = record.items[index];
    writeName(index);
    text("via", nameOf(item.via));
    if (item.via == Via::Use || item.via == Via::Rule) {
      text("place", record.uses[item.detail].place().str());
      if (item.via == Via::Use) number("uses", record.uses[item.detail].count);
    }
    if (item.via == Via::Registration)
      if (uint32_t registry = record.registrations[item.detail].registry; registry != WhyRecord::none)
        json.attributeObject("registry", [&] { writeName(registry); });
    number("goesWithoutThis", item.isOnlyWay ? item.retained : 0);
  }

  const WhyRecord &record;
  json::OStream json;
};

} // namespace

void printWhyAsJson(raw_ostream &os, const WhyRecord &record, StringRef program, StringRef name,
                    const WhyMatches &matches) {
  Writer(os, record).write(program, name, matches);
  os << '\n';
}

} // namespace coppice
