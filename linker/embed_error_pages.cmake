# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the initialisers of explain_command.cpp's table: one for each docs/errors/COP*.md, in order.
# usage: cmake -DPAGES=<folder> -DOUTPUT=<file> -P embed_error_pages.cmake
file(GLOB pages ${PAGES}/COP*.md)
list(SORT pages)
set(text "")
foreach(page IN LISTS pages)
  get_filename_component(code ${page} NAME_WE)
  file(READ ${page} content)
  string(FIND "${content}" "# ${code}: " title)
  if(NOT title EQUAL 0)
    message(FATAL_ERROR "${page}: the first line must be '# ${code}: <what happened, in a few words>'")
  endif()
  string(APPEND text "{\"${code}\", R\"page(${content})page\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
