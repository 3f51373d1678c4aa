// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Aligned columns for reports.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace coppice {

class TextTable {
public:
  enum Alignment { Left, Right };
  struct Column {
    std::string title;
    Alignment alignment = Left;
  };
  explicit TextTable(std::vector<Column> columns) : columns(std::move(columns)) {}

  void addRow(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  bool empty() const { return rows.empty(); }
  /// Titles, then rows. Columns in which every cell is empty are left out; nothing is padded behind the last one.
  void print(llvm::raw_ostream &os, unsigned indent) const;

private:
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Names in models are anyone's: control characters become \xNN, so that they do not reach the terminal as commands.
std::string visible(llvm::StringRef text);

/// 3163737 -> "3,163,737".
std::string withCommas(uint64_t n);

} // namespace coppice
