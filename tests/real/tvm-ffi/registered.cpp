// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that register themselves when the program starts; the last two in ways that the binding does not describe.
#include <cmath>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

// clang-format off
#define KERNELS(X) X(sin) X(cos) X(tan) X(exp) X(log) X(sqrt) X(asin) X(acos) X(atan) X(tanh) X(sinh) X(cosh) X(cbrt) X(exp2) X(log2) X(log10) X(floor) X(ceil) X(round) X(trunc)
// clang-format on

namespace {
#define DEFINE(NAME)                                                                                                   \
  double NAME##_kernel(double x) {                                                                                     \
    double sum = 0;                                                                                                    \
    for (int i = 1; i <= 4; ++i) sum += std::NAME(x / i);                                                              \
    return sum;                                                                                                        \
  }
KERNELS(DEFINE)
void packed_kernel(tvm::ffi::PackedArgs arguments, tvm::ffi::Any *result) { *result = arguments[0]; }

TVM_FFI_STATIC_INIT_BLOCK() {
#define REGISTER(NAME) .def("my." #NAME, NAME##_kernel)
  tvm::ffi::reflection::GlobalDef() KERNELS(REGISTER)
      .def_packed("my.packed", packed_kernel)
      .def("my.lambda", [](double x) { return 3 * x; });
}
} // namespace

int kernels_are_linked = 1;
