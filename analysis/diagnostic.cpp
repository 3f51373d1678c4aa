// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/diagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <utility>

using namespace coppice;
using llvm::raw_ostream;
using llvm::StringRef;

std::string Place::str() const {
  std::string text = file;
  auto part = [&](const std::string &s) { text += (text.empty() ? "" : ": ") + s; };
  if (line) {
    text += (text.empty() ? "line " : ":") + std::to_string(line);
    if (column) text += ":" + std::to_string(column);
  }
  if (!node.empty()) part("node \"" + node + "\"");
  if (offset) part("offset " + std::to_string(*offset));
  return text;
}

void Diagnostics::report(Diagnostic d) {
  errors += d.severity == Severity::Error;
  list.push_back(std::move(d));
}

void Diagnostics::error(StringRef code, std::string message, Place place, std::string help) {
  report({Severity::Error, code.str(), std::move(message), std::move(place), {}, std::move(help)});
}

void Diagnostics::warning(StringRef code, std::string message, Place place, std::string help) {
  report({Severity::Warning, code.str(), std::move(message), std::move(place), {}, std::move(help)});
}

void Diagnostics::append(Diagnostics other) {
  for (Diagnostic &d : other.list) report(std::move(d));
}

namespace {

StringRef word(Severity s) {
  switch (s) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  }
  return "error";
}

raw_ostream::Colors colourOf(Severity s) {
  switch (s) {
  case Severity::Error:
    return raw_ostream::RED;
  case Severity::Warning:
    return raw_ostream::MAGENTA;
  case Severity::Note:
    return raw_ostream::CYAN;
  }
  return raw_ostream::RED;
}

/// Names in models are anyone's: a control character would reach the terminal as a command.
bool isControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

void printVisible(raw_ostream &os, StringRef text) {
  for (char c : text) {
    if (isControl(c))
      os << llvm::formatv("\\x{0:X-2}", static_cast<unsigned char>(c));
    else
      os << c;
  }
}

/// Lines after the first are indented so that one diagnostic stays one block.
void printIndented(raw_ostream &os, StringRef text, unsigned indent) {
  for (bool first = true; first || !text.empty(); first = false) {
    auto [line, rest] = text.split('\n');
    if (!first) os.indent(indent);
    printVisible(os, line);
    os << '\n';
    text = rest;
  }
}

class TextPrinter {
public:
  TextPrinter(raw_ostream &os, StringRef program, bool colour)
      : os(os), program(program), colour(colour), wasColoured(os.colors_enabled()) {
    os.enable_colors(colour);
  }
  ~TextPrinter() { os.enable_colors(wasColoured); }

  void print(const Diagnostic &d) {
    if (!program.empty()) bold() << program << ": ";
    label(d.severity);
    if (!d.code.empty()) os << '[' << d.code << ']';
    plain() << ": ";
    bold();
    printIndented(os, d.message, 2);
    plain();
    print(d.place, 2);
    for (const Note &note : d.notes) {
      os << "  ";
      label(Severity::Note);
      plain() << ": ";
      printIndented(os, note.message, 4);
      print(note.place, 4);
    }
    if (!d.help.empty()) {
      os << "  ";
      set(raw_ostream::GREEN) << "help";
      plain() << ": ";
      printIndented(os, d.help, 4);
    }
  }

private:
  raw_ostream &set(raw_ostream::Colors c) { return colour ? os.changeColor(c, /*Bold=*/true) : os; }
  raw_ostream &bold() { return set(raw_ostream::SAVEDCOLOR); }
  raw_ostream &plain() { return colour ? os.resetColor() : os; }
  void label(Severity s) { set(colourOf(s)) << word(s); }

  void print(const Place &place, unsigned indent) {
    std::string where = place.str();
    if (where.empty()) return;
    set(raw_ostream::BLUE).indent(indent) << "--> ";
    plain();
    printVisible(os, where);
    os << '\n';
    if (!place.snippet.empty()) printSnippet(place, indent);
  }

  /// Lines of graphs may hold a megabyte of constants: a window of bytes around the column is shown.
  void printSnippet(const Place &place, unsigned indent) {
    constexpr size_t window = 120, before = 60;
    StringRef line = StringRef(place.snippet).take_until([](char c) { return c == '\n' || c == '\r'; });
    size_t caret = place.column ? std::min<size_t>(place.column - 1, line.size()) : 0;
    auto isContinuation = [&](size_t i) { return i < line.size() && (line[i] & 0xC0) == 0x80; };
    size_t begin = line.size() > window && caret > before ? caret - before : 0;
    while (begin && isContinuation(begin)) --begin;
    size_t end = std::min(line.size(), begin + window);
    while (end < line.size() && isContinuation(end)) ++end;

    gutter(indent) << (begin ? "…" : "");
    printVisible(os, line.slice(begin, end));
    os << (end < line.size() ? "…" : "") << '\n';
    if (!place.column) return;
    gutter(indent) << (begin ? " " : "");
    printBlank(line.slice(begin, caret));
    set(raw_ostream::GREEN) << '^';
    plain() << '\n';
  }

  raw_ostream &gutter(unsigned indent) {
    set(raw_ostream::BLUE).indent(indent) << "| ";
    return plain();
  }

  /// As wide as `text` on the screen: tabs stay tabs, a character of several bytes is as wide as it is shown.
  void printBlank(StringRef text) {
    while (!text.empty()) {
      size_t tab = std::min(text.find('\t'), text.size());
      StringRef run = text.take_front(tab);
      unsigned extra = 3 * llvm::count_if(run, isControl); // "\x1B" instead of one
      std::string shown;
      for (char c : run) shown += isControl(c) ? '?' : c;
      int width = llvm::sys::unicode::columnWidthUTF8(shown);
      os.indent((width < 0 ? run.size() : static_cast<size_t>(width)) + extra);
      text = text.drop_front(tab);
      if (text.consume_front("\t")) os << '\t';
    }
  }

  raw_ostream &os;
  StringRef program;
  bool colour, wasColoured;
};

/// JSON is UTF-8; names and lines of broken files need not be.
void attribute(llvm::json::OStream &json, StringRef key, StringRef value) {
  if (!value.empty()) json.attribute(key, llvm::json::fixUTF8(value));
}

void writePlace(llvm::json::OStream &json, const Place &place) {
  attribute(json, "file", place.file);
  if (place.line) json.attribute("line", place.line);
  if (place.column) json.attribute("column", place.column);
  attribute(json, "node", place.node);
  if (place.offset) json.attribute("offset", *place.offset);
  attribute(json, "snippet", place.snippet);
}

} // namespace

void coppice::printText(raw_ostream &os, const std::vector<Diagnostic> &list, StringRef program, bool colour) {
  TextPrinter printer(os, program, colour);
  for (const Diagnostic &d : list) printer.print(d);
}

void coppice::printJson(raw_ostream &os, const std::vector<Diagnostic> &list) {
  for (const Diagnostic &d : list) {
    llvm::json::OStream json(os);
    json.object([&] {
      json.attribute("severity", word(d.severity));
      attribute(json, "code", d.code);
      json.attribute("message", llvm::json::fixUTF8(d.message));
      writePlace(json, d.place);
      json.attributeArray("notes", [&] {
        for (const Note &note : d.notes)
          json.object([&] {
            json.attribute("message", llvm::json::fixUTF8(note.message));
            writePlace(json, note.place);
          });
      });
      attribute(json, "help", d.help);
    });
    os << '\n';
  }
}
