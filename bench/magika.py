#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/magika beside the command of the project that its model comes from, which has ONNX Runtime inside; and the time
of Coppice's links beside ld.lld's. usage: magika.py [--check] [BUILD_DIR]     Method: docs/bench.md"""
import os
import pathlib
import subprocess
import sys
import tempfile

from side_by_side import CLANG, LLD, REPOSITORY, Table, link_command, run_in_turn, runner

sys.path.insert(0, str(REPOSITORY / "tests/real"))
import magika_corpus  # noqa: E402

CHECK = "--check" in sys.argv
BUILD = pathlib.Path(next((a for a in sys.argv[1:] if a != "--check"), REPOSITORY / "build")).resolve()
WHEEL = pathlib.Path(os.environ.get("COPPICE_MAGIKA_DIR", REPOSITORY / "build/data/magika"))
MODEL = WHEEL / "magika/models/standard_v3_3/model.onnx"
TABLE = Table("magika", BUILD)
row = TABLE.row


def stripped(program, folder):
    copy = pathlib.Path(folder) / "stripped"
    subprocess.run(["strip", "-o", copy, program], check=True)
    return copy.stat().st_size


def bench_runs(run, peer):
    program, static = BUILD / "examples/magika/magika", BUILD / "examples/magika/magika-static"
    one = REPOSITORY / "examples/magika/magika.cpp"
    hundred = magika_corpus.real_files(REPOSITORY)[:100]

    def level(n):
        return ["env", f"COPPICE_CPU_LEVEL={n}", program, "-l", one]

    t = run_in_turn(run, 31, peer=[peer, "-l", one], ours=[program, "-l", one], static=[static, "-l", one],
                    v3=level(3), v1=level(1))
    p = t["peer"]
    row("one file, time", t["ours"]["wall"], p["wall"], "ms", "0.3x", 0.3 * p["wall"])
    row("one file, time, static", t["static"]["wall"], p["wall"], "ms", "0.3x", 0.3 * p["wall"])
    row("one file, time, AVX2 kernels", t["v3"]["wall"], p["wall"], "ms", "0.3x", 0.3 * p["wall"])
    row("one file, time, SSE2 kernels", t["v1"]["wall"], p["wall"], "ms", "", None)
    row("one file, processor time", t["ours"]["cpu"], p["cpu"], "ms", "", None)
    row("one file, peak memory", t["ours"]["rss"], p["rss"], "MiB", "0.3x", 0.3 * p["rss"])
    row("one file, peak memory, static", t["static"]["rss"], p["rss"], "MiB", "0.3x", 0.3 * p["rss"])
    t = run_in_turn(run, 11, peer=[peer, "-l", *hundred], ours=[program, "-l", *hundred], static=[static, "-l", *hundred],
                    v3=["env", "COPPICE_CPU_LEVEL=3", program, "-l", *hundred])
    p = t["peer"]
    row("100 files, time", t["ours"]["wall"], p["wall"], "ms", "1x", p["wall"])
    row("100 files, time, static", t["static"]["wall"], p["wall"], "ms", "1x", p["wall"])
    row("100 files, time, AVX2 kernels", t["v3"]["wall"], p["wall"], "ms", "", None)
    row("100 files, processor time", t["ours"]["cpu"], p["cpu"], "ms", "", None)
    row("100 files, peak memory", t["ours"]["rss"], p["rss"], "MiB", "", None)


def bench_sizes(peer, folder):
    model, peer_size = MODEL.stat().st_size, stripped(peer, folder)
    for name, program, base, limit in [("magika", "magika/magika", model, 200_000), ("magika-static", "magika/magika-static", model, 950_000),
                                       ("vector_add", "vector_add/vector_add", 0, 40_000)]:
        size = stripped(BUILD / "examples" / program, folder)
        row(f"{name}, stripped", size, peer_size if base else None, "bytes", f"{'model + ' if base else ''}{limit // 1000} KB", base + limit)


def plan_object(program, name, weights, folder):
    """An object with what the one that ld.coppice makes has that costs a linker time: the weights, and references to the kernels."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.split()
    kernels = sorted({s for s in symbols if s.startswith("coppice.kernel.")})
    plan = f"coppice.plan.{name}.needs_fuse_ld_coppice"
    source = folder / f"plan-{name}.s"
    source.write_text(f'.section .data.rel.ro.plan,"aw"\n.globl "{plan}"\n.hidden "{plan}"\n"{plan}":\n'
                      + "".join(f'.hidden "{k}"\n.quad "{k}"\n' for k in kernels)
                      + (f'.section .rodata.weights,"a"\nweights: .incbin "{weights}"\n.section .data.rel.ro.plan\n.quad weights\n' if weights else ""))
    subprocess.run([CLANG, "-c", source, "-o", source.with_suffix(".o")], check=True)
    return source.with_suffix(".o")


def bench_links(run, folder):
    coppice = BUILD / "bin/ld.coppice"
    folder = pathlib.Path(folder)
    examples = REPOSITORY / "examples"

    def compiled(*sources, options=()):
        objects = []
        for source in sources:
            objects.append(folder / (source.stem + ".o"))
            subprocess.run([CLANG, "-std=c++20", "-O2", "-ffunction-sections", "-fdata-sections", "-c", source, "-o", objects[-1],
                            f"-I{REPOSITORY}/runtime-stub/include", *options], check=True)
        return objects

    (folder / "hello.cpp").write_text('#include <iostream>\nint main() { std::cout << "hello\\n"; }\n')
    hello = compiled(folder / "hello.cpp")
    plain = ["-fno-exceptions", "-fno-rtti", f"-I{BUILD}/examples/magika"]
    add3 = compiled(examples / "vector_add/demo.cpp", options=plain)
    magika = compiled(*(examples / "magika" / f"{n}.cpp" for n in ("magika", "content", "labels")), options=plain)
    graph = [f"-Wl,--graph=magika={MODEL}", "-lcoppice_onnx"]
    add3_plan = [plan_object(BUILD / "examples/vector_add/vector_add", "add3", None, folder), "-lcoppice"]
    magika_plan = [plan_object(BUILD / "examples/magika/magika", "magika", MODEL, folder), "-lcoppice_onnx", "-lcoppice"]
    small = ["-nostdlib++", "-Wl,--as-needed"]
    for what, arguments, for_ours, for_lld, extra in [
            ("link of vector_add", [*add3, *small], [], add3_plan, 60),
            ("link of magika", [*magika, *small], graph, magika_plan, 60),
            ("link of magika-static", [*magika, *small, "-static"], graph, magika_plan, 60),
            ("link without a graph", hello, [], [], 10),
            ("link without a graph, static", [*hello, "-static"], [], [], 10)]:
        options = ["-fuse-ld=lld", f"-L{BUILD}/lib", "-Wl,--gc-sections", "-o", folder / "program"]
        ours = [coppice, *link_command(*arguments, *for_ours, *options)[1:]]
        theirs = [LLD, *link_command(*arguments, *for_lld, *options)[1:]]
        t = run_in_turn(run, 21, ours=ours, lld=theirs)
        row(what, t["ours"]["wall"], t["lld"]["wall"], "ms", f"ld.lld + {extra} ms", t["lld"]["wall"] + extra)


def main():
    peer = next(iter(WHEEL.glob("magika-*.data/scripts/magika")), None)
    if not peer:
        sys.exit(f"bench: {WHEEL} has no magika-*.data/scripts/magika: run scripts/setup")
    run = runner(BUILD)
    with tempfile.TemporaryDirectory() as folder:
        bench_runs(run, peer)
        bench_sizes(peer, folder)
        bench_links(run, folder)
    return TABLE.finish(CHECK)


if __name__ == "__main__":
    sys.exit(main())
