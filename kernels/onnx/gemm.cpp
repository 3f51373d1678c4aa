// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Goto's algorithm (Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication, 2008) around one
// micro-kernel in vector extensions: a tile of C stays in registers while it walks a panel of A and a panel of B, both
// packed so that they are read in order. A block of A stays in the L2 cache, a panel of B in L1. One row and one column
// go apart.
#include "gemm.h"

namespace coppice::onnx {
namespace {

/// The tile: tile_rows broadcasts of A times tile_vectors vectors of B; fills the registers (16, AVX-512: 32).
constexpr int tile_rows = vector_bytes == 64 ? 12 : 6, tile_vectors = 2;
template <class T> constexpr int tile_columns = tile_vectors * lanes<T>;

constexpr int64_t block_rows = 120, block_columns = 1024, max_depth = 256;

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
/// k in equal parts: a thin last one would cost a whole pass over C.
constexpr int64_t depth_of(int64_t k) { return ceil_div(k, ceil_div(k, max_depth)); }

/// C (+)= A B: A is tile_rows x k, column by column; B is k x tile_columns, row by row. Never inlined: the loop needs
/// all registers for itself.
template <class T> [[gnu::noinline]] void micro_kernel(int64_t k, const T *a, const T *b, T *c, int64_t ldc, bool add) {
  vector<T> sum[tile_rows][tile_vectors] = {};
  for (int64_t p = 0; p < k; ++p, a += tile_rows, b += tile_columns<T>) {
    vector<T> b0 = load(b), b1 = load(b + lanes<T>);
    COPPICE_ONNX_UNROLL
    for (int i = 0; i < tile_rows; ++i) {
      vector<T> x = splat(a[i]);
      sum[i][0] += x * b0;
      sum[i][1] += x * b1;
    }
  }
  if (add) {
    COPPICE_ONNX_UNROLL
    for (int i = 0; i < tile_rows; ++i) {
      sum[i][0] += load(c + i * ldc);
      sum[i][1] += load(c + i * ldc + lanes<T>);
    }
  }
  COPPICE_ONNX_UNROLL
  for (int i = 0; i < tile_rows; ++i) {
    store(c + i * ldc, sum[i][0]);
    store(c + i * ldc + lanes<T>, sum[i][1]);
  }
}

/// Rows [k0, k0 + depth) and columns [j0, j0 + n) of B, as panels of tile_columns, the last filled up with 0.
template <class T>
void pack_b(const row_source<T> &b, int64_t k0, int64_t depth, int64_t j0, int64_t n, T *to, T *buffer) {
  constexpr int width = tile_columns<T>;
  for (int64_t p = 0; p < depth; ++p) {
    const T *row = b.row(&b, k0 + p, j0, n, buffer);
    T *out = to + p * width;
    int64_t j = 0;
    for (; j + width <= n; j += width, out += depth * width) {
      store(out, load(row + j));
      store(out + lanes<T>, load(row + j + lanes<T>));
    }
    for (int64_t x = 0; j < n && x < width; ++x) out[x] = j + x < n ? row[j + x] : T(0);
  }
}

/// Four rows of A, from p on four columns at a time, to rows of four in the panel; returns where it stopped.
template <class T> inline int64_t transpose_rows(const T *a, int64_t lda, int64_t depth, T *to) {
  typedef T quad __attribute__((vector_size(4 * sizeof(T))));
  int64_t p = 0;
  for (; p + 4 <= depth; p += 4) {
    quad r0, r1, r2, r3;
    memcpy(&r0, a + p, sizeof r0);
    memcpy(&r1, a + lda + p, sizeof r1);
    memcpy(&r2, a + 2 * lda + p, sizeof r2);
    memcpy(&r3, a + 3 * lda + p, sizeof r3);
    quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
    quad low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5), high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    quad c0 = __builtin_shufflevector(low01, low23, 0, 1, 4, 5), c1 = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    quad c2 = __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
         c3 = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    memcpy(to + p * tile_rows, &c0, sizeof c0);
    memcpy(to + (p + 1) * tile_rows, &c1, sizeof c1);
    memcpy(to + (p + 2) * tile_rows, &c2, sizeof c2);
    memcpy(to + (p + 3) * tile_rows, &c3, sizeof c3);
  }
  return p;
}

/// m rows and `depth` columns of A, as panels of tile_rows, the last filled up with 0.
template <class T> void pack_a(const T *a, int64_t lda, int64_t m, int64_t depth, T *to) {
  for (int64_t i = 0; i < m; i += tile_rows, to += tile_rows * depth)
    for (int r = 0; r < tile_rows;) {
      const T *row = a + (i + r) * lda;
      if (r + 4 <= tile_rows && i + r + 4 <= m) {
        for (int64_t p = transpose_rows(row, lda, depth, to + r); p < depth; ++p)
          for (int q = 0; q < 4; ++q) to[p * tile_rows + r + q] = row[q * lda + p];
        r += 4;
      } else {
        bool inside = i + r < m;
        for (int64_t p = 0; p < depth; ++p) to[p * tile_rows + r] = inside ? row[p] : T(0);
        ++r;
      }
    }
}

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T *a, int64_t lda, const row_source<T> &b, T *c, int64_t ldc,
              bool add, T *scratch) {
  constexpr int width = tile_columns<T>;
  int64_t depth = depth_of(k);
  T *buffer = scratch, *packed_b = buffer + block_columns; // aligned as a whole cache line, as all panels of B are
  T *packed_a = packed_b + ceil_div(smaller(n, block_columns), width) * width * depth;
  alignas(64) T edge[tile_rows * width];
  for (int64_t j0 = 0; j0 < n; j0 += block_columns) {
    int64_t nn = smaller(n - j0, block_columns);
    for (int64_t k0 = 0; k0 < k; k0 += depth) {
      int64_t kk = smaller(k - k0, depth);
      bool adds = add || k0;
      pack_b(b, k0, kk, j0, nn, packed_b, buffer);
      for (int64_t i0 = 0; i0 < m; i0 += block_rows) {
        int64_t mm = smaller(m - i0, block_rows);
        pack_a(a + i0 * lda + k0, lda, mm, kk, packed_a);
        for (int64_t j = 0; j < nn; j += width)
          for (int64_t i = 0; i < mm; i += tile_rows) {
            T *z = c + (i0 + i) * ldc + j0 + j;
            const T *x = packed_a + i * kk, *y = packed_b + j * kk;
            const bool whole = mm - i >= tile_rows && nn - j >= width;
            micro_kernel(kk, x, y, whole ? z : edge, whole ? ldc : width, whole && adds);
            if (whole) continue;
            for (int64_t r = 0; r < smaller(tile_rows, mm - i); ++r)
              for (int64_t q = 0; q < smaller(width, nn - j); ++q)
                z[r * ldc + q] = edge[r * width + q] + (adds ? z[r * ldc + q] : T(0));
          }
      }
    }
  }
}

/// One row: B is read once, so packing would only add to it. Four rows of B at a time.
template <class T>
void multiply_row(int64_t n, int64_t k, const T *a, const row_source<T> &b, T *c, bool add, T *scratch) {
  for (int64_t j0 = 0; j0 < n; j0 += block_columns) {
    int64_t nn = smaller(n - j0, block_columns);
    T *__restrict z = c + j0;
    if (!add) memset(z, 0, size_t(nn) * sizeof *z);
    for (int64_t p = 0; p < k; p += 4) {
      const T *row[4];
      T factor[4];
      for (int64_t r = 0; r < 4; ++r) {
        int64_t at = smaller(p + r, k - 1);
        row[r] = p + r < k ? b.row(&b, at, j0, nn, scratch + r * block_columns) : row[0];
        factor[r] = p + r < k ? a[at] : T(0);
      }
      if (p + 4 <= k)
        for (int64_t j = 0; j < nn; ++j)
          z[j] += factor[0] * row[0][j] + factor[1] * row[1][j] + factor[2] * row[2][j] + factor[3] * row[3][j];
      else
        for (int64_t r = 0; p + r < k; ++r)
          for (int64_t j = 0; j < nn; ++j) z[j] += factor[r] * row[r][j];
    }
  }
}

/// One column: dot products of rows of A, both read in order.
template <class T>
void multiply_column(int64_t m, int64_t k, const T *a, int64_t lda, const row_source<T> &b, T *c, int64_t ldc, bool add,
                     T *column) {
  for (int64_t p = 0; p < k; ++p) column[p] = *b.row(&b, p, 0, 1, column + p);
  for (int64_t i = 0; i < m; ++i, a += lda, c += ldc) {
    vector<T> sum[4] = {};
    int64_t p = 0;
    for (; p + 4 * lanes<T> <= k; p += 4 * lanes<T>) COPPICE_ONNX_UNROLL
    for (int q = 0; q < 4; ++q) sum[q] += load(a + p + q * lanes<T>) * load(column + p + q * lanes<T>);
    vector<T> all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    T total = 0;
    for (int q = 0; q < lanes<T>; ++q) total += all[q];
    for (; p < k; ++p) total += a[p] * column[p];
    *c = total + (add ? *c : T(0));
  }
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, const T *a, int64_t lda, const row_source<T> &b, T *c, int64_t ldc,
             bool add, void *scratch) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (int64_t i = 0; !add && i < m; ++i) memset(c + i * ldc, 0, size_t(n) * sizeof *c);
    return;
  }
  T *memory = static_cast<T *>(scratch);
  if (m == 1)
    multiply_row(n, k, a, b, c, add, memory);
  else if (n == 1)
    multiply_column(m, k, a, lda, b, c, ldc, add, memory);
  else
    multiply(m, n, k, a, lda, b, c, ldc, add, memory);
}

} // namespace

namespace COPPICE_ONNX_LEVEL {

uint64_t gemm_scratch(int64_t m, int64_t n, int64_t k, int64_t element_bytes) {
  if (m == 0 || n == 0 || k == 0) return 64;
  if (m == 1) return uint64_t(4 * block_columns * element_bytes);
  if (n == 1) return uint64_t(k * element_bytes);
  int64_t width = tile_vectors * vector_bytes / element_bytes, depth = depth_of(k);
  int64_t columns = ceil_div(smaller(n, block_columns), width) * width;
  return uint64_t((block_columns + (block_rows + columns) * depth) * element_bytes);
}

void gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const row_source<float> &b, float *c,
          int64_t ldc, bool add, void *scratch) {
  product(m, n, k, a, lda, b, c, ldc, add, scratch);
}
void gemm(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const row_source<double> &b, double *c,
          int64_t ldc, bool add, void *scratch) {
  product(m, n, k, a, lda, b, c, ldc, add, scratch);
}

} // namespace COPPICE_ONNX_LEVEL
} // namespace coppice::onnx
