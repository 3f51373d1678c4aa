// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the files that are compiled once per CPU level, with another -march each. Nothing in them may have external
// linkage under one name in two levels: an inline function or template instance of the v4 object that the linker keeps
// for all would crash on an older CPU. So all is static or in an unnamed namespace, except for what stands in the
// namespace COPPICE_ONNX_LEVEL, and no inline function of another header is called (tests/levels_share_nothing.cmake).
#pragma once
#include "coppice/kernel.h"
#include <string.h>

#if defined(__AVX512F__)
#define COPPICE_ONNX_LEVEL level_v4
#define COPPICE_ONNX_LEVEL_SUFFIX "_v4"
#elif defined(__AVX2__)
#define COPPICE_ONNX_LEVEL level_v3
#define COPPICE_ONNX_LEVEL_SUFFIX "_v3"
#else
#define COPPICE_ONNX_LEVEL level_v1
#define COPPICE_ONNX_LEVEL_SUFFIX ""
#endif

namespace coppice::onnx {
namespace {

/// Bytes of a vector register.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
template <class T> constexpr int lanes = vector_bytes / int(sizeof(T));
template <class T> struct vector_of;
template <> struct vector_of<float> {
  typedef float type __attribute__((vector_size(vector_bytes)));
  typedef int32_t bits __attribute__((vector_size(vector_bytes)));
};
template <> struct vector_of<double> {
  typedef double type __attribute__((vector_size(vector_bytes)));
  typedef int64_t bits __attribute__((vector_size(vector_bytes)));
};
template <class T> using vector = typename vector_of<T>::type;

/// Memory need not be aligned.
template <class T> static inline vector<T> load(const T *p) {
  vector<T> v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class T> static inline void store(T *p, vector<T> v) { memcpy(p, &v, sizeof v); }
template <class T> static inline vector<T> splat(T x) { return x - vector<T>{}; }

} // namespace
} // namespace coppice::onnx

#if defined(__clang__)
#define COPPICE_ONNX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define COPPICE_ONNX_UNROLL _Pragma("GCC unroll 16")
#endif
