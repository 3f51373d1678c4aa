# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# find_package(Coppice REQUIRED), then:
#
#   coppice_link(<target> [GRAPHS [NAME=]FILE...] [ONNX] [TARGET LIST] [OPTIONS OPTION...])
#     Links the executable or shared library with Coppice, by whatever compiler the project uses.
#     GRAPHS   graphs for COPPICE_IMPORT_GRAPH(NAME, ...); relative to the current source folder. The target is linked again
#              when one changes.
#     ONNX     the kernels of the ONNX ops, libcoppice_onnx.a
#     TARGET   what the program is to run on: cpu:x86-64-v3, or several with commas
#     OPTIONS  further flags of the link step: --print-kernels --keep-kernel=my.* ...
#
#   Coppice::Coppice   what files with kernels need to be compiled: include folder and -ffunction-sections. For libraries of
#                      kernels; coppice_link adds it by itself.
#   Coppice::onnx      libcoppice_onnx.a
#
# With CMake 3.29 and later, CMAKE_LINKER_TYPE or LINKER_TYPE may also be set to COPPICE.
cmake_minimum_required(VERSION 3.20)

get_filename_component(Coppice_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(Coppice_EXECUTABLE "${Coppice_PREFIX}/bin/coppice")
set(Coppice_LIBRARY_DIR "${Coppice_PREFIX}/lib/coppice")
if(NOT EXISTS "${Coppice_LIBRARY_DIR}/libcoppice.a") # a build tree
  set(Coppice_LIBRARY_DIR "${Coppice_PREFIX}/lib")
endif()
# This folder holds Coppice under the name ld.lld and nothing else; g++ and clang++ find it so without being told a path.
set(Coppice_LINK_FLAGS "-B${Coppice_PREFIX}/libexec/coppice" -fuse-ld=lld)
foreach(language C CXX)
  set(CMAKE_${language}_USING_LINKER_COPPICE ${Coppice_LINK_FLAGS})
endforeach()

if(NOT TARGET Coppice::Coppice)
  add_library(Coppice::Coppice INTERFACE IMPORTED)
  set_target_properties(Coppice::Coppice PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Coppice_PREFIX}/include"
    INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:C,CXX>:-ffunction-sections>")
  add_library(Coppice::onnx STATIC IMPORTED)
  set_target_properties(Coppice::onnx PROPERTIES IMPORTED_LOCATION "${Coppice_LIBRARY_DIR}/libcoppice_onnx.a")
endif()

function(coppice_link target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONNX" "TARGET" "GRAPHS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "coppice_link(${target}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "coppice_link(${target}): it is not linked (${type}). For a library of kernels, "
      "write target_link_libraries(${target} PRIVATE Coppice::Coppice)")
  endif()

  set(options ${arg_OPTIONS})
  if(arg_TARGET)
    list(APPEND options "--target=${arg_TARGET}")
  endif()
  foreach(graph IN LISTS arg_GRAPHS)
    set(name "")
    set(file "${graph}")
    if(graph MATCHES "^([A-Za-z_][A-Za-z_0-9]*)=(.*)$")
      set(name "${CMAKE_MATCH_1}=")
      set(file "${CMAKE_MATCH_2}")
    endif()
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND options "--graph=${name}${file}")
    # As a source, so that a rule that generates the file is run, and a file that is missing is an error now.
    target_sources(${target} PRIVATE "${file}")
    set_property(SOURCE "${file}" TARGET_DIRECTORY ${target} PROPERTY HEADER_FILE_ONLY ON)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${file}")
  endforeach()

  # Not through target_link_libraries: it refuses targets on which the project uses it without keywords.
  set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES Coppice::Coppice)
  if(arg_ONNX)
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES Coppice::onnx)
  endif()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${Coppice_EXECUTABLE}")
  target_link_options(${target} PRIVATE ${Coppice_LINK_FLAGS})
  foreach(option IN LISTS options)
    target_link_options(${target} PRIVATE "SHELL:-Xlinker \"${option}\"") # -Wl, would split it at commas
  endforeach()
endfunction()
