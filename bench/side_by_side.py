# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands measured in turn, and the table that is made of them. Method: docs/bench.md."""
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
CLANG, LLD = "clang++-22", "/usr/lib/llvm-22/bin/ld.lld"


class Table:
    def __init__(self, name, build):
        self.name, self.build, self.rows = name, pathlib.Path(build), []

    def row(self, what, ours, peer, unit, limit, allowed):
        """`limit` in words, `allowed` in numbers: what `ours` may at most be."""
        self.rows.append({"what": what, "ours": ours, "peer": peer, "unit": unit, "limit": limit,
                          "ratio": ours / peer if peer else None, "pass": None if allowed is None else bool(ours <= allowed)})

    def finish(self, check):
        """Prints, writes build/bench/NAME.json, and returns the exit status."""
        results = self.build / "bench"
        results.mkdir(exist_ok=True)
        file = results / f"{self.name}.json"
        file.write_text(json.dumps({"name": self.name, "processors": os.cpu_count(), "rows": self.rows}, indent=1) + "\n")

        def number(x, unit):
            return "" if x is None else f"{x:,.0f}" if unit == "bytes" else f"{x:,.1f}"

        width = max(len(r["what"]) for r in self.rows) + 1
        print(f"{'':{width}}{'ours':>12}{'peer':>12}       {'ratio':>6}  limit")
        for r in self.rows:
            ratio = "" if r["ratio"] is None else f"{r['ratio']:.2f}x"
            verdict = "" if r["pass"] is None else "pass" if r["pass"] else "FAIL"
            print(f"{r['what']:{width}}{number(r['ours'], r['unit']):>12}{number(r['peer'], r['unit']):>12} {r['unit']:6}"
                  f"{ratio:>6}  {r['limit']:16}{verdict}")
        print(f"written: {file}")
        return 1 if check and any(r["pass"] is False for r in self.rows) else 0


def runner(build):
    """The program that starts the commands, built anew."""
    results = pathlib.Path(build) / "bench"
    results.mkdir(exist_ok=True)
    program = results / "run_in_turn"
    subprocess.run([CLANG, "-O2", "-nostdlib++", REPOSITORY / "bench/run_in_turn.cpp", "-o", program], check=True)
    return program


def run_in_turn(program, rounds, **commands):
    """Medians of each command: wall and processor time in ms, peak memory in MiB."""
    arguments = [program, str(rounds)]
    for i, command in enumerate(commands.values()):
        arguments += ([":"] if i else []) + [str(c) for c in command]
    output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    runs = [[int(n) for n in line.split()] for line in output.splitlines()]
    medians = {}
    for i, name in enumerate(commands):
        own = [run for run in runs if run[0] == i]
        if wrong := [status for *_, status in own if status]:
            again = subprocess.run(commands[name], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            sys.exit(f"bench: {len(wrong)} of {len(own)} runs failed, wait status {wrong[0]}: "
                     f"{shlex.join(map(str, commands[name]))}\n{again.stderr}")
        wall, cpu, rss = (statistics.median(column) for column in list(zip(*own))[1:4])
        medians[name] = {"wall": wall / 1e3, "cpu": cpu / 1e3, "rss": rss / 1024}
    return medians


def link_command(*arguments):
    """What the compiler would call the linker with; the last line of -###."""
    shown = subprocess.run([CLANG, "-###", *map(str, arguments)], capture_output=True, text=True, check=True).stderr
    return shlex.split(shown.splitlines()[-1])
