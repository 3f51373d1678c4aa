// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message.h"
#include <string.h>

namespace coppice::runtime {
namespace {

constexpr size_t capacity = 1000;
struct buffer {
  char text[capacity];
  uint32_t length;
};
thread_local buffer last; // all zero: no guard, no constructor

} // namespace

message::message() {
  last.length = 0;
  last.text[0] = '\0';
}

void message::put(char c) {
  if (last.length + 1 < capacity) {
    last.text[last.length++] = c;
    last.text[last.length] = '\0';
  } else {
    memcpy(last.text + capacity - 4, "...", 4);
  }
}

message &message::text(const char *s) {
  while (*s) put(*s++);
  return *this;
}

message &message::number(int64_t n) {
  char digits[20];
  int count = 0;
  uint64_t magnitude = n < 0 ? -uint64_t(n) : uint64_t(n);
  do digits[count++] = char('0' + magnitude % 10);
  while (magnitude /= 10);
  if (n < 0) put('-');
  while (count) put(digits[--count]);
  return *this;
}

message &message::shape(const int64_t *dims, int32_t rank) {
  put('(');
  for (int32_t i = 0; i < rank; ++i) {
    if (i) text(", ");
    if (dims[i] == -1)
      put('?');
    else
      number(dims[i]);
  }
  put(')');
  return *this;
}

message &message::dtype(DLDataType t) {
  switch (t.code) {
  case 0:
    text("i");
    break;
  case 1:
    text("ui");
    break;
  case 2:
    text("f");
    break;
  case 4:
    text("bf");
    break;
  case 6:
    return text("i1");
  default:
    text("type code ").number(t.code).text(", bits ");
  }
  number(t.bits);
  if (t.lanes != 1) text(" with ").number(t.lanes).text(" lanes");
  return *this;
}

const char *last_message() { return last.text; }

} // namespace coppice::runtime
