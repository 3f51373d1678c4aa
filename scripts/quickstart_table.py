#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table at the end of scripts/quickstart: the examples beside the program that does magika's job with ONNX Runtime
inside. `scripts/bench magika` measures more, and longer. usage: quickstart_table.py BUILD_DIR"""
import pathlib
import statistics
import subprocess
import sys
import tempfile

repository = pathlib.Path(__file__).resolve().parents[1]
build = pathlib.Path(sys.argv[1]).resolve()
wheel = build / "data/magika"
model = wheel / "magika/models/standard_v3_3/model.onnx"
peer = next(wheel.glob("magika-*.data/scripts/magika"))
programs = {"peer": peer, **{name: build / "examples/magika" / name for name in ("magika", "magika-static")}}


def stripped_size(program, folder):
    subprocess.run(["strip", "-o", folder / "stripped", program], check=True)
    return (folder / "stripped").stat().st_size


def medians(runner, rounds, files):
    """Wall time in ms and peak memory in MB of each program, run in turn."""
    command = [runner, str(rounds)]
    for i, program in enumerate(programs.values()):
        command += ([":"] if i else []) + [program, "-l", *files]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    runs = [list(map(int, line.split())) for line in lines]
    return {name: (statistics.median(r[1] for r in runs if r[0] == i) / 1e3, statistics.median(r[3] for r in runs if r[0] == i) / 1e3)
            for i, name in enumerate(programs)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        runner = folder / "run_in_turn"
        subprocess.run(["clang++-22", "-O2", "-nostdlib++", repository / "bench/run_in_turn.cpp", "-o", runner], check=True)
        one = medians(runner, 15, [repository / "README.md"])
        print(f"{'':36}{'peer':>14}{'magika':>14}{'magika-static':>15}")
        sizes = {name: stripped_size(program, folder) for name, program in programs.items()}
        print(f"{'size, stripped (bytes)':36}{sizes['peer']:14,}{sizes['magika']:14,}{sizes['magika-static']:15,}")
        print(f"{'  without the model':36}{'':14}{sizes['magika'] - model.stat().st_size:14,}{sizes['magika-static'] - model.stat().st_size:15,}")
        for what, column in (("one file, whole process (ms)", 0), ("  peak memory (MB)", 1)):
            print(f"{what:36}{one['peer'][column]:14.1f}{one['magika'][column]:14.1f}{one['magika-static'][column]:15.1f}")
        vector_add = stripped_size(build / "examples/vector_add/vector_add", folder)
        print(f"\nvector_add, stripped: {vector_add:,} bytes. The model: {model.stat().st_size:,} bytes. The peer: {peer.name} of PyPI's magika 1.0.3.")


main()
