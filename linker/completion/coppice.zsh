#compdef coppice
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# zsh completion for coppice
_coppice() {
  local -a subcommands codes
  subcommands=(
    'link:link, as ld.lld does and with the flags of Coppice'
    'inspect:show kernels and graphs of objects, archives, executables and models'
    'why:say what keeps a part of a program, or why it was dropped'
    'pack:compress an executable'
    'unpack:write the executable that was packed'
    'explain:print the long form of an error'
  )
  if (( CURRENT == 2 )); then
    _describe -t subcommands subcommand subcommands
    _arguments '--cflags[print the compiler flags for kernels and graphs]' '--bindir[print the folder for g++ -B]' \
      '--libdir[print the folder of libcoppice.a]' '--version[print the version]' '--help[print help]'
    return
  fi
  case ${words[2]} in
    explain)
      codes=("${(@f)$(${words[1]} explain 2>/dev/null | sed 's/  /:/')}")
      _describe -t codes code codes
      ;;
    inspect)
      _arguments '--graph=[print the MLIR of a graph]:name' '--json[print JSON]' '*:file:_files'
      ;;
    why)
      _arguments '--json[print JSON]' '1:program:_files' '2:name'
      ;;
    pack)
      _arguments '-o[output]:file:_files' '--level[level of zstd]:level' '--small[a smaller and slower loader]' \
        '--stats[print what became of each part]' '1:program:_files'
      ;;
    unpack)
      _arguments '-o[output]:file:_files' '1:program:_files'
      ;;
    link)
      _arguments '--graph=[a graph]:file:_files' '--keep-kernel=[keep kernels]:glob' \
        '--gc-kernels=[drop kernels that are not used]:names' '--no-gc-kernels[drop none]' '--binding=[how a framework registers]:file:_files' \
        '--keep-from=[kernels of a list]:file:_files' '--variants=[CPU variants]:which:(all best generic)' '--hide-exports[export only what is named]' \
        '--prefer-kernel=[choose a library]:op=library' '--target=[what to run on]:list:(cpu:x86-64 cpu:x86-64-v2 cpu:x86-64-v3 cpu:x86-64-v4)' \
        '--exact-target[device code for the targets only]' '--weights=[where the weights go]:file:_files' '--print-kernels[list the kernels]' \
        '--size-summary[say what was linked]' '--why=[say what keeps something]:name' '--strip-why[leave the record out]' \
        '--split-sections[take dead functions out of sections]' '--no-split-sections[leave them there]' \
        '--strip-graph[leave the MLIR out]' '--pack[compress the executable]' '--diagnostics=[form of messages]:form:(text json)' \
        '-o[output]:file:_files' '*:file:_files'
      ;;
  esac
}
_coppice "$@"
