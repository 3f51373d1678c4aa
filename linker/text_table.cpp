// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/text_table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {

static unsigned widthOf(StringRef text) {
  int width = sys::unicode::columnWidthUTF8(text);
  return width < 0 ? unsigned(text.size()) : unsigned(width);
}

void TextTable::print(raw_ostream &os, unsigned indent) const {
  std::vector<unsigned> widths(columns.size()), shown;
  for (unsigned i = 0; i < columns.size(); ++i) {
    if (all_of(rows, [&](auto &row) { return row[i].empty(); })) continue;
    shown.push_back(i);
    widths[i] = widthOf(columns[i].title);
    for (const auto &row : rows) widths[i] = std::max(widths[i], widthOf(row[i]));
  }
  auto printRow = [&](auto cell) {
    unsigned pending = indent; // blanks that are written only if something follows
    for (unsigned i : shown) {
      StringRef text = cell(i);
      unsigned blanks = widths[i] - widthOf(text);
      if (columns[i].alignment == Right) pending += blanks;
      if (!text.empty()) {
        os.indent(pending) << text;
        pending = 0;
      }
      pending += (columns[i].alignment == Left ? blanks : 0) + 2;
    }
    os << '\n';
  };
  if (any_of(columns, [](auto &c) { return !c.title.empty(); }))
    printRow([&](unsigned i) -> StringRef { return columns[i].title; });
  for (const auto &row : rows) printRow([&](unsigned i) -> StringRef { return row[i]; });
}

std::string visible(StringRef text) {
  std::string result;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      result += formatv("\\x{0:X-2}", byte).str();
    else
      result += c;
  }
  return result;
}

std::string withCommas(uint64_t n) {
  std::string s = std::to_string(n);
  for (int i = int(s.size()) - 3; i > 0; i -= 3) s.insert(size_t(i), ",");
  return s;
}

} // namespace coppice
