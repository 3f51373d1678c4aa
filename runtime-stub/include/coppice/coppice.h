// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* All of Coppice that a program includes: kernels (kernel.h), tensors (tensor.h) and graphs (graph.h). */
#pragma once
#include "coppice/graph.h"
#include "coppice/kernel.h"
