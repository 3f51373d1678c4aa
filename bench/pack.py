#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed executables beside the same program unpacked, and beside one that decompresses itself into a memfd and executes that.
usage: pack.py [--check] [BUILD_DIR]     Method: docs/bench.md"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from side_by_side import CLANG, REPOSITORY, Table, run_in_turn, runner

CHECK = "--check" in sys.argv
BUILD = pathlib.Path(next((a for a in sys.argv[1:] if a != "--check"), REPOSITORY / "build")).resolve()
COPPICE = BUILD / "bin/coppice"
BIG = pathlib.Path("/usr/lib/llvm-22/bin/llvm-exegesis")
LIBRARY = pathlib.Path("/usr/lib/llvm-22/lib/libLLVM.so.1").resolve()

# What packers without a loader of their own do: the whole file into a memfd, which is then executed.
MEMFD = r"""
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include <stdlib.h>
extern const char packed[], packed_end[];
__asm__(".section .rodata\n.globl packed, packed_end\npacked: .incbin \"memfd.zst\"\npacked_end:\n.text\n");
int main(int argc, char **argv, char **environment) {
  int fd = memfd_create("program", MFD_CLOEXEC);
  ZSTD_DCtx *context = ZSTD_createDCtx();
  static char block[1 << 20];
  ZSTD_inBuffer in = {packed, (size_t)(packed_end - packed), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer out = {block, sizeof block, 0};
    if (ZSTD_isError(ZSTD_decompressStream(context, &out, &in))) return 127;
    for (size_t at = 0; at < out.pos;) {
      ssize_t n = write(fd, block + at, out.pos - at);
      if (n <= 0) return 127;
      at += n;
    }
  }
  fexecve(fd, argv, environment);
  return 127;
}
"""


def packed(source, to, *options):
    subprocess.run([COPPICE, "pack", source, "-o", to, *options], check=True)
    return to.stat().st_size


def compressed(command, file):
    return len(subprocess.run([*command, file], stdout=subprocess.PIPE, check=True).stdout)


def memfd(folder, program, to):
    subprocess.run(["zstd", "-q", "-f", "-9", program, "-o", folder / "memfd.zst"], check=True)
    (folder / "memfd.c").write_text(MEMFD)
    subprocess.run(["clang-22", "-O2", "-w", "-static", "memfd.c", "-o", to, "-lzstd"], cwd=folder, check=True)
    return to


def main():
    table, run = Table("pack", BUILD), runner(BUILD)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, limit in (("fast", 58_000), ("small", 30_000)):
            size = (BUILD / f"runtime-stub/loader/loader-{kind}.bin").stat().st_size
            table.row(f"loader, {kind}", size, None, "bytes", f"{limit:,}", limit)

        original = BIG.stat().st_size
        big = folder / "big"
        start = time.perf_counter()
        size = packed(BIG, big)
        seconds = time.perf_counter() - start
        table.row("62 MB executable, peer: zstd -9", size, compressed(["zstd", "-q", "-c", "-9"], BIG), "bytes", "27%", 0.27 * original)
        table.row("62 MB executable, level 19, peer: xz", packed(BIG, folder / "best", "--level", "19"),
                  compressed(["xz", "-c", "-6", "-T2"], BIG), "bytes", "23%", 0.23 * original)
        table.row("62 MB executable, packing", 1e3 * seconds, None, "ms", "100 MB/s", original / 100e3)
        t = run_in_turn(run, 15, ours=[big, "--version"], plain=[BIG, "--version"], memfd=[memfd(folder, BIG, folder / "big_memfd"), "--version"])
        table.row("62 MB dynamic PIE, start, peer: memfd", t["ours"]["wall"], t["memfd"]["wall"], "ms", "", None)
        table.row("62 MB dynamic PIE, start, peer: unpacked", t["ours"]["wall"], t["plain"]["wall"], "ms", "", None)

        (folder / "table.bin").write_bytes(LIBRARY.read_bytes()[16 << 20:(16 + 50) << 20])
        (folder / "table.cpp").write_text(
            '__asm__(".section .rodata\\n.globl table\\ntable: .incbin \\"table.bin\\"\\n.zero 64\\n.text\\n");\n'
            "extern const char table[];\nint main(int c, char **) { long s = 0; if (c > 1) for (long i = 0; i < (50l << 20); i += 64) s += "
            "table[i]; return s == 42; }\n")
        plain, ours = folder / "plain", folder / "ours"
        subprocess.run([CLANG, "-O2", "-fPIE", "-static-pie", "-fuse-ld=lld", "table.cpp", "-o", plain], cwd=folder, check=True)
        packed(plain, ours)
        packed(plain, folder / "small", "--small")
        baseline = memfd(folder, plain, folder / "table_memfd")
        t = run_in_turn(run, 21, ours=[ours], plain=[plain], memfd=[baseline], small=[folder / "small"])
        table.row("54 MB static-PIE, start to exit, peer: memfd", t["ours"]["wall"], t["memfd"]["wall"], "ms", "50 ms", 50)
        table.row("54 MB static-PIE, start to exit, peer: unpacked", t["ours"]["wall"], t["plain"]["wall"], "ms", "", None)
        table.row("54 MB static-PIE, processor time, peer: memfd", t["ours"]["cpu"], t["memfd"]["cpu"], "ms", "", None)
        table.row("54 MB static-PIE, small loader, peer: memfd", t["small"]["wall"], t["memfd"]["wall"], "ms", "", None)

        magika = BUILD / "bin/magika"
        if magika.exists():
            text = folder / "a.txt"
            text.write_text("#include <stdio.h>\nint main(void) { return 0; }\n" * 40)
            packed(magika, folder / "magika")
            t = run_in_turn(run, 21, ours=[folder / "magika", text], plain=[magika, text])
            table.row("magika, whole run, peer: unpacked", t["ours"]["wall"], t["plain"]["wall"], "ms", "+6 ms", t["plain"]["wall"] + 6)
    return table.finish(CHECK)


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    sys.exit(main())
