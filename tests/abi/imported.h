// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph from a file, declared in a header that two source files include.
#pragma once
#include <coppice/graph.h>
namespace graphs {
COPPICE_IMPORT_GRAPH(twice, void(coppice::in<float, 1>, coppice::out<float, 1>));
}
float half_of_twice(float);
