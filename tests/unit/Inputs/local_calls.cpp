// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Local functions that refer to each other in all the ways that compilers know.
#define NOINLINE __attribute__((noinline))
extern "C" int printf(const char *, ...);
extern "C" void other(int (*)(int));
static int counter;
static short mode;

static NOINLINE int leaf(int x) { return x * 3 + counter; }
static NOINLINE int taken(int x) { return x - counter; }
static NOINLINE int tail(int x) { return leaf(x + 1); }
static NOINLINE int even(int x);
static NOINLINE int odd(int x) { return x == 0 ? 0 : even(x - 1) + counter; }
static NOINLINE int even(int x) { return x == 0 ? 1 : odd(x - 1) + counter; }
static NOINLINE void setMode(int x) { // an immediate behind the field
  if (mode == 1234) counter = 0x12345678;
  mode = short(0x4321);
  if (x) other(taken);
}
static NOINLINE int table(int x) {
  switch (x) {
  case 0: return leaf(x);
  case 1: return tail(x + 8);
  case 2: return printf("two");
  case 3: return taken(x * 7);
  case 4: return 99 + counter;
  case 5: return even(x);
  case 6: return x ^ counter;
  default: __builtin_unreachable();
  }
}

struct Shape {
  virtual int area(int x) { return leaf(x); }
  virtual ~Shape() { setMode(counter); }
};
namespace {
struct Square : Shape {
  int area(int x) override { return odd(x) + Shape::area(x); }
};
} // namespace
static NOINLINE Shape *make() { return new Square; }

NOINLINE static void fail(int x) { // ends with a call that does not return
  printf("%d", x);
  throw x;
}
static NOINLINE int cold(int x) {
  if (__builtin_expect(x == 77, 0)) {
    setMode(3);
    printf("cold %d", counter);
    fail(x);
  }
  return x + counter;
}
static int (*const functions[])(int) = {taken, cold, odd};
static NOINLINE int guarded(int x) {
  try {
    return cold(x);
  } catch (int) {
    return table(x);
  }
}
template <int N> static NOINLINE int unrolled(int x) { return unrolled<N - 1>(x + N) + counter; }
template <> NOINLINE int unrolled<0>(int x) { return tail(x); }

int entry(int x) {
  Shape *s = make();
  int sum = s->area(x) + guarded(x) + unrolled<9>(x) + functions[x % 3](x);
  delete s;
  return sum;
}
int second(int x) { return entry(x) + even(x); }
int third(int x) { return second(x); }
