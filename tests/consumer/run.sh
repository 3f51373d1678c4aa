#!/usr/bin/env bash
# Installs Coppice into a folder where no compiler looks, moves it, and builds a user's project with it: by g++ and clang++,
# with CMake, Meson and make. usage: run.sh BUILD_DIR
set -euo pipefail
source_dir=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0

cmake --install "$build" --prefix "$work/installed" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mkdir -p "$work/opt"
mv "$work/installed" "$work/opt/coppice"
prefix=$work/opt/coppice
export PATH=$prefix/bin:$PATH

for file in bin/coppice bin/ld.coppice libexec/coppice/ld.lld include/coppice/coppice.h lib/coppice/libcoppice.a \
  lib/coppice/libcoppice_onnx.a lib/cmake/Coppice/CoppiceConfig.cmake share/man/man1/coppice.1 share/man/man1/ld.coppice.1 \
  share/bash-completion/completions/coppice share/zsh/site-functions/_coppice \
  share/fish/vendor_completions.d/coppice.fish; do
  [ -e "$prefix/$file" ] || { echo "consumer: $file was not installed"; exit 1; }
done
[ "$(coppice --cflags)" = "-I$prefix/include -ffunction-sections" ]
[ "$(ld.coppice --version)" = "$(/usr/lib/llvm-22/bin/ld.lld --version)" ]

expect() { # text, command...
  local want=$1 got
  shift
  got=$("$@") || { echo "consumer: $* failed"; exit 1; }
  [ "$got" = "$want" ] || { echo "consumer: $* printed '$got' and not '$want'"; exit 1; }
}

check() { # where the programs are
  expect plain "$1/plain"
  expect "one_file: 111 222" "$1/one_file"
  expect "imported: 3 6" "$1/imported"
  if nm "$1/imported" | grep 'my\.unused'; then echo "consumer: a kernel that no graph uses is in imported"; exit 1; fi
}

for cxx in g++ clang++-22; do
  tree=$work/$cxx
  cp -r "$source_dir" "$tree"
  quietly() { "$@" >"$tree/log" 2>&1 || { cat "$tree/log"; echo "consumer: failed: $*"; exit 1; }; }

  quietly cmake -S "$tree" -B "$tree/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=$cxx -DCMAKE_PREFIX_PATH="$prefix"
  quietly cmake --build "$tree/cmake"
  check "$tree/cmake"
  sed -i 's/factor = 3.0/factor = 5.0/' "$tree/model.mlir" # the graph is a dependency of the link
  quietly cmake --build "$tree/cmake"
  expect "imported: 5 10" "$tree/cmake/imported"
  sed -i 's/factor = 5.0/factor = 3.0/' "$tree/model.mlir"
  echo "consumer: CMake, $cxx: passed"

  quietly make -C "$tree" CXX=$cxx
  check "$tree"
  echo "consumer: make, $cxx: passed"

  if command -v meson >/dev/null; then
    CXX=$cxx quietly meson setup "$tree/meson" "$tree"
    quietly ninja -C "$tree/meson"
    check "$tree/meson"
    echo "consumer: Meson, $cxx: passed"
  else
    echo "consumer: Meson, $cxx: skipped (meson is not installed)"
  fi
done
