#!/usr/bin/env bash
# The manual pages are well-formed, and manual, docs and completions name every subcommand and every flag of the link step that
# --help names. usage: flags.sh BUILD_DIR
set -uo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
export ASAN_OPTIONS=detect_leaks=0
failed=0
fail() { echo "flags: $*"; failed=1; }

for page in docs/man/*.1; do
  if command -v mandoc >/dev/null; then
    warnings=$(mandoc -T lint -W warning "$page") || fail "$warnings"
  elif command -v groff >/dev/null; then
    warnings=$(groff -ww -mandoc -Tutf8 -z "$page" 2>&1)
    [ -z "$warnings" ] || fail "$warnings"
  else
    echo "flags: $page is not checked: neither mandoc nor groff is installed"
  fi
done

words=$("$build/bin/coppice" --help | grep -oE '^  (--[a-z]+|-h,--help|[a-z]+)  ' | sed 's/-h,//; s/ //g')
for sub in inspect why pack unpack explain; do
  words+=" $("$build/bin/coppice" $sub --help | grep -oE '^  --[a-z]+' | tr -d ' ')"
done
flags=$("$build/bin/coppice" link --help | sed -n '/^COPPICE OPTIONS/,$p' | grep -oE '^  --[a-z-]+' | tr -d ' ')
[ "$(wc -w <<<"$words")" -ge 7 ] || fail "coppice --help names only: $words"
[ "$(wc -w <<<"$flags")" -ge 9 ] || fail "coppice link --help names only: $flags"

names() { # file, word: mdoc writes -- as "Fl Fl", fish as "-l"
  sed 's/Fl Fl /--/g; s/ -l \([a-z]\)/ --\1/g' "$1" | grep -E -- "(^|[^a-z-])$2([^a-z-]|$)" >/dev/null
}
for word in $words; do
  for file in docs/man/coppice.1 linker/completion/coppice.*; do
    names "$file" "$word" || fail "$file lacks $word"
  done
done
for flag in $flags; do
  for file in docs/man/ld.coppice.1 docs/link-flags.md linker/completion/coppice.*; do
    names "$file" "$flag" || fail "$file lacks $flag"
  done
done
[ $failed = 0 ] && echo "flags: $(wc -w <<<"$words $flags") words are documented everywhere"
exit $failed
