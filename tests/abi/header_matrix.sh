#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The public headers with each compiler, standard and set of flags; linked by GNU ld and lld with plans made by hand.
# usage: header_matrix.sh LIBCOPPICE_A [quick]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../runtime-stub/include
runtime=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
warnings="-Wno-unused-command-line-argument -Wall -Wextra -Wpedantic -Wshadow -Werror"
common="$warnings -ffunction-sections -fdata-sections -I$include"
plan='coppice\.plan\.[a-z0-9]*\.needs_fuse_ld_coppice'

fail() { echo "header_matrix: $1" >&2; exit 1; }

# Every undefined plan in the object is hidden, and there are as many as said.
expect_hidden() { # object, count, what
  local undefined
  undefined=$(readelf -sW "$1" | grep -E " UND $plan\$" || true)
  [ "$(grep -c . <<<"$undefined")" = "$2" ] || fail "$3: not $2 undefined plans: $undefined"
  ! grep -v HIDDEN <<<"$undefined" || fail "$3: a plan is not hidden"
}

# What is left of kernels, graphs and records in a finished file.
expect_kept() { # file, what
  local kept
  kept=$(nm "$1" | grep -oE 'coppice\.(kernel|graph|import)\..*|.*call_record.*|coppice_open_weights' | tr '\n' ' ')
  [ "$kept" = "coppice.kernel.my.vector_add " ] || fail "$2: kept: $kept"
}

count=0
one() { # compiler, flags
  local cc=$1 flags=$2 what="$1 $2" ld
  $cc $flags $common -c "$here/app.cpp" -o app.o
  $cc $flags $common -c "$here/other.cpp" -o other.o
  $cc $flags $common -c "$here/kernels.cpp" -o kernels.o
  $cc $flags $common -I"$here/../../runtime-stub/runtime" -c "$here/plans.cpp" -o plans.o
  expect_hidden app.o 2 "$what"
  readelf -sW app.o | grep call_record >/dev/null || fail "$what: no record of the calls"
  ! readelf -rW app.o | awk '/^Relocation section/ { debug = /\.debug/ } !debug && /call_record/' | grep . ||
    fail "$what: a record is referred to"
  rm -f libk.a
  ar rcs libk.a kernels.o
  for ld in bfd lld; do
    $cc $flags -fuse-ld=$ld -Wl,--gc-sections app.o other.o plans.o libk.a "$runtime" -o app || fail "$what $ld: does not link"
    [ "$(./app)" = "3 6 9" ] || fail "$what $ld: wrong result: $(./app)"
    expect_kept app "$what $ld"
    if $cc $flags -fuse-ld=$ld app.o other.o libk.a "$runtime" -o without 2>log; then fail "$what $ld: links without plans"; fi
    grep -q 'coppice.plan.add3.needs_fuse_ld_coppice' log || fail "$what $ld: the message does not name the plan"
    count=$((count + 1))
  done
}

# A shared library exports nothing of Coppice, drops what it does not use, and does not link without its plans.
shared() { # compiler, flags
  local cc=$1 flags="$2 -fPIC" ld
  one "$cc" "$flags"
  for ld in bfd lld; do
    $cc $flags -shared -fuse-ld=$ld -Wl,--gc-sections app.o other.o plans.o libk.a "$runtime" -o lib.so
    ! nm -D --defined-only lib.so | grep -E ' (coppice[._]|_ZNK?7coppice6detail|_ZNK?7coppice7runtime)' || fail "$cc $flags $ld: exports symbols"
    expect_kept lib.so "$cc $flags $ld -shared"
    ! $cc $flags -shared -fuse-ld=$ld app.o other.o libk.a "$runtime" -o lib.so 2>/dev/null || fail "$cc $flags $ld -shared: links without plans"
  done
}

c() { # compiler, flags
  local ld
  $1 $2 $common -c "$here/c_app.c" -o c_app.o
  expect_hidden c_app.o 2 "$1 $2"
  for ld in bfd lld; do
    $1 $2 -fuse-ld=$ld -Wl,--gc-sections c_app.o plans.o libk.a "$runtime" -o c_app
    [ "$(./c_app)" = "3 6 9" ] || fail "$1 $2 $ld: wrong result"
    expect_kept c_app "$1 $2 $ld"
    count=$((count + 1))
  done
}

throws() { # compiler
  $1 -std=c++17 -O2 $common "$here/throws.cpp" plans.o "$runtime" -Wl,--gc-sections -o throws
  [ "$(./throws)" = terminated ] || fail "$1: an exception of a kernel: $(./throws)"
}

# A program that must not compile, and a part of the message that says why.
refused() { # compiler, part of the message, code
  if $1 -std=c++17 -I"$include" -xc++ -fsyntax-only - 2>log <<<"#include <coppice/coppice.h>
using namespace coppice;
COPPICE_IMPORT_GRAPH(model, void(in<float, 2>, out<float, 2>));
$3"; then fail "$1 accepts: $3"; fi
  grep -qF "$2" log || { cat log; fail "$1 does not say \"$2\" for: $3"; }
}

for cc in g++ clang++-22; do
  command -v $cc >/dev/null || { echo "header_matrix: $cc: skipped (not installed)"; continue; }
  one $cc "-std=c++17 -O0"
  one $cc "-std=c++20 -O2 -fno-exceptions -fno-rtti"
  [ "${2:-}" = quick ] || {
    one $cc "-std=c++17 -O2"
    one $cc "-std=c++20 -O0"
    one $cc "-std=c++17 -O2 -fno-pic -no-pie"
    one $cc "-std=c++17 -O2 -g -fvisibility=hidden"
    one $cc "-std=c++20 -O1 -fsanitize=undefined"
  }
  shared $cc "-std=c++17 -O2"
  [ "${2:-}" = quick ] || shared $cc "-std=c++20 -O0"

  throws $cc
  refused $cc "coppice: a call passes as many tensors as the graph declares" 'int main() { float x[2][2]; model(x); }'
  refused $cc "coppice: the elements of this argument have another type" 'int main() { double x[2][2]; float y[2][2]; model(x, y); }'
  refused $cc "coppice: this argument has another rank" 'int main() { float x[2], y[2][2]; model(x, y); }'
  refused $cc "coppice: a result of the graph is written, this argument is const" 'int main() { const float x[2][2]{}; model(x, x); }'
  refused $cc "coppice: an argument of a graph is coppice::borrow" 'int main() { float x[2][2]; model(x, 7); }'
  refused $cc "coppice: the results of a graph, out<>, stand after its arguments" 'COPPICE_IMPORT_GRAPH(g, void(out<float>, in<float>));'
  refused $cc "coppice: the parameters of a graph are coppice::in<T, Rank> and coppice::out<T, Rank>" 'COPPICE_IMPORT_GRAPH(g, void(inout<float>));'
  refused $cc "coppice: the type of a graph is void(" 'COPPICE_IMPORT_GRAPH(g, int(in<float>));'
  refused $cc "one_graph_twice_in_a_file" 'namespace a { COPPICE_GRAPH(g, "x"); } namespace b { COPPICE_GRAPH(g, "x"); }'
  refused $cc "coppice: a graph stands in no anonymous namespace" 'namespace { COPPICE_GRAPH(g, "x"); }'
  refused $cc "namespace" 'int main() { COPPICE_GRAPH(g, "x"); }'
done
for cc in gcc clang-22; do
  command -v $cc >/dev/null || continue
  c $cc "-std=c11 -O0"
  c $cc "-std=c11 -O2"
done

# The runtime needs libc alone.
allowed='__errno_location|__tls_get_addr|_GLOBAL_OFFSET_TABLE_|abort|aligned_alloc|calloc|close|free|fstat|fstat64|getenv|lseek|lseek64|malloc|memcmp|memcpy|memset|mmap|mmap64|munmap|open|open64|pread|pread64|readlink|strlen|write'
if [ -z "${COPPICE_SANITIZE:-}" ]; then
  nm -u "$runtime" | awk '$1 == "U" {print $2}' | sort -u >undefined
  nm --defined-only "$runtime" | awk 'NF == 3 {print $3}' | sort -u >defined
  odd=$(comm -23 undefined defined | grep -vxE "$allowed" || true)
  [ -z "$odd" ] || fail "libcoppice.a needs more than libc: $odd"
fi
echo "header_matrix: $count programs linked and run"
