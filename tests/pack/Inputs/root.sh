#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a program as uid 65534 without capabilities in a read-only root that holds nothing else: no /proc, no /tmp.
# usage: root.sh ROOT PROGRAM ARGUMENT...
set -u
root=$(realpath "$1")
shift
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "skipped: not root, or no mount namespaces"; exit 0; }
unshare -m bash -c '
  mount --make-rprivate / && mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" &&
  chroot --userspec=65534:65534 "$0" "$@"
  echo "status $?"
' "$root" "$@"
