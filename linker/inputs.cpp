// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/inputs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace coppice {
namespace {

class Opener {
public:
  Opener(const CommandLine &commandLine, Diagnostics &diagnostics)
      : commandLine(commandLine), diagnostics(diagnostics) {}

  void open(const InputArgument &argument) {
    if (argument.binary) return;
    std::string path = argument.library ? findLibrary(argument) : argument.value;
    if (!path.empty()) openPath(path, argument, /*depth=*/0);
  }

  std::vector<InputFile> result;

private:
  std::string inSearchPaths(const Twine &file) const {
    for (StringRef directory : commandLine.libraryPaths) {
      SmallString<256> path;
      if (directory.consume_front("=")) path = commandLine.sysroot;
      path += directory;
      sys::path::append(path, file);
      if (sys::fs::exists(path)) return std::string(path);
    }
    return {};
  }

  // -lNAME: in each folder the shared library first, unless -Bstatic; -l:FILE is looked for as it is.
  std::string findLibrary(const InputArgument &argument) const {
    StringRef name = argument.value;
    if (name.consume_front(":")) return inSearchPaths(name);
    for (StringRef directory : commandLine.libraryPaths) {
      SmallString<256> base;
      if (directory.consume_front("=")) base = commandLine.sysroot;
      base += directory;
      sys::path::append(base, "lib" + name);
      if (!argument.staticOnly && sys::fs::exists(base + ".so")) return (base + ".so").str();
      if (sys::fs::exists(base + ".a")) return (base + ".a").str();
    }
    return {};
  }

  void openPath(StringRef path, const InputArgument &argument, unsigned depth) {
    if (!sys::fs::exists(path)) return;
    auto file = openInputFile(path);
    if (!file) {
      diagnostics.error("COP302", toString(file.takeError()), {.file = path.str()});
      return;
    }
    if (file->kind == InputKind::Other && identify_magic(file->buffer->getBuffer()) == file_magic::unknown) {
      bool isEmpty = file->buffer->getBufferSize() == 0;
      if (isEmpty || !beginsAsScript(file->buffer->getBuffer()))
        diagnostics.error(
            "COP302", isEmpty ? "this file is empty" : "this is no object, archive, shared library or linker script",
            {.file = path.str()});
      else if (depth < 4)
        readScript(*file, argument, depth + 1);
      return;
    }
    file->wholeArchive = argument.wholeArchive;
    file->lazy = argument.lazy;
    result.push_back(std::move(*file));
  }

  // https://sourceware.org/binutils/docs/ld/Script-Format.html: commands, and assignments.
  static bool beginsAsScript(StringRef text) {
    while (true) {
      text = text.ltrim(" \t\r\n;");
      if (!text.consume_front("/*")) break;
      text = text.split("*/").second;
    }
    StringRef word = text.take_while([](char c) { return isAlnum(c) || StringRef("_.$\"").contains(c); });
    StringRef next = text.drop_front(word.size()).ltrim();
    static const StringRef operators[] = {"=", "+=", "-=", "*=", "/=", "<<=", ">>=", "&=", "|=", "^="};
    return !word.empty() && (next.starts_with("(") || next.starts_with("{") || word == "INCLUDE" || word == "INSERT" ||
                             any_of(operators, [&](StringRef o) { return next.starts_with(o); }));
  }

  // Linker scripts that stand for a library, as libc.so and libm.so are: INPUT and GROUP, with AS_NEEDED inside.
  // Anything else in a script is lld's business.
  void readScript(const InputFile &script, const InputArgument &argument, unsigned depth) {
    StringRef text = script.buffer->getBuffer();
    if (text.size() > 1 << 20 || text.contains('\0')) return;
    std::vector<StringRef> tokens;
    while (!text.empty()) {
      if (text.consume_front("/*")) {
        size_t end = text.find("*/");
        text = end == StringRef::npos ? StringRef() : text.drop_front(end + 2);
      } else if (StringRef("(),;").contains(text[0])) {
        tokens.push_back(text.take_front(1));
        text = text.drop_front(1);
      } else if (isSpace(text[0])) {
        text = text.drop_front(1);
      } else if (text[0] == '"') {
        size_t end = text.find('"', 1);
        tokens.push_back(text.slice(1, end));
        text = end == StringRef::npos ? StringRef() : text.drop_front(end + 1);
      } else {
        size_t end = std::min(text.find_first_of(" \t\r\n(),;\""), text.size());
        tokens.push_back(text.take_front(end));
        text = text.drop_front(end);
      }
    }
    bool inside = false;
    unsigned parentheses = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      StringRef token = tokens[i];
      if (!inside) {
        if ((token == "INPUT" || token == "GROUP") && i + 1 < tokens.size() && tokens[i + 1] == "(") {
          inside = true;
          parentheses = 0;
        }
        continue;
      }
      if (token == "(")
        ++parentheses;
      else if (token == ")")
        inside = --parentheses != 0;
      else if (token != "," && token != ";" && token != "AS_NEEDED")
        openFromScript(script, token, argument, depth);
    }
  }

  void openFromScript(const InputFile &script, StringRef name, InputArgument argument, unsigned depth) {
    argument.library = name.consume_front("-l");
    argument.value = name.str();
    if (argument.library) {
      std::string path = findLibrary(argument);
      if (!path.empty()) openPath(path, argument, depth);
      return;
    }
    SmallString<256> path(name);
    if (sys::path::is_absolute(name)) {
      SmallString<256> below(commandLine.sysroot);
      below += name;
      if (!commandLine.sysroot.empty() && sys::fs::exists(below)) path = below;
    } else {
      SmallString<256> beside(sys::path::parent_path(script.path));
      sys::path::append(beside, name);
      if (sys::fs::exists(beside))
        path = beside;
      else if (std::string found = inSearchPaths(name); !found.empty())
        path = found;
    }
    openPath(path, argument, depth);
  }

  const CommandLine &commandLine;
  Diagnostics &diagnostics;
};

} // namespace

std::vector<InputFile> openInputs(const CommandLine &commandLine, Diagnostics &diagnostics) {
  Opener opener(commandLine, diagnostics);
  for (const InputArgument &argument : commandLine.inputs) opener.open(argument);
  return std::move(opener.result);
}

} // namespace coppice
