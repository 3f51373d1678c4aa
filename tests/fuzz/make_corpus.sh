#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make_corpus.sh PROTOC ONNX_PROTO MLIR_OPT OUTPUT: the seeds of all fuzz targets, in OUTPUT/<target>/. Models are kept as
# text, bytecode is made from the MLIR seeds, everything else is copied.
set -eu
protoc=$1 proto=$2 mlir_opt=$3 output=$4
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
      "$mlir_opt" --allow-unregistered-dialect --emit-bytecode "$seed" -o "$out/${base%.mlir}.mlirbc"
      ;;
    *) cp "$seed" "$out/$base" ;;
    esac
  done
done
