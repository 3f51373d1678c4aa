#!/usr/bin/env bash
# Links a large C++ program, coppice itself, by the build's own command with ld.lld and with ld.coppice, as PIE and as a
# program at a fixed address, and compares. usage: self_link.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
lld=/usr/lib/llvm-22/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0
cd "$build"
[ -e build.ninja ] || { echo "self_link: skipped (the build tree is not Ninja's)"; exit 0; }

# ": && c++ ... -o bin/coppice ... && : && cmake -E create_symlink ...": only the link itself, to another place.
command=$(ninja -t commands bin/coppice | grep -E -- '-o bin/coppice ' | tail -1 | sed -E 's/^.*: && //; s/ && .*$//')
case $command in
  *" -B$lld "*) ;;
  *) echo "self_link: the link command has no -B$lld to replace: $command"; exit 1 ;;
esac

for kind in -pie -no-pie -static-libstdc++; do
  for folder in "$lld" "$build/libexec/coppice"; do
    linked=${command/ -B$lld / -B$folder $kind }
    start=$(date +%s%N)
    bash -c "${linked/ -o bin\/coppice / -o $work/out }"
    ms=$((($(date +%s%N) - start) / 1000000))
    if [ "$folder" = "$lld" ]; then
      mv "$work/out" "$work/lld"
      lld_ms=$ms
    fi
  done
  cmp "$work/lld" "$work/out"
  [ "$("$work/out" --version)" = "$(bin/coppice --version)" ]
  echo "self_link: $kind: $(stat -c %s "$work/out") bytes, the same by ld.lld ($lld_ms ms) and ld.coppice ($ms ms)"
done
