# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bash completion for coppice
_coppice() {
  local word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W 'link inspect why pack unpack explain --cflags --bindir --libdir --version --help' -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    explain)
      COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" explain 2>/dev/null | cut -d' ' -f1)" -- "${word^^}"))
      ;;
    inspect)
      case $word in
        -*) COMPREPLY=($(compgen -W '--graph= --json --help' -- "$word")); compopt -o nospace ;;
        *) compopt -o default ;;
      esac
      ;;
    why)
      case $word in
        -*) COMPREPLY=($(compgen -W '--json --help' -- "$word")) ;;
        *) compopt -o default ;;
      esac
      ;;
    pack)
      case $word in
        -*) COMPREPLY=($(compgen -W '-o --level --small --stats --help' -- "$word")) ;;
        *) compopt -o default ;;
      esac
      ;;
    unpack)
      case $word in
        -*) COMPREPLY=($(compgen -W '-o --help' -- "$word")) ;;
        *) compopt -o default ;;
      esac
      ;;
    link)
      case $word in
        --*)
          COMPREPLY=($(compgen -W '--graph= --keep-kernel= --gc-kernels --no-gc-kernels --binding= --keep-from= --variants=generic --hide-exports
            --prefer-kernel= --target=cpu:x86-64 --exact-target --weights= --print-kernels
            --size-summary --why= --strip-why --split-sections --no-split-sections --strip-graph --pack --diagnostics=json' -- "$word"))
          compopt -o nospace
          ;;
        *) compopt -o default ;;
      esac
      ;;
  esac
}
complete -F _coppice coppice
