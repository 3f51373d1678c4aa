#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where no registration is involved, the sections that Coppice's reachability finds dead are those that ld.lld
--gc-sections removes. Compared link by link, by name. usage: live_sections.py BUILD_DIR"""
import pathlib
import shlex
import subprocess
import sys
import tempfile

from large_programs import LLVM_PROGRAM, MLIR_PROGRAM, archives

BUILD = pathlib.Path(sys.argv[1]).resolve()
COPPICE, LLD = BUILD / "bin/ld.coppice", "/usr/lib/llvm-22/bin/ld.lld"
failures = 0

C = r"""
#include <stdio.h>
#include <stdlib.h>
int common_used[4], common_dead[4];
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int dead(void) { return common_dead[0]; }
int main(void) {
  int x[3] = {3, 1, 2};
  qsort(x, 3, sizeof *x, compare);
  return printf("%d\n", x[0] + common_used[1]) < 0;
}
"""
CXX = r"""
#include <iostream>
#include <regex>
#include <thread>
int dead() { return std::regex_match("a", std::regex("b")); }
int main() {
  std::thread t([] { std::cout << std::regex_match("abc", std::regex("a.c")) << "\n"; });
  t.join();
  try { throw 1; } catch (int) {}
}
"""
LIBRARY = r"""
__attribute__((visibility("hidden"))) int hidden_dead() { return 1; }
__attribute__((visibility("hidden"))) int hidden_used() { return 2; }
int exported() { return hidden_used(); }
int local_by_script() { return 3; }
"""


def run(command, folder):
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"failed: {shlex.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def linker_arguments(folder, *arguments):
    shown = subprocess.run(["clang++-22", "-###", "-fuse-ld=lld", *map(str, arguments)], cwd=folder, capture_output=True,
                           text=True, check=True).stderr
    return shlex.split(shown.splitlines()[-1])[1:]


def compare(name, folder, arguments, subset=False):
    """`subset`: code that does not exist before LTO may refer to less than its bitcode does."""
    global failures
    pathlib.Path(folder, "arguments").write_text("\n".join(shlex.quote(a) for a in arguments))
    common = ["@arguments", "--gc-sections"]
    lld = run([LLD, *common, "--print-gc-sections"], folder).splitlines()
    prefix = "removing unused section "
    lld = {line[len(prefix):] for line in lld if line.startswith(prefix) and "lto." not in line}
    ours = {line for line in run([COPPICE, *common, "--dump-after=reach"], folder).splitlines()
            if "libcoppice.a(" not in line}
    size = max((f.stat().st_size for f in pathlib.Path(folder).glob("*.out")), default=0)
    wrong = ours - lld if subset else ours ^ lld
    more = f", {len(lld - ours)} of lld's not found" if subset else ""
    print(f"{name}: {len(ours)} dead sections, {len(wrong)} differ{more}; output {size:,} bytes")
    for line in sorted(wrong)[:10]:
        print(f"  {'coppice' if line in ours else 'lld'} alone says dead: {line}")
    failures += bool(wrong) or not ours


def members(name, folder, arguments):
    global failures
    pathlib.Path(folder, "arguments").write_text("\n".join(shlex.quote(a) for a in arguments))
    lld = {l for l in run([LLD, "@arguments", "--trace"], folder).splitlines() if l.endswith(")")}
    ours = {l for l in run([COPPICE, "@arguments", "--dump-after=symbols"], folder).splitlines()
            if l.endswith(")") and "libcoppice.a(" not in l}
    print(f"{name}: {len(ours)} members extracted, {len(ours ^ lld)} differ")
    failures += ours != lld


with tempfile.TemporaryDirectory() as folder:
    for file, text in {"c.c": C, "cxx.cpp": CXX, "lib.cpp": LIBRARY, "llvm.cpp": LLVM_PROGRAM, "mlir.cpp": MLIR_PROGRAM,
                       "v.map": "{ global: _Z*exported*; local: *; };\n"}.items():
        pathlib.Path(folder, file).write_text(text)
    run(["clang-22", "-ffunction-sections", "-fcommon", "-c", "c.c"], folder)
    run(["clang++-22", "-O1", "-ffunction-sections", "-c", "cxx.cpp"], folder)
    run(["clang++-22", "-O1", "-ffunction-sections", "-fPIC", "-c", "lib.cpp"], folder)
    run(["g++", "-O1", "-c", "llvm.cpp"], folder)
    run(["g++", "-O1", "-c", "mlir.cpp"], folder)
    out = ["-o", "a.out"]
    for kind in ["-static", "-static-pie", "-pie", "-no-pie"]:
        compare(f"C, {kind}", folder, linker_arguments(folder, kind, "c.o", *out))
        compare(f"C++, {kind}", folder, linker_arguments(folder, kind, "cxx.o", *out))
    compare("C++, --export-dynamic", folder, linker_arguments(folder, "cxx.o", "-Wl,--export-dynamic", *out))
    compare("C++, -z nostart-stop-gc", folder, linker_arguments(folder, "-static", "cxx.o", "-Wl,-z,nostart-stop-gc", *out))
    compare("C, --defsym and -u", folder,
            linker_arguments(folder, "-static", "c.o", "-Wl,--defsym=other=strtoul", "-Wl,-u,dead", *out))
    compare("C, --export-dynamic-symbol", folder, linker_arguments(folder, "c.o", "-Wl,--export-dynamic-symbol=dead", *out))
    compare("library, -shared", folder, linker_arguments(folder, "-shared", "lib.o", *out))
    compare("library, version script", folder, linker_arguments(folder, "-shared", "lib.o", "-Wl,--version-script=v.map", *out))

    link = run(["ninja", "-C", BUILD, "-t", "commands", "bin/coppice"], folder).splitlines()[-1]
    words = [w for w in shlex.split(link.split("&&")[1]) if w != "-fuse-ld=lld"]
    command = [*words[words[0].endswith("ccache"):], "-###", "-fuse-ld=lld"]
    shown = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=True).stderr.splitlines()
    collect = next((l for l in shown if l.split() and "collect2" in l.split()[0]), None)
    if not collect:
        print("coppice itself: skipped: this build tree is not g++'s")
    else:
        arguments, skip = [], False
        for word in shlex.split(collect)[1:]:
            if skip or word in ("-plugin",):
                skip = word == "-plugin"
                continue
            if not word.startswith("-plugin-opt=") and word != "-fuse-ld=lld":
                arguments.append(word)
        absolute = [str(BUILD / a) if not a.startswith("-") and (BUILD / a).exists() else a for a in arguments]
        absolute[absolute.index("-o") + 1] = "self.out"
        compare("coppice itself", folder, absolute)

    libraries = archives("LLVM")
    system = ["-lz", "-lzstd", "-lxml2", "-ldl", "-lpthread", "-lm"]
    group = ["-Wl,--start-group", *libraries, "-Wl,--end-group", *system]
    compare("LLVM's archives", folder, linker_arguments(folder, "llvm.o", "-Wl,-S", *group, "-o", "llvm.out"))
    group = ["-Wl,--start-group", *archives("MLIR"), *libraries, "-Wl,--end-group", *system]
    compare("MLIR's and LLVM's archives", folder, linker_arguments(folder, "mlir.o", "-Wl,-S", *group, "-o", "mlir.out"))

    for lto in ["-flto=thin", "-flto"]:
        run(["clang++-22", "-O1", "-ffunction-sections", lto, "-c", "cxx.cpp", "-o", "lto.o"], folder)
        arguments = linker_arguments(folder, "-static", lto, "lto.o", *out)
        members(f"C++, {lto}", folder, arguments)
        compare(f"C++, {lto}", folder, arguments, subset=True)
print(f"{failures} links differ")
sys.exit(1 if failures else 0)
