// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/ptx.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

using namespace llvm;

namespace coppice {
namespace {

bool isIdentifier(char c) { return isAlnum(c) || c == '_' || c == '$' || c == '%'; }

/// Words, and single characters that are no part of one.
class Lexer {
public:
  explicit Lexer(StringRef text) : text(text.take_until([](char c) { return c == 0; })) {}

  /// Empty at the end.
  StringRef next() {
    skip();
    if (at >= text.size()) return {};
    size_t begin = at;
    if (text[at] == '"') {
      at = std::min(text.find('"', at + 1), text.size() - 1) + 1;
    } else if (isIdentifier(text[at]) || text[at] == '.') {
      ++at;
      while (at < text.size() && isIdentifier(text[at])) ++at;
    } else {
      ++at;
    }
    return text.substr(begin, at - begin);
  }
  size_t position() const { return at; }

private:
  void skip() {
    while (at < text.size()) {
      if (isSpace(text[at]))
        ++at;
      else if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size());
      else if (text.substr(at).starts_with("/*"))
        at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
      else
        break;
    }
  }
  StringRef text;
  size_t at = 0;
};

DeviceTarget readTarget(StringRef word) {
  unsigned number = 0;
  if (!word.consume_front("sm_") || word.consumeInteger(10, number)) return {};
  return ptxTarget(number, word == "a" ? 'a' : word == "f" ? 'f' : 0);
}

} // namespace

bool isPtx(StringRef text) { return Lexer(text.take_front(4096)).next() == ".version"; }

PtxModule readPtx(StringRef text) {
  PtxModule module;
  Lexer lexer(text);
  struct Use {
    uint32_t from;
    StringRef name;
  };
  std::vector<Use> uses;
  StringMap<uint32_t> index;
  for (StringRef word = lexer.next(); !word.empty();) {
    if (word == ".target") {
      module.target = readTarget(lexer.next());
      word = lexer.next();
      continue;
    }
    if (word != ".entry" && word != ".func") {
      word = lexer.next();
      continue;
    }
    bool isKernel = word == ".entry";
    size_t begin = lexer.position() - word.size();
    // .func (results) name (parameters) directives { body }, or ; after a declaration
    StringRef name;
    unsigned parentheses = 0;
    for (word = lexer.next(); !word.empty() && word != "{" && word != ";" && word != ".entry" && word != ".func";
         word = lexer.next()) {
      if (word == "(")
        ++parentheses;
      else if (word == ")")
        parentheses -= parentheses > 0;
      else if (!parentheses && name.empty() && isIdentifier(word[0]))
        name = word;
    }
    if (word != "{" || name.empty()) continue;
    uint32_t function = uint32_t(module.functions.size());
    unsigned depth = 1;
    for (word = lexer.next(); !word.empty(); word = lexer.next()) {
      if (word == "{") ++depth;
      if (word == "}" && --depth == 0) break;
      if (isIdentifier(word[0]) && word[0] != '%' && !isDigit(word[0])) uses.push_back({function, word});
    }
    DeviceFunction f;
    f.name = name.str();
    f.isKernel = isKernel;
    f.bytes = lexer.position() - begin;
    index.try_emplace(name, function);
    module.functions.push_back(std::move(f));
    if (!word.empty()) word = lexer.next();
  }

  std::vector<uint32_t> order(module.functions.size()), place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  llvm::stable_sort(order, [&](uint32_t a, uint32_t b) { return module.functions[a].name < module.functions[b].name; });
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (const Use &use : uses)
    if (auto it = index.find(use.name); it != index.end() && it->second != use.from)
      module.functions[use.from].references.push_back(place[it->second]);
  std::vector<DeviceFunction> sorted;
  for (uint32_t i : order) {
    auto &references = module.functions[i].references;
    llvm::sort(references);
    references.erase(std::unique(references.begin(), references.end()), references.end());
    sorted.push_back(std::move(module.functions[i]));
  }
  module.functions = std::move(sorted);
  return module;
}

} // namespace coppice
