#!/usr/bin/env bash
# Links a large C++ program, coppice itself, by the build's own command with ld.lld and with ld.coppice, in several forms,
# and compares. usage: self_link.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
llvm=/usr/lib/llvm-22
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0
cd "$build"
[ -e build.ninja ] || { echo "self_link: skipped (the build tree is not Ninja's)"; exit 0; }

# ": && c++ ... -o bin/coppice ... && : && cmake -E create_symlink ...": only the link itself, to another place, by what is
# called ld.lld in a folder of ours.
command=$(ninja -t commands bin/coppice | grep -E -- '-o bin/coppice ' | tail -1 | sed -E 's/^.*: && //; s/ && .*$//')
command=${command/ -o bin\/coppice / -o $work/out }
case $command in
  *" -B$llvm/bin "*) ;;
  *) echo "self_link: the link command has no -B$llvm/bin to replace: $command"; exit 1 ;;
esac
mkdir "$work/linker"
command=${command/ -B$llvm\/bin / -B$work/linker }

same() { # what, command; it writes $work/out
  local start middle end
  ln -sf "$llvm/bin/ld.lld" "$work/linker/ld.lld"
  start=$(date +%s%N)
  bash -c "$2"
  middle=$(date +%s%N)
  mv "$work/out" "$work/lld"
  ln -sf "$build/bin/ld.coppice" "$work/linker/ld.lld"
  bash -c "$2"
  end=$(date +%s%N)
  cmp "$work/lld" "$work/out"
  echo "self_link: $1: $(stat -c %s "$work/out") bytes, the same by ld.lld ($(((middle - start) / 1000000)) ms) and ld.coppice ($(((end - middle) / 1000000)) ms)"
}

for kind in -pie -no-pie -static-libstdc++; do
  same "$kind" "$command $kind"
  [ "$("$work/out" --version)" = "$(bin/coppice --version)" ]
done

# One relocatable object out of all; shared libraries cannot be part of it.
same "-r" "$(sed -E ':again; s# [^ ]+\.so(\.[0-9.]+)?( |$)# #; t again' <<<"$command") -r -no-pie -Wl,--no-gc-sections"

# coppice's objects are not for a shared library; those of MLIR and lld are.
same "-shared" "$work/linker/ld.lld -shared --gc-sections --icf=all -o $work/out --whole-archive $llvm/lib/libMLIRIR.a $llvm/lib/liblldELF.a"

# The archives of --reproduce hold the same files; out of one it is linked again, with all arguments in a response file.
same "--reproduce" "$command -fno-lto -Wl,--reproduce=$work/\$(readlink $work/linker/ld.lld | xargs basename).tar"
mkdir "$work/ld.lld" "$work/ld.coppice"
for name in ld.lld ld.coppice; do
  tar xf "$work/$name.tar" -C "$work/$name" --strip-components=1
  sed -i '/^-plugin-opt=-fresolution=/d; /^--reproduce/d' "$work/$name/response.txt" # names by chance
done
diff -r "$work/ld.lld" "$work/ld.coppice"
sed -i "s#^-o .*#-o $work/out#" "$work/ld.lld/response.txt"
same "@response.txt" "cd $work/ld.lld && $work/linker/ld.lld @response.txt"
