// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <functional>
#include <string>
struct Registrar {
  Registrar(const char *name, std::function<int(int)> function);
  Registrar(std::string name, int (*function)(int));
};
int wrapped(int), named(int);
static Registrar a("lambda", [](int x) { return x + 1; });
static Registrar b("wrapped", std::function<int(int)>(&wrapped));
static Registrar c(std::string("named"), &named);
