# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# link_program(<target> OUTPUT FILE SOURCES FILE... [HEADERS FILE...] [OPTIONS OPTION...] [GRAPH NAME=FILE] [LIBRARIES NAME...])
#   Compiles and links a small program in one step with the ld.coppice of this build tree. Such a program uses no
#   C++ library. Inside the build of Coppice alone: other projects have find_package(Coppice) and coppice_link.
find_program(COPPICE_CLANGXX NAMES clang++-22 clang++ HINTS /usr/lib/llvm-22/bin REQUIRED)

function(link_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT;GRAPH" "SOURCES;HEADERS;OPTIONS;LIBRARIES")
  set(files ${arg_SOURCES} ${arg_HEADERS})
  set(link)
  if(arg_GRAPH)
    list(APPEND link -Wl,--graph=${arg_GRAPH})
    string(REGEX REPLACE "^[^=]*=" "" graph ${arg_GRAPH})
    list(APPEND files ${graph})
  endif()
  list(TRANSFORM arg_LIBRARIES PREPEND -l OUTPUT_VARIABLE libraries)
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime-stub/include/coppice/*.h)
  get_filename_component(folder ${arg_OUTPUT} DIRECTORY)
  add_custom_command(OUTPUT ${arg_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 # lld frees nothing
            ${COPPICE_CLANGXX} -std=c++20 -O2 -Wall -Wextra -Werror -fno-exceptions -fno-rtti
            -ffunction-sections -fdata-sections -I${CMAKE_SOURCE_DIR}/runtime-stub/include ${arg_OPTIONS} ${sources}
            --ld-path=${CMAKE_BINARY_DIR}/bin/ld.coppice -nostdlib++ -Wl,--as-needed ${link} ${libraries} -o ${arg_OUTPUT}
    DEPENDS ${files} ${headers} coppice coppice_runtime ${arg_LIBRARIES}
    COMMENT "Linking ${target} with ld.coppice" VERBATIM)
  add_custom_target(${target}_program ALL DEPENDS ${arg_OUTPUT})
endfunction()
