#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What finding out what is reachable costs a link, beside ld.lld on the same inputs.
usage: reach.py [--check] [BUILD_DIR]     Method: docs/bench.md"""
import pathlib
import subprocess
import sys
import tempfile

from side_by_side import CLANG, LLD, REPOSITORY, Table, link_command, run_in_turn, runner

sys.path.insert(0, str(REPOSITORY / "tests/real"))
from large_programs import LLVM_PROGRAM, MLIR_PROGRAM, archives  # noqa: E402

CHECK = "--check" in sys.argv
BUILD = pathlib.Path(next((a for a in sys.argv[1:] if a != "--check"), REPOSITORY / "build")).resolve()
COPPICE = BUILD / "bin/ld.coppice"
SYSTEM = ["-lz", "-lzstd", "-lxml2", "-ldl", "-lpthread", "-lm"]


def large_link(table, run, folder, name, text, libraries):
    (folder / f"{name}.cpp").write_text(text)
    subprocess.run([CLANG, "-c", f"{name}.cpp"], cwd=folder, check=True)
    command = link_command("-fuse-ld=lld", folder / f"{name}.o", "-Wl,-S", "-Wl,--gc-sections", "-Wl,--start-group", *libraries,
                           "-Wl,--end-group", *SYSTEM, "-o", folder / "out")[1:]
    arguments = folder / f"{name}.args"
    arguments.write_text("\n".join(command))
    t = run_in_turn(run, 7, ours=[COPPICE, f"@{arguments}", "--gc-kernels=ncnn"], lld=[LLD, f"@{arguments}"])
    size = (folder / "out").stat().st_size
    table.row(f"{name}, {size / 1e6:.0f} MB", t["ours"]["wall"], t["lld"]["wall"], "ms", "1.3x, goal 1.1x", 1.3 * t["lld"]["wall"])


def registry(folder, kernels):
    """An archive with that many kernels of about 1.4 KB, each a function of its own section, and a table of them all."""
    folder.mkdir()
    each, objects = 1000, []
    for part in range(kernels // each):
        source = folder / f"part{part}.s"
        with source.open("w") as out:
            for i in range(part * each, (part + 1) * each):
                out.write(f'.section .text.kernel_{i},"ax"\n.globl kernel_{i}\n.type kernel_{i},@function\nkernel_{i}:\n'
                          f"call shared_{i % 7}\nlea text_{i}(%rip), %rax\n.fill 1380,1,0x90\nret\n.size kernel_{i},.-kernel_{i}\n"
                          f'.section .rodata.text_{i},"a"\ntext_{i}: .asciz "text {i}"\n')
        objects.append(source.with_suffix(".o"))
        subprocess.run([CLANG, "-c", source, "-o", objects[-1]], check=True)
    table = folder / "table.s"
    with table.open("w") as out:
        for i in range(7):
            out.write(f'.section .text.shared_{i},"ax"\n.globl shared_{i}\nshared_{i}: ret\n')
        out.write('.section .data.rel.ro.registry,"aw"\n.globl registry\n.type registry,@object\nregistry:\n')
        out.writelines(f".quad kernel_{i}\n" for i in range(kernels))
        out.write(".size registry,.-registry\n")
    subprocess.run([CLANG, "-c", table, "-o", folder / "table.o"], check=True)
    library = folder / "libkernels.a"
    subprocess.run(["llvm-ar-22", "rcs", library, *objects, folder / "table.o"], check=True)
    for source in folder.glob("part*"):
        source.unlink()
    (folder / "main.cpp").write_text("extern void *registry[];\nint main(int c, char **) { return registry[c] == nullptr; }\n")
    subprocess.run([CLANG, "-c", folder / "main.cpp", "-o", folder / "main.o"], check=True)
    (folder / "binding.yaml").write_text('name: bench\ngraphs: [op-list]\nedges:\n'
                                         '  - {from: registry, to: "kernel_{op}", dropped: "null"}\n')
    (folder / "half").write_text("".join(f"{i}\n" for i in range(0, kernels, 2)))
    plain = link_command("-fuse-ld=lld", folder / "main.o", library, "-Wl,--gc-sections", "-o", folder / "out")[1:]
    (folder / "args").write_text("\n".join(plain))
    return [COPPICE, f"@{folder / 'args'}", f"--binding={folder / 'binding.yaml'}", f"--keep-from={folder / 'half'}"], \
        [LLD, f"@{folder / 'args'}"]


def main():
    table, run = Table("reach", BUILD), runner(BUILD)
    # In memory, where there is such a place: how fast a disk takes outputs of hundreds of megabytes is not the question.
    memory = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = pathlib.Path(name)
        large_link(table, run, folder, "LLVM", LLVM_PROGRAM, archives("LLVM"))
        large_link(table, run, folder, "MLIR", MLIR_PROGRAM, [*archives("MLIR"), *archives("LLVM")])
        times = {}
        for kernels in (10_000, 100_000):
            ours, lld = registry(folder / str(kernels), kernels)
            t = run_in_turn(run, 9 if kernels < 50_000 else 7, ours=ours, lld=lld)
            times[kernels] = t["ours"]["wall"]
            table.row(f"{kernels:,} kernels, half dropped", t["ours"]["wall"], t["lld"]["wall"], "ms", "1x", t["lld"]["wall"])
        table.row("100,000 kernels beside 10,000", times[100_000], times[10_000], "ms", "11x", 11 * times[10_000])
    return table.finish(CHECK)


if __name__ == "__main__":
    sys.exit(main())
