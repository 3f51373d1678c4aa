#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel libraries of other frameworks, as they are: 3 kernels of 20 are named in a list, and the program does what it
does with all of them, for g++ and clang, without optimization and with. scripts/setup fetches the frameworks.
usage: registrations.py BUILD_DIR executorch|tvm-ffi|mojo"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
DATA = REPOSITORY / "build/data"
FRAMEWORK = sys.argv[2]
HERE = REPOSITORY / "tests/real" / FRAMEWORK
COMPILERS = {"g++": [f"-B{BUILD}/libexec/coppice", "-fuse-ld=lld"],
             "clang++-22": [f"--ld-path={BUILD}/bin/ld.coppice"]}
failures = []


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check(what, holds):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}")


def is_there(path, package):
    if not path.exists():
        print(f"skipped: {package} is not installed ({path}): run scripts/setup")
        sys.exit(0)
    return path


def kernels_in(program, pattern):
    """The functions of a program that are kernels; a dead one is filled with trap instructions."""
    names = set()
    code = run("objdump", "-d", "--no-show-raw-insn", "-C", program)
    for name, body in re.findall(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)+)", code, re.MULTILINE):
        found = re.fullmatch(pattern, name)
        instructions = [line.split("\t")[1].strip() for line in body.splitlines() if "\t" in line]
        if found and any(i != "int3" and "nop" not in i for i in instructions):
            names.add(found.group(1))
    return names


def compare(title, link, arguments, used, unused, pattern, kept, dropped_text):
    """link(output, *flags) links; the whole program and the shaken one are run with `used`, the second with `unused`."""
    link("whole", "-Wl,--gc-sections")
    warnings = link("shaken", f"-Wl,--keep-from={arguments}", "-Wl,--strip-why")
    run("strip", "-o", "whole.stripped", "whole")
    run("strip", "-o", "shaken.stripped", "shaken")
    before, after = (os.path.getsize(f"{p}.stripped") for p in ("whole", "shaken"))
    same = used("whole") == used("shaken")
    have = kernels_in("shaken", pattern)
    print(f"{title}: {before} -> {after} bytes, kernels left: {', '.join(sorted(have))}; "
          f"output {'the same' if same else 'DIFFERS'}")
    check(f"{title}: all ops are there: {warnings}", "COP404" not in warnings)
    check(f"{title}: the same output", same)
    check(f"{title}: kept are {kept}", have == kept)
    missing = unused("shaken")
    check(f"{title}: a dropped kernel says so: {missing}", dropped_text in missing)
    return before, after


def output(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def executorch():
    root = is_there(DATA / "executorch/executorch", "PyPI's executorch")
    include = [f"-I{root}/include", f"-I{root}/include/executorch/runtime/core/portable_type/c10",
               "-DC10_USING_CUSTOM_GENERATED_MACROS"]
    library = [f"{root}/lib/libexecutorch.so", f"-Wl,-rpath,{root}/lib"]
    ops = ["aten::add.out", "aten::relu.out", "aten::tanh.out"]
    pathlib.Path("ops").write_text("\n".join(ops) + "\n")
    for compiler, flags in COMPILERS.items():
        for level in ("-O0", "-O2"):
            for source in ("kernels", "registration", "main"):
                run(compiler, "-std=c++20", level, "-ffunction-sections", "-fdata-sections", *include, "-c",
                    HERE / f"{source}.cpp")
            pathlib.Path("libkernels.a").unlink(missing_ok=True)
            run("ar", "rcs", "libkernels.a", "kernels.o", "registration.o")

            def link(program, *options):
                return run(compiler, *flags, "main.o", "libkernels.a", *library, *options, "-o", program)

            before, after = compare(f"{compiler} {level}", link, "ops", lambda p: output(f"./{p}", *ops),
                                    lambda p: output(f"./{p}", "aten::mul.out"), r"native::(\w+)_out\(.*",
                                    {"add", "relu", "tanh"}, "--keep-kernel=aten::mul.out")
            check(f"{compiler} {level}: smaller", after < before)


def tvm_ffi():
    root = is_there(DATA / "tvm-ffi/tvm_ffi", "PyPI's apache-tvm-ffi")
    library = [f"{root}/lib/libtvm_ffi.so", f"-Wl,-rpath,{root}/lib"]
    compile_flags = ["-std=c++20", "-fPIC", "-ffunction-sections", "-fdata-sections", f"-I{root}/include"]
    run("g++", *compile_flags, HERE / "load_module.cpp", *library, "-o", "load_module")

    def load(module, *names):
        shutil.copy(module, "module.so")
        return output("./load_module", "./module.so", *names)

    pathlib.Path("exports").write_text("add\nhypot\ntanh\n")
    pathlib.Path("globals").write_text("my.sin\nmy.exp\nmy.floor\n")
    for compiler, flags in COMPILERS.items():
        for level in ("-O0", "-O2"):
            for source in ("exported", "registered", "main"):
                run(compiler, level, *compile_flags, "-c", HERE / f"{source}.cpp")

            # A module: what it exports is looked up by name.
            def link_module(module, *options):
                return run(compiler, *flags, "-shared", "exported.o", *library, *options, "-o", module)

            before, after = compare(f"module, {compiler} {level}", link_module, "exports",
                                    lambda m: load(m, "add", "hypot", "tanh"), lambda m: load(m, "mul"), r"__tvm_ffi_(\w+)",
                                    {"add", "hypot", "tanh"}, "mul: not found")
            check(f"module, {compiler} {level}: smaller", after < before)

            # A program: functions register themselves.
            def link(program, *options):
                return run(compiler, *flags, "main.o", "registered.o", *library, *options, "-o", program)

            used = ["my.sin", "my.exp", "my.floor", "my.packed", "my.lambda"]
            before, after = compare(f"program, {compiler} {level}", link, "globals", lambda p: output(f"./{p}", *used),
                                    lambda p: output(f"./{p}", "my.cos"), r"(?:\(anonymous namespace\)::)?(\w+)_kernel\(.*",
                                    {"sin", "exp", "floor", "packed"}, "--keep-kernel=my.cos")
            check(f"program, {compiler} {level}: smaller", after < before)


def mojo():
    root = is_there(DATA / "mojo", "PyPI's mojo-compiler")
    modular = next(root.glob("mojo_compiler-*.data/platlib/modular"))
    library = next(root.glob("mojo_compiler_mojo_libs-*.data/platlib/modular/lib/mojo"))
    environment = {**os.environ, "MODULAR_MOJO_MAX_PACKAGE_ROOT": str(modular),
                   "MODULAR_MOJO_MAX_IMPORT_PATH": str(library), "HOME": os.getcwd()}
    expressions = [f"{operation} {constant}" for operation in ("*", "+", "-", "/") for constant in (2, 3, 5, 7, 11)]
    template = (HERE / "kernels.mojo.in").read_text()
    pathlib.Path("kernels.mojo").write_text("\n".join(
        template.replace("@NAME@", f"op{i}").replace("@EXPRESSION@", e) for i, e in enumerate(expressions)))
    done = subprocess.run([modular / "bin/mojo", "build", "--emit", "object", "kernels.mojo", "-o", "kernels.o"],
                          env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print("skipped: the Mojo compiler does not run here: " + (done.stdout + done.stderr).strip().splitlines()[-1])
        sys.exit(0)
    check("a Mojo kernel needs nothing of others", " U " not in run("nm", "kernels.o"))
    run("ar", "rcs", "libkernels.a", "kernels.o")
    pathlib.Path("ops").write_text("op1\nop6\nop18\n")
    for compiler, flags in COMPILERS.items():
        cxx = [compiler, "-std=c++20", "-O2", "-ffunction-sections", "-fdata-sections",
               f"-I{REPOSITORY}/runtime-stub/include"]
        run(*cxx, "-c", HERE / "table.cpp")

        def link(program, *options):
            return run(compiler, *flags, "-static", "table.o", "libkernels.a", f"-Wl,--binding={HERE}/table.yaml",
                       *options, "-o", program)

        # The table is the only reference to a kernel; the archive has one member with all of them.
        before, after = compare(f"table, {compiler}", link, "ops", lambda p: output(f"./{p}", "op1", "op6", "op18"),
                                lambda p: output(f"./{p}", "op2"), r"mojo_(\w+)", {"op1", "op6", "op18"},
                                "op2: not found")
        check(f"table, {compiler}: not larger", after <= before)

        # A graph as a static program, by kernels that call Mojo's.
        run(*cxx, *flags, "-static", HERE / "graph.cpp", "libkernels.a", "-o", "graph")
        check("the graph's result", output("./graph") == "12 18\n")
    check("a static program", "INTERP" not in run("readelf", "-lW", "graph"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        {"executorch": executorch, "tvm-ffi": tvm_ffi, "mojo": mojo}[FRAMEWORK]()
        os.chdir(REPOSITORY)
    sys.exit(1 if failures else 0)


main()
