#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make_corpus.sh ONNX_PROTO OUTPUT: the seeds of all fuzz targets, in OUTPUT/<target>/. Models are kept as text
# (protoc --encode), bytecode is made from the MLIR seeds; everything else is copied.
set -eu
proto=$1 output=$2
here=$(cd "$(dirname "$0")" && pwd)
for target in "$here"/corpus/*/; do
  name=$(basename "$target")
  mkdir -p "$output/$name"
  for seed in "$target"*; do
    base=$(basename "$seed")
    case $base in
    *.textproto)
      protoc -I "$(dirname "$proto")" --encode=onnx.ModelProto "$(basename "$proto")" <"$seed" >"$output/$name/${base%.textproto}.onnx"
      ;;
    *.mlir)
      cp "$seed" "$output/$name/$base"
      /usr/lib/llvm-22/bin/mlir-opt --allow-unregistered-dialect --emit-bytecode "$seed" -o "$output/$name/${base%.mlir}.mlirbc"
      ;;
    *) cp "$seed" "$output/$name/$base" ;;
    esac
  done
done
