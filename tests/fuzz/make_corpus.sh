#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make_corpus.sh PROTOC ONNX_PROTO LLVM_TOOLS OUTPUT: the seeds of all fuzz targets, in OUTPUT/<target>/. Models and objects
# are kept as text, bytecode is made from the MLIR seeds, \0NNN in *.escaped is a byte, everything else is copied.
set -eu
protoc=$1 proto=$2 tools=$3 output=$4
here=$(cd "$(dirname "$0")" && pwd)
for target in "$here"/corpus/*/; do
  out=$output/$(basename "$target")
  mkdir -p "$out"
  for seed in "$target"*; do
    base=$(basename "$seed")
    case $base in
    *.textproto)
      "$protoc" -I "$(dirname "$proto")" --encode=onnx.ModelProto "$(basename "$proto")" <"$seed" >"$out/${base%.textproto}.onnx"
      ;;
    *.mlir)
      cp "$seed" "$out/$base"
      "$tools/mlir-opt" --allow-unregistered-dialect --emit-bytecode "$seed" -o "$out/${base%.mlir}.mlirbc"
      ;;
    *.yaml) "$tools/yaml2obj" "$seed" -o "$out/${base%.yaml}" ;;
    *.escaped) printf %b "$(cat "$seed")" >"$out/${base%.escaped}" ;;
    *) cp "$seed" "$out/$base" ;;
    esac
  done
done
(cd "$output/fuzz_object" && rm -f lib.a && "$tools/llvm-ar" rcsD lib.a kernel import)
mkdir -p "$output/fuzz_function_ranges"
for source in "$here"/../unit/Inputs/*.s; do
  "$tools/llvm-mc" -filetype=obj -triple=x86_64-linux-gnu "$source" -o "$output/fuzz_function_ranges/$(basename "$source" .s)"
done
