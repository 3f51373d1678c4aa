// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the network sees of a file: its first and its last kilobyte, without the white space around them.
#pragma once
#include <cstdint>

inline constexpr int block_size = 4096, tokens_per_file = 2048;

/// The two ends of a file. They overlap in a file below two blocks, and are the same in one below a block.
struct content {
  uint8_t first[block_size], last[block_size];
  int64_t size;                                                            // of the whole file, bytes
  int block() const { return size < block_size ? int(size) : block_size; } // bytes used of first and last
};

/// Reads both ends of an open file whose size is known. Returns 0 or an errno.
int read_ends(int file, int64_t size, content &);
/// The same for what can only be read in order: a pipe, a terminal.
int read_stream(int file, content &);

/// Fills tokens[tokens_per_file]. False: too little is left for the network without white space.
bool make_tokens(const content &, int32_t *tokens);
/// Strict: no surrogates, no overlong forms; a character that the end of the block cuts in two is an error too.
bool starts_as_utf8(const content &);
