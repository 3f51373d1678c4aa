// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/link_settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace coppice {
namespace {

// Words, quoted words and single characters; comments are left out.
std::vector<std::string> tokensOf(StringRef text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    if (text.consume_front("/*")) {
      text = text.split("*/").second;
    } else if (text.starts_with("#")) {
      text = text.drop_while([](char c) { return c != '\n'; });
    } else if (isSpace(text[0])) {
      text = text.drop_front();
    } else if (text.consume_front("\"")) {
      auto [word, rest] = text.split('"');
      tokens.push_back(word.str());
      text = rest;
    } else {
      StringRef word = text.take_while([](char c) { return isAlnum(c) || StringRef("_.$@*?[]!-:\\+").contains(c); });
      // "global:" is a word and a colon, "ns::f" is one word.
      if (word.size() > 1 && word.ends_with(":") && !word.ends_with("::")) word = word.drop_back();
      if (word.empty()) word = text.take_front(1);
      tokens.push_back(word.str());
      text = text.drop_front(word.size());
    }
  }
  return tokens;
}

std::vector<std::string> tokensOfFile(const std::string &path) {
  auto file = MemoryBuffer::getFile(path);
  return file ? tokensOf((*file)->getBuffer()) : std::vector<std::string>();
}

// [NAME] { global: a; b*; local: *; } [OTHER]; ...
void readVersionScript(ArrayRef<std::string> tokens, LinkSettings &settings) {
  bool isLocal = false;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    StringRef token = tokens[i];
    if (token == "extern") { // patterns for demangled names: what they hide is not worth a second matcher
      settings.versionGlobal = {"*"};
      return;
    }
    if (token == "{")
      ++depth, isLocal = false;
    else if (token == "}")
      --depth;
    else if (depth == 1 && (token == "global" || token == "local") && i + 1 < tokens.size() && tokens[i + 1] == ":")
      isLocal = token == "local", ++i;
    else if (depth == 1 && token != ";")
      (isLocal ? settings.versionLocal : settings.versionGlobal).push_back(token.str());
  }
}

// The commands of scripts: https://sourceware.org/binutils/docs/ld/Scripts.html.
bool isScriptCommand(StringRef word) {
  static const StringSet<> words = {"SECTIONS",
                                    "KEEP",
                                    "ENTRY",
                                    "PROVIDE",
                                    "PROVIDE_HIDDEN",
                                    "HIDDEN",
                                    "ALIGN",
                                    "ALIGNOF",
                                    "ADDR",
                                    "SIZEOF",
                                    "LOADADDR",
                                    "MEMORY",
                                    "PHDRS",
                                    "ASSERT",
                                    "SORT",
                                    "SORT_BY_NAME",
                                    "SORT_BY_ALIGNMENT",
                                    "SORT_BY_INIT_PRIORITY",
                                    "SORT_NONE",
                                    "EXCLUDE_FILE",
                                    "COMMON",
                                    "AT",
                                    "ORIGIN",
                                    "LENGTH",
                                    "OUTPUT_FORMAT",
                                    "OUTPUT_ARCH",
                                    "OUTPUT",
                                    "INPUT",
                                    "GROUP",
                                    "AS_NEEDED",
                                    "SEARCH_DIR",
                                    "INCLUDE",
                                    "INSERT",
                                    "AFTER",
                                    "BEFORE",
                                    "FILEHDR",
                                    "FLAGS",
                                    "BYTE",
                                    "SHORT",
                                    "LONG",
                                    "QUAD",
                                    "FILL",
                                    "DEFINED",
                                    "MAX",
                                    "MIN",
                                    "CONSTANT",
                                    "DATA_SEGMENT_ALIGN",
                                    "DATA_SEGMENT_END",
                                    "DATA_SEGMENT_RELRO_END",
                                    "SIZEOF_HEADERS",
                                    "SEGMENT_START",
                                    "SUBALIGN",
                                    "ONLY_IF_RO",
                                    "ONLY_IF_RW",
                                    "OVERLAY",
                                    "EXTERN",
                                    "TARGET",
                                    "REGION_ALIAS",
                                    "VERSION",
                                    "NOLOAD",
                                    "READONLY",
                                    "TYPE",
                                    "ABSOLUTE",
                                    "BLOCK",
                                    "NEXT",
                                    "CREATE_OBJECT_SYMBOLS",
                                    "CONSTRUCTORS",
                                    "NOCROSSREFS",
                                    "OVERWRITE_SECTIONS",
                                    "PT_LOAD",
                                    "PT_PHDR",
                                    "PT_DYNAMIC",
                                    "PT_INTERP",
                                    "PT_NOTE",
                                    "PT_TLS",
                                    "PT_NULL",
                                    "rx",
                                    "rw",
                                    "rwx",
                                    "r",
                                    "w",
                                    "x"};
  return words.contains(word);
}

// Every other word may be the name of a symbol, and every word in KEEP(...) that of a section.
void readScript(ArrayRef<std::string> tokens, LinkSettings &settings) {
  settings.isScript = true;
  int keep = 0, depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    StringRef token = tokens[i];
    depth += token == "(" ? 1 : token == ")" ? -1 : 0;
    if (token == "KEEP" && !keep) keep = depth + 1;
    if (keep && depth >= keep && token != "(" && token != "*") settings.keptSections.push_back(token.str());
    if (keep && token == ")" && depth < keep) keep = 0;
    if (!keep && (isAlpha(token[0]) || token[0] == '_') && !isScriptCommand(token))
      settings.undefined.push_back(token.str());
  }
}

} // namespace

LinkSettings readLinkSettings(const CommandLine &commandLine) {
  LinkSettings settings = commandLine.settings;
  if (settings.shared && settings.entry == "_start") settings.entry.clear();
  for (const std::string &path : commandLine.versionScripts) readVersionScript(tokensOfFile(path), settings);
  for (const std::string &path : commandLine.dynamicLists)
    for (const std::string &token : tokensOfFile(path))
      if (isAlnum(token[0]) || StringRef("_*?[.").contains(token[0])) settings.exported.push_back(token);
  for (const std::string &path : commandLine.scripts) readScript(tokensOfFile(path), settings);
  return settings;
}

} // namespace coppice
