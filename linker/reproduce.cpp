// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/reproduce.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {
namespace {

// A ustar header (POSIX.1-2017, pax): name at 0 (100 bytes), size at 124 (12 bytes, octal), checksum at 148 (8 bytes,
// the sum of all bytes with the checksum itself as spaces). LLVM has a writer of such archives, and no reader.
constexpr size_t block = 512;

uint64_t entrySize(StringRef header) {
  uint64_t size = 0;
  header.substr(124, 12).take_while([](char c) { return c >= '0' && c <= '7'; }).getAsInteger(8, size);
  return size;
}

std::string headerWithSize(StringRef header, uint64_t size) {
  std::string h = header.str();
  std::string octal;
  raw_string_ostream(octal) << format("%011llo", static_cast<unsigned long long>(size));
  h.replace(124, 12, octal + '\0');
  h.replace(148, 8, "        ");
  unsigned sum = 0;
  for (unsigned char c : h) sum += c;
  octal.clear();
  raw_string_ostream(octal) << format("%06o", sum);
  h.replace(148, 8, octal + '\0' + ' ');
  return h;
}

std::string quoted(StringRef s) { return s.contains(' ') ? ("\"" + s + "\"").str() : s.str(); }

std::string editResponse(StringRef text, const ResponseFileEdits &edits) {
  StringMap<std::string> lines;
  for (const auto &[input, line] : edits.replace) {
    lines[quoted(pathInReproduceArchive(input))] = quoted(line);
  }
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    auto it = lines.find(line);
    if (it == lines.end())
      result += line.str() + "\n";
    else if (!it->second.empty())
      result += it->second + "\n";
  }
  for (const std::string &line : edits.append) result += quoted(line) + "\n";
  return result;
}

} // namespace

std::string pathInReproduceArchive(StringRef path) {
  SmallString<256> absolute(path);
  if (!sys::fs::exists(path) || sys::fs::make_absolute(absolute)) return path.str();
  sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
  return sys::path::relative_path(absolute).str();
}

Error editReproduceArchive(StringRef path, const ResponseFileEdits &edits) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return errorCodeToError(buffer.getError());
  StringRef tar = (*buffer)->getBuffer();
  return writeToOutput(path, [&](raw_ostream &out) -> Error {
    while (tar.size() >= block) {
      StringRef header = tar.take_front(block);
      uint64_t size = entrySize(header), whole = block + alignTo(size, block);
      if (header.take_front(1) == StringRef("\0", 1) || whole > tar.size()) break; // the end, or not ours to judge
      StringRef name = header.take_front(100);
      name = name.take_front(name.find('\0'));
      if (sys::path::filename(name) == "response.txt") {
        std::string text = editResponse(tar.substr(block, size), edits);
        out << headerWithSize(header, text.size()) << text;
        out.write_zeros(unsigned(alignTo(text.size(), block) - text.size()));
      } else {
        out << tar.take_front(whole);
      }
      tar = tar.drop_front(whole);
    }
    out << tar;
    return Error::success();
  });
}

} // namespace coppice
