// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "content.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

static int read_at(int file, uint8_t *to, int64_t bytes, int64_t offset) {
  while (bytes > 0) {
    ssize_t n = pread(file, to, size_t(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return EIO; // the file has become shorter
    to += n, offset += n, bytes -= n;
  }
  return 0;
}

int read_ends(int file, int64_t size, content &c) {
  c.size = size;
  if (int error = read_at(file, c.first, c.block(), 0)) return error;
  if (size > block_size) return read_at(file, c.last, block_size, size - block_size);
  memcpy(c.last, c.first, size_t(size));
  return 0;
}

int read_stream(int file, content &c) {
  c.size = 0;
  uint8_t piece[block_size];
  for (;;) {
    ssize_t n = read(file, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    int have = c.block(), keep = have + int(n) > block_size ? block_size - int(n) : have;
    if (have < block_size) memcpy(c.first + have, piece, size_t(n < block_size - have ? n : block_size - have));
    memmove(c.last, c.last + have - keep, size_t(keep));
    memcpy(c.last + keep, piece, size_t(n));
    c.size += n;
  }
}

static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool make_tokens(const content &c, int32_t *tokens) {
  constexpr int part = tokens_per_file / 2, fewest = 8;
  constexpr int32_t padding = 256;
  int n = c.block(), begin = 0, end = n;
  while (begin < n && is_space(c.first[begin])) ++begin;
  while (end > 0 && is_space(c.last[end - 1])) --end;
  for (int i = 0; i < part; ++i) { // the first part is padded behind, the second in front
    tokens[i] = begin + i < n ? c.first[begin + i] : padding;
    tokens[part + i] = end - part + i >= 0 ? c.last[end - part + i] : padding;
  }
  return n - begin >= fewest;
}

// The table of well-formed byte sequences in the Unicode standard (3.9, table 3-7).
bool starts_as_utf8(const content &c) {
  const uint8_t *p = c.first, *end = p + c.block();
  while (p < end) {
    uint8_t lead = *p++, low = 0x80, high = 0xbf; // the range of the second byte
    int more;
    if (lead < 0x80)
      more = 0;
    else if (lead >= 0xc2 && lead <= 0xdf)
      more = 1;
    else if (lead >= 0xe0 && lead <= 0xef)
      more = 2, low = lead == 0xe0 ? 0xa0 : 0x80, high = lead == 0xed ? 0x9f : 0xbf;
    else if (lead >= 0xf0 && lead <= 0xf4)
      more = 3, low = lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xf4 ? 0x8f : 0xbf;
    else
      return false;
    for (; more > 0; --more, low = 0x80, high = 0xbf)
      if (p == end || *p < low || *p++ > high) return false;
  }
  return true;
}
