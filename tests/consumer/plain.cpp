// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <iostream>

int main() { std::cout << "plain\n"; }
