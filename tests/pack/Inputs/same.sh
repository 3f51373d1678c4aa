#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Links a program, packs it, runs both, compares; unpacks, compares. In the current folder, with plain/ and packed/.
# usage: same.sh NAME "COMPILER FLAGS..."
set -euo pipefail
name=$1
$2 -o "plain/$name"
export PACKED_TEST=yes
for options in "" "--small" "--level 1"; do
  coppice pack "plain/$name" -o "packed/$name" $options
  coppice unpack "packed/$name" -o unpacked
  cmp "plain/$name" unpacked
  for way in plain packed; do
    status=0
    (cd $way && "./$name" one >"$name.txt" 2>&1) || status=$?
    echo "status $status" >>"$way/$name.txt"
  done
  diff "plain/$name.txt" "packed/$name.txt"
  grep -q '^status 3$' "packed/$name.txt"
done
