# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes a C++ file with a table of all kernels of a library: cmake -DNM=nm -DLIBRARY=lib.a -DOUT=table.cpp -P …
execute_process(COMMAND ${NM} --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY ERROR_QUIET)
string(REGEX MATCHALL "coppice\\.kernel\\.[A-Za-z0-9_.$]+" kernels "${symbols}")
list(SORT kernels)
set(count 0)
set(declarations)
set(entries)
foreach(kernel IN LISTS kernels)
  string(APPEND declarations
    "extern const coppice_kernel k${count} __asm__(\"${kernel}\") __attribute__((visibility(\"hidden\")));\n")
  string(APPEND entries "    &k${count},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "#include \"coppice/kernel.h\"\n${declarations}"
  "extern \"C\" const coppice_kernel *const coppice_test_kernels[] = {\n${entries}    nullptr};\n")
