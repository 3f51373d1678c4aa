# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the initialisers of builtin_bindings.cpp's table: one for each bindings/*.yaml, in order.
# usage: cmake -DBINDINGS=<folder> -DOUTPUT=<file> -P embed_bindings.cmake
file(GLOB bindings ${BINDINGS}/*.yaml)
list(SORT bindings)
set(text "")
foreach(binding IN LISTS bindings)
  get_filename_component(name ${binding} NAME)
  file(READ ${binding} content)
  string(APPEND text "{\"${name}\", R\"yaml(${content})yaml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
