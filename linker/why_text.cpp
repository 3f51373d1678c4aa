// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/text_table.h"
#include "linker/why_print.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {

std::vector<uint32_t> chainTo(const WhyRecord &record, uint32_t item) {
  std::vector<uint32_t> result;
  for (; item > 2; item = record.items[item].parent) result.push_back(item);
  std::reverse(result.begin(), result.end());
  return result;
}

std::string flagThatKeeps(const WhyRecord::Item &key) {
  return key.variant.empty() ? "--keep-kernel=" + key.name.str() : "--variants=all";
}

namespace {

using Item = WhyRecord::Item;
using Kind = WhyRecord::Kind;
using Via = WhyRecord::Via;

constexpr size_t chainsShown = 3, linesShown = 12, greatestWidth = 96;

std::string bytes(uint64_t n) { return withCommas(n) + (n == 1 ? " byte" : " bytes"); }

class Printer {
public:
  Printer(raw_ostream &os, const WhyRecord &record) : os(os), record(record) {}

  void print(StringRef name, const WhyMatches &matches) {
    if (matches.items.empty()) return printNothing(name, matches);
    if (matches.items.size() > 1) printCount(name, matches);
    for (const WhyMatches::Match &match : ArrayRef(matches.items).take_front(chainsShown)) {
      if (&match != matches.items.data()) os << '\n';
      printItem(match);
    }
    auto others = ArrayRef(matches.items).drop_front(std::min(chainsShown, matches.items.size()));
    if (others.empty()) return;
    TextTable table({{"also", TextTable::Left},
                     {"bytes", TextTable::Right},
                     {"with what only it needs", TextTable::Right},
                     {"in", TextTable::Left},
                     {"", TextTable::Left}});
    for (const auto &[item, symbol] : others.take_front(linesShown))
      table.addRow({name_(item), withCommas(record.items[item].size), withCommas(record.items[item].retained),
                    objectOf(item), record.isLive(item) ? "" : "dropped"});
    os << '\n';
    table.print(os, 0);
    if (others.size() > linesShown) os << "  and " << others.size() - linesShown << " more\n";
  }

private:
  std::string name_(uint32_t item) const { return visible(displayName(record, item)); }
  std::string objectOf(uint32_t item) const {
    uint32_t object = record.items[item].object;
    return object == WhyRecord::none ? "" : visible(record.objects[object].name());
  }
  std::string placeOf(const Item &item) const { return visible(record.uses[item.detail].place().str()); }

  void printNothing(StringRef name, const WhyMatches &matches) {
    os << "nothing in the program is called '" << visible(name) << "', and nothing that was dropped\n";
    for (const std::string &near : matches.near) os << "  did you mean '" << visible(near) << "'?\n";
    if (record.unreferencedCount)
      os << "  " << withCommas(record.unreferencedCount) << " sections and functions ("
         << bytes(record.unreferencedBytes)
         << ") were dropped because nothing refers to them: link with --why=NAME to ask for one of those\n";
  }

  void printCount(StringRef name, const WhyMatches &matches) {
    uint64_t live = 0, dropped = 0;
    for (const auto &[item, symbol] : matches.items) (record.isLive(item) ? live : dropped) += record.items[item].size;
    os << "'" << visible(name) << "' is " << matches.items.size() << " things: " << bytes(live) << " in the program";
    if (dropped) os << ", " << bytes(dropped) << " dropped";
    os << "; the biggest first\n\n";
  }

  void printItem(const WhyMatches::Match &match) {
    uint32_t index = match.item;
    const Item &item = record.items[index];
    if (std::string symbol = demangle(match.symbol); !symbol.empty() && symbol != displayName(record, index))
      os << visible(symbol) << ", in ";
    switch (item.kind) {
    case Kind::Key:
      os << "op " << name_(index) << " of " << visible(item.section);
      if (!item.variant.empty()) os << ", variant " << visible(item.variant);
      break;
    case Kind::Op:
      os << "op " << name_(index);
      break;
    case Kind::Graph:
      os << "graph " << graphName(index);
      break;
    default:
      os << name_(index);
    }
    os << "   " << bytes(item.size);
    if (item.retained != item.size) os << ", " << withCommas(item.retained) << " with what only it needs";
    if (std::string object = objectOf(index); !object.empty()) {
      os << "   " << object;
      bool isInside = item.kind == Kind::Function || item.name.empty() || !item.section.ends_with(item.name);
      if (isInside && item.kind != Kind::Graph && !item.name.empty()) os << ":(" << visible(item.section) << ")";
    }
    os << '\n';
    switch (record.root(index)) {
    case 0:
      printKept(index);
      break;
    case 1:
      printDropped(index);
      break;
    default:
      printUnreferenced(index);
    }
    if (item.kind == Kind::Key) printKernels(index);
  }

  std::string graphName(uint32_t index) const {
    const Item &item = record.items[index];
    std::string name = visible(item.name);
    if (!item.section.empty() && item.section != item.name) name += " (" + visible(item.section) + ")";
    return name;
  }

  //===-- Chains --------------------------------------------------------------------------------------------------===//

  // One line of a chain; behind it what would go if that reference went.
  void line(unsigned indent, const Twine &text, uint32_t index) {
    const Item &item = record.items[index];
    bool hasCost = item.isOnlyWay && item.retained && record.isLive(index);
    lines.push_back(
        {(Twine(std::string(indent, ' ')) + text).str(), hasCost ? bytes(item.retained) + " go without this" : ""});
  }
  void flushLines() {
    size_t width = 0;
    for (const auto &[text, cost] : lines)
      if (!cost.empty() && text.size() <= greatestWidth) width = std::max(width, text.size());
    for (const auto &[text, cost] : lines) {
      os << text;
      if (!cost.empty()) os.indent(unsigned(3 + (text.size() < width ? width - text.size() : 0))) << cost;
      os << '\n';
    }
    lines.clear();
  }

  std::string inObject(uint32_t index, uint32_t before) const {
    const Item &item = record.items[index];
    if (item.object == WhyRecord::none || item.object == record.items[before].object || item.kind == Kind::Graph ||
        item.name.empty())
      return "";
    return " in " + objectOf(index);
  }

  std::string rootReason(const Item &item) const {
    switch (item.via) {
    case Via::Entry:
      return "the program starts here";
    case Via::Exported:
      return "it is exported";
    case Via::Flag:
      return "a flag names it (-u, --keep-kernel)";
    case Via::InitArray:
      return "it holds static constructors, which run before main";
    case Via::Retained:
      return "its section is marked as retained (SHF_GNU_RETAIN)";
    case Via::Unwind:
      return "exceptions are thrown through functions that name it (.eh_frame)";
    case Via::NotLoaded:
      return "it is not loaded, and takes no memory";
    case Via::Lto:
      return "code that link-time optimization has yet to write may refer to it";
    case Via::Script:
      return "the linker script says KEEP";
    default:
      return "the program needs it";
    }
  }

  void printChain(ArrayRef<uint32_t> chain, size_t from) {
    for (size_t i = from; i < chain.size(); ++i) {
      const Item &item = record.items[chain[i]];
      std::string text;
      switch (item.via) {
      case Via::Use:
        text = "op " + name_(chain[i]) + " (" + placeOf(item) + ")";
        break;
      case Via::Rule:
        text = "brings " + name_(chain[i]) + " (rule " + placeOf(item) + ")";
        break;
      case Via::Registration: {
        const auto &r = record.registrations[item.detail];
        lines.push_back(
            {"    registration " +
                 (r.registry == WhyRecord::none ? "by its name" : name_(r.registry) + " in " + objectOf(r.registry)),
             ""});
        text = "-> " + name_(chain[i]) + inObject(chain[i], r.registry == WhyRecord::none ? 0 : r.registry);
        break;
      }
      default:
        text = std::string("-> ") + (item.kind == Kind::Graph ? "graph " + graphName(chain[i]) : name_(chain[i])) +
               inObject(chain[i], i ? chain[i - 1] : 0);
      }
      line(4, text, chain[i]);
    }
    flushLines();
  }

  void printKept(uint32_t index) {
    std::vector<uint32_t> chain = chainTo(record, index);
    const Item &first = record.items[chain[0]];
    size_t next = 1;
    if (first.kind == Kind::List || first.kind == Kind::Code ||
        (first.kind == Kind::Graph && first.via == Via::Given)) {
      std::string by = first.kind == Kind::List ? graphListName(chain)
                       : first.kind == Kind::Code
                           ? "code that asks for it, " + visible(first.name)
                           : "graph " + (chain.size() > 1 ? name_(chain[0]) : graphName(chain[0]));
      if (chain.size() > 1) {
        const Item &key = record.items[chain[1]];
        std::string place = first.kind == Kind::Graph ? " (" + placeOf(key) + ")" : "";
        line(2, "kept by " + by + place + ": op " + name_(chain[1]), chain[1]);
        next = 2;
      } else {
        os << "  given on the command line\n";
      }
    } else if (first.via == Via::Always) {
      line(2, "kept by the binding " + visible(first.section) + ", whose library always needs op " + name_(chain[0]),
           chain[0]);
    } else {
      lines.push_back({"  kept because " + rootReason(first) + ":", ""});
      next = 0;
    }
    printChain(chain, next);
    printOtherWays(index);
  }

  // A list is known by its file and line, a flag by itself.
  std::string graphListName(ArrayRef<uint32_t> chain) const {
    const Item &list = record.items[chain[0]];
    if (chain.size() < 2 || list.name.starts_with("--")) return visible(list.name);
    return placeOf(record.items[chain[1]]);
  }

  void printOtherWays(uint32_t index) {
    const Item &item = record.items[index];
    if (item.isOnlyWay) return;
    if (item.dominator == 0)
      os << "  other ways lead to it too: no single reference keeps it\n";
    else
      os << "  other ways lead to it too; all go through " << (isOp(item.dominator) ? "op " : "")
         << name_(item.dominator) << ": " << bytes(record.items[item.dominator].retained) << " would go with that\n";
  }
  bool isOp(uint32_t item) const { return record.items[item].kind == Kind::Key || record.items[item].kind == Kind::Op; }

  void printDropped(uint32_t index) {
    std::vector<uint32_t> chain = chainTo(record, index);
    const Item &item = record.items[index], &key = record.items[chain[0]];
    if (key.kind == Kind::Op)
      os << "  dropped: no graph uses kernel '" << visible(key.name) << "'\n";
    else if (key.variant.empty())
      os << "  dropped: nothing uses op '" << visible(key.name) << "' of " << visible(key.section) << '\n';
    else
      os << "  dropped: variant '" << visible(key.variant) << "' of op '" << visible(key.name) << "' of "
         << visible(key.section) << " is not wanted (--variants)\n";
    printChain(chain, 1);
    if (item.isFilled) os << "  its bytes are still there, as traps: it shares a section with code that is kept\n";
    os << "  "
       << (record.items[index].dominator == 1 && chain.size() > 1 ? "would be kept by this and other ops: "
                                                                  : "would be kept by ")
       << visible(flagThatKeeps(key)) << "; " << bytes(key.retained) << " went with it\n";
  }

  void printUnreferenced(uint32_t index) {
    std::vector<uint32_t> chain = chainTo(record, index);
    if (chain.size() == 1) {
      os << "  dropped: nothing refers to it\n";
      return;
    }
    os << "  dropped: only what is dropped itself refers to it\n";
    printChain(chain, 0);
  }

  void printKernels(uint32_t key) {
    for (const auto &r : record.registrations)
      if (r.item == key) {
        os << "    " << visible(r.kernel);
        if (r.object != WhyRecord::none) os << ", registered in " << visible(record.objects[r.object].name());
        if (!r.variant.empty()) os << " [" << visible(r.variant) << "]";
        if (r.object == WhyRecord::none) os << ", in a member of an archive that is not linked";
        os << '\n';
      }
  }

  raw_ostream &os;
  const WhyRecord &record;
  std::vector<std::pair<std::string, std::string>> lines;
};

} // namespace

void printWhyAsText(raw_ostream &os, const WhyRecord &record, StringRef name, const WhyMatches &matches) {
  Printer(os, record).print(name, matches);
}

} // namespace coppice
