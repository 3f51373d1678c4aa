// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registrations as frameworks write them; the constructors and functions are elsewhere.
using Function = void (*)(int);
struct Registrar {
  Registrar(const char *name, Function function, const char *doc = nullptr);
};
struct Record {
  const char *name;
  Function function;
};
struct Op { // ExecuTorch's Kernel
  const char *name;
  bool flag;
  Function function;
  Op(const char *name, Function function) : name(name), flag(false), function(function) {}
};
struct Span {
  const Op *begin;
  unsigned long size;
};
void registerAll(const Record *records, unsigned long count);
int registerOps(Span ops);
int registerView(unsigned long length, const char *name, Function function);
void observe(Function);
bool condition();

#define KERNELS(X)                                                                                                     \
  X(k00)                                                                                                               \
  X(k01) X(k02) X(k03) X(k04) X(k05) X(k06) X(k07) X(k08) X(k09) X(k10) X(k11) X(k12) X(k13) X(k14) X(k15) X(k16)      \
      X(k17) X(k18) X(k19)
#define DECLARE(name) void name(int);
KERNELS(DECLARE)
#define REGISTER(name) static Registrar name##Registrar(#name, &name);
KERNELS(REGISTER)

// Compilers keep the string that both have in a register.
void mulCpu(int), mulGpu(int);
static Registrar mul1("mul", &mulCpu, "for the cpu"), mul2("mul", &mulGpu, "for the gpu");

// A local function needs no relocation in its own section.
static void __attribute__((noinline)) local(int x) { observe(nullptr), observe(x ? &mulCpu : nullptr); }
void registerLocal() { Registrar r("local", &local, "in the same section"); }
static void __attribute__((noinline)) localTwice(int x) { observe(x ? &mulGpu : nullptr); }
void registerLocalTwice() {
  Registrar r("twice", &localTwice);
  observe(&localTwice);
}
void registerTail() { // the last call is a tail call
  observe(nullptr);
  registerView(4, "view of more", &k00);
}

// One address for two keys.
void shared(int);
void registerShared() { Registrar a("first", &shared), b("second", &shared); }

// An array on the stack, and one in constant data.
void a1(int), a2(int), a3(int), c1(int), c2(int), c3(int), c4(int), c5(int);
void registerStack() {
  Record records[] = {{"a1", &a1}, {"a2", &a2}, {"a3", &a3}};
  registerAll(records, 3);
}
static const Record constant[] = {{"c1", &c1}, {"c2", &c2}, {"c3", &c3}, {"c4", &c4}, {"c5", &c5}};
void registerConstant() { registerAll(constant, 5); }
void s1(int), s2(int);
static Record writable[] = {{"s1", &s1}, {"s2", &s2}};
void registerWritable() { registerAll(writable, 2); }

// An array in memory that starts as zeros.
void o1(int), o2(int);
static Op ops[] = {Op("o1", &o1), Op("o2", &o2)};
static int registeredOps = registerOps({ops, 2});

// After a branch.
void branched(int);
void registerBranched() {
  if (condition()) observe(nullptr);
  Registrar r("branched", &branched, "doc");
}

//===-- What must not be matched
//-----------------------------------------------------------------------------------===//

void either1(int), either2(int), other(int), loop(int), computed(int);
extern const char *names[];
void registerEither(bool first) { // which function?
  Function f = first ? &either1 : &either2;
  Registrar r("either", f, "doc");
}
void registerComputed(int i) { Registrar r(names[i], &computed); }
void registerOther() { // its address goes elsewhere, too
  observe(&other);
  Registrar r("other", &other);
  observe(&other);
}
void registerLoop(int n) {
  Function f = &loop;
  const char *name = "loop0";
  for (int i = 0; i < n; ++i) {
    Registrar r(name, f);
    name = "loop1";
  }
}
void changed(int), changed2(int);
static Record mutableRecords[] = {{"changed", &changed}, {"changed2", &changed2}};
void registerChanged(const char *name) {
  mutableRecords[1].name = name;
  registerAll(mutableRecords, 2);
}
void f1(int), f2(int), g1(int), g2(int), h1(int), h2(int);
static Record firstChanged[] = {{"f1", &f1}, {"f2", &f2}}; // by code elsewhere in this file
void changeFirst(const char *name) { firstChanged[0].name = name; }
void registerFirstChanged() { registerAll(firstChanged, 2); }
void mayChange(Record *);
static Record givenAway[] = {{"g1", &g1}, {"g2", &g2}}; // whoever has the address may change it
void giveAway() { mayChange(givenAway); }
void registerGivenAway() { registerAll(givenAway, 2); }
Record global[] = {{"h1", &h1}, {"h2", &h2}}; // other files may change it
void registerGlobal() { registerAll(global, 2); }
// A compiler may leave out parameters of a function that nobody else can call.
void i1(int), i2(int), i3(int), i4(int);
__attribute__((noinline)) static void internal(const char *doc, const char *key, const char *alias, Function f,
                                               Function g) {
  Registrar a(key, f), b(alias, g);
}
void registerInternal() {
  internal("doc", "i1", "i2", &i1, &i2);
  internal("more doc", "i3", "i4", &i3, &i4);
}
Registrar *(*makeRegistrar())(const char *, Function);
struct Closure {
  Function function;
  void *state[3];
  Closure(Function f) : function(f) {}
};
struct ClosureRegistrar {
  ClosureRegistrar(const char *name, const Closure &closure);
};
void inClosure(int);
static ClosureRegistrar closure("closure", Closure(&inClosure));
void takes(void (*)(const Record *, unsigned long));
void takeAddress() { takes(&registerAll); }
