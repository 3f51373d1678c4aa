// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What Coppice says to its user: values with a code and a place. Steps collect them; the driver prints them once,
// sorted, as text or JSON. Internal invariants are asserts; what a user did wrong is always a Diagnostic.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace coppice {

enum class Severity { Error, Warning, Note };

/// Where something is. Parts that are not known are empty or 0.
struct Place {
  std::string file = {};               ///< as the user wrote it; "libk.a(member.o)" for archive members
  unsigned line = 0, column = 0;       ///< both from 1
  std::string node = {};               ///< name of a graph node, where the file has no lines
  std::optional<uint64_t> offset = {}; ///< bytes from the start of the file
  std::string snippet = {};            ///< the text of the line, to show under the message with a caret at `column`
  /// "sum.mlir:4:8", "model.onnx: node \"/encoder/Conv_3\"", "lib.a: offset 132".
  std::string str() const;
};

struct Note {
  std::string message;
  Place place;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string code; ///< "COP101": `coppice explain COP101`, docs/errors/COP101.md
  std::string message;
  Place place;
  std::vector<Note> notes;
  std::string help; ///< the one next thing to do, ready to paste
};

/// Collects. Not thread-safe: one a thread, appended in a fixed order.
class Diagnostics {
public:
  void report(Diagnostic d);
  void error(llvm::StringRef code, std::string message, Place place = {}, std::string help = {});
  void warning(llvm::StringRef code, std::string message, Place place = {}, std::string help = {});
  bool hasErrors() const { return errors > 0; }
  const std::vector<Diagnostic> &all() const { return list; }
  void append(Diagnostics other);

private:
  std::vector<Diagnostic> list;
  size_t errors = 0;
};

/// Text as compilers print it ("coppice: error[COP101]: …"); colours only when `colour`.
void printText(llvm::raw_ostream &os, const std::vector<Diagnostic> &list, llvm::StringRef program, bool colour);
/// One JSON object a line (schema in docs/diagnostics.md).
void printJson(llvm::raw_ostream &os, const std::vector<Diagnostic> &list);

} // namespace coppice
