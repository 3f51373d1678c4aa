// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/symbol_pattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Demangle/Demangle.h"

using namespace coppice;
using llvm::StringRef;

namespace {

bool isIdentifier(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Words of demangled names that a mangled name spells otherwise.
bool isAbbreviated(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned"}, true)
      .Cases({"wchar_t", "char8_t", "char16_t", "char32_t", "half", "auto", "decltype", "nullptr_t"}, true)
      .Cases({"const", "volatile", "restrict", "std", "string", "allocator", "basic_string", "char_traits"}, true)
      .Cases({"istream", "ostream", "iostream", "basic_istream", "basic_ostream", "basic_iostream"}, true)
      .Default(word.starts_with("__int") || word.starts_with("_Float"));
}

/// The part of a demangled name that is spelled out in the mangled one: no return type, "vtable for", template
/// arguments, parameters. {op} and {*} are '\1' and '\2'.
std::string spelledOut(StringRef name) {
  std::string out;
  unsigned depth = 0;
  while (!name.empty()) {
    if (name.consume_front("(anonymous namespace)")) continue;
    char c = name.front();
    name = name.drop_front();
    if (!depth && c == '(') break;
    if (c == '<' || c == '[' || c == '(' || c == '{') ++depth;
    if (!depth && c == ' ')
      out.clear();
    else if (!depth)
      out += c;
    if (depth && (c == '>' || c == ']' || c == ')' || c == '}')) --depth;
  }
  return out;
}

std::string longestIdentifier(StringRef name) {
  std::string text = spelledOut(name);
  StringRef best, rest = text;
  while (!rest.empty()) {
    StringRef word = rest.take_while(isIdentifier);
    rest = rest.drop_front(std::max<size_t>(word.size(), 1));
    if (word == "operator") return {}; // what follows is encoded
    if (word.size() > best.size() && !isAbbreviated(word) && !llvm::all_of(word, llvm::isDigit)) best = word;
  }
  return best.str();
}

} // namespace

llvm::Expected<SymbolPattern> SymbolPattern::parse(StringRef text, KeyText keyText) {
  auto fail = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  SymbolPattern pattern;
  pattern.text = text.str();
  pattern.keyText = keyText;
  if (text.empty()) return fail("the pattern is empty");
  if (text.size() > 4096) return fail("the pattern has more than 4096 characters");
  std::string literal, forMangled;
  for (size_t i = 0; i < text.size();) {
    size_t close = i + 1;
    while (close < text.size() && (isIdentifier(text[close]) || text[close] == '*')) ++close;
    // Others are names of the demangler: {lambda(int)#1}.
    if (text[i] != '{' || close == text.size() || text[close] != '}') {
      literal += text[i];
      forMangled += text[i++];
      continue;
    }
    StringRef placeholder = text.slice(i + 1, close);
    i = close + 1;
    if (placeholder != "op" && placeholder != "*")
      return fail("there is no {" + placeholder + "}: {op} is the key, {*} is anything");
    if (literal.empty() && !pattern.pieces.empty())
      return fail("two placeholders follow each other: where the first ends cannot be told");
    if (placeholder == "op") {
      if (pattern.keyIndex) return fail("{op} stands twice");
      pattern.keyIndex = pattern.pieces.size();
    }
    pattern.pieces.push_back(std::move(literal));
    literal.clear();
    forMangled += placeholder == "op" ? '\1' : '\2';
  }
  pattern.pieces.push_back(std::move(literal));
  pattern.mangledLiteral = longestIdentifier(forMangled);
  return pattern;
}

std::optional<StringRef> SymbolPattern::match(StringRef name) const {
  if (pieces.empty()) return std::nullopt;
  StringRef first = pieces.front(), last = pieces.back();
  if (pieces.size() == 1) return name == first ? std::optional(name) : std::nullopt;
  if (!name.starts_with(first) || !name.ends_with(last) || name.size() < first.size() + last.size())
    return std::nullopt;

  // {*} takes what is left, so what stands before the key is matched as early as it can be and what stands behind it
  // as late as it can be. `begin`: where the piece before the key may begin; `end`: where the rest has to be reached.
  size_t key = keyIndex.value_or(pieces.size() - 1);
  size_t begin = 0;
  for (size_t i = 0; i < key; ++i) {
    size_t found = i ? name.find(pieces[i], begin) : 0;
    if (found == StringRef::npos) return std::nullopt;
    begin = found + pieces[i].size();
  }
  if (!keyIndex) return name.size() - last.size() >= begin ? std::optional(name) : std::nullopt;
  size_t end = name.size();
  for (size_t i = pieces.size() - 1; i > key + 1; --i) {
    bool isLast = i == pieces.size() - 1;
    size_t found = isLast ? end - pieces[i].size() : name.take_front(end).rfind(pieces[i]);
    if (found == StringRef::npos) return std::nullopt;
    end = found;
  }

  auto isKey = [&](char c) {
    return keyText == KeyText::Identifier ? isIdentifier(c) : static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
  };
  // `stop`: where the piece behind the key stands next; `run`: up to where a key may reach. Both only move on.
  StringRef before = pieces[key], after = pieces[key + 1];
  bool afterIsLast = key + 1 == pieces.size() - 1;
  size_t stop = afterIsLast ? name.size() - after.size() : 0, run = 0;
  for (size_t at = key ? name.find(before, begin) : 0; at != StringRef::npos;
       at = key ? name.find(before, at + 1) : StringRef::npos) {
    size_t start = at + before.size();
    if (!afterIsLast && stop <= start) stop = name.find(after, start + 1);
    if (stop == StringRef::npos || stop <= start || stop + after.size() > end) return std::nullopt;
    run = std::max(run, start);
    while (run < name.size() && isKey(name[run])) ++run;
    if (stop <= run) return name.slice(start, stop);
  }
  return std::nullopt;
}

std::optional<StringRef> SymbolPattern::matchMangled(StringRef mangled, std::string &demangled) const {
  if (!mangled.contains(mangledLiteral)) return std::nullopt;
  demangled = llvm::demangle(mangled);
  return match(demangled);
}

std::string SymbolPattern::symbolFor(StringRef key) const {
  if (!keyIndex || hasWildcard()) return {};
  return pieces[0] + identifierForm(key) + pieces[1];
}

std::string coppice::identifierForm(StringRef key) {
  std::string out = key.str();
  for (char &c : out)
    if (!isIdentifier(c)) c = '_';
  return out;
}
