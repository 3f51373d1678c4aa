#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For each network of networks.py: a program whose link knows that network, and keeps nothing else, prints what the program
with all of ncnn prints, bit by bit.
usage: prove.py BUILD_DIR RUN_NETWORK.o NCNN_DIR [--every=N] [--each-type] [--only=TYPE] [--keep=DIR]
                [--variants=WHICH | --record]
       --every=N         only each Nth network
       --each-type       only the first network of each type of layer
       --only=TYPE       only the networks of this type of layer
       --keep=DIR        programs that print something else are left there
       --variants=WHICH  of ld.coppice, here for the program with all of ncnn too
       --record          instead of the network, the link knows what a run of it recorded"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import link
import networks

# What of ncnn 1.0.20261020 itself does not work: the values of these are not compared.
# bfloat16: these layers read memory that nobody wrote, or crash, where a group or an offset is not one of their fast cases.
UNSTABLE = {("bfloat16", kind) for kind in ("ConvolutionDepthWise", "DeconvolutionDepthWise", "DeformableConv2D", "Dequantize")}


def run(program, network, filling, **environment):
    """Lines by option. What comes out of memory that nobody wrote depends on FILLING."""
    done = subprocess.run([program, network], capture_output=True, check=False, timeout=60, text=True,
                          env=dict(os.environ, MALLOC_PERTURB_=str(filling), **environment))
    lines = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        option, _, text = line.partition(": ")
        lines[option].append(text)
    if done.returncode != 0:
        lines["exit"].append(f"status {done.returncode}: {done.stderr.strip()[-200:]}")
    return lines


class Proof:
    def __init__(self, arguments, work):
        self.arguments, self.work = arguments, work
        self.linker = link.Linker(arguments.build, arguments.ncnn)
        self.whole = work / "whole"
        if arguments.variants or arguments.record:
            everything = ["--no-gc-kernels"] if arguments.record else ["--gc-kernels=ncnn", "--keep-kernel=*", *arguments.variants]
            error = self.linker.link(arguments.object, self.whole, everything)
            if error:
                raise RuntimeError(error)
        else:
            self.linker.link_whole(arguments.object, self.whole)
        self.size = self.whole.stat().st_size

    def check(self, name, kind, text):
        """(what is wrong or None, options compared, options where ncnn itself fails, size)"""
        network, program = self.work / f"{name}.param", self.work / name
        network.write_text(text)
        record = self.work / f"{name}.record"
        expected, again = run(self.whole, network, 1), run(self.whole, network, 170, COPPICE_RECORD_KERNELS=str(record))
        compared, broken = [], []
        for option, lines in expected.items():
            if any(f"died with signal {int(signal.SIGILL)}" in line for line in lines):
                broken.append("the CPU lacks an instruction")
            elif (option, kind) in UNSTABLE and (lines != again[option] or "signal" in lines[-1]):
                broken.append(f"{option} is unstable")
            elif lines != again[option]:
                return f"without coppice the {option} result changes from run to run", 0, broken, 0
            elif not lines[-1].startswith("extract 0: "):
                return f"without coppice: {option}: {lines[-1]}", 0, broken, 0
            else:
                compared.append(option)
        wanted = [f"--keep-from={record}"] if self.arguments.record else [f"--graph={network}", *self.arguments.variants]
        error = self.linker.link(self.arguments.object, program, wanted)
        if error:
            return error, 0, broken, 0
        size = program.stat().st_size
        found = run(program, network, 1)
        wrong = [option for option in compared if found[option] != expected[option]]
        program_lines = "".join(f"\n    {option}: " + " / ".join(line[:100] for line in found[option][-2:]) for option in wrong)
        if wrong and self.arguments.keep:
            self.arguments.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(network, self.arguments.keep)
            shutil.copy(program, self.arguments.keep)
        program.unlink()
        network.unlink()
        record.unlink(missing_ok=True)
        if wrong:
            return "another result than the whole program:" + program_lines, len(compared), broken, size
        return None, len(compared), broken, size


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("object", type=pathlib.Path)
    parser.add_argument("ncnn", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--each-type", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--variants", type=lambda which: [f"--variants={which}"], default=[])
    arguments = parser.parse_args()
    reason = link.why_not(arguments.ncnn, arguments.object)
    if reason:
        print(f"skipped: {reason}")
        return 0

    chosen, types = [], collections.Counter()
    for number, (name, kind, text) in enumerate(networks.networks()):
        if number % arguments.every or (arguments.each_type and types[kind]) or arguments.only not in (None, kind):
            continue
        chosen.append((name, kind, text))
        types[kind] += 1
    failed, compared, broken, smallest, largest = [], 0, collections.Counter(), None, 0
    with tempfile.TemporaryDirectory() as directory:
        proof = Proof(arguments, pathlib.Path(directory))
        with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
            for (name, _, text), result in zip(chosen, pool.map(lambda row: proof.check(*row), chosen)):
                wrong, count, lacking, size = result
                compared += count
                broken.update(lacking)
                if wrong:
                    failed.append(name)
                    layer = text.splitlines()[-1]
                    print(f"ncnn_layers: {name}: {wrong}\n    {layer}", file=sys.stderr)
                else:
                    smallest = min(size, smallest or size)
                    largest = max(size, largest)
    for reason, count in sorted(broken.items()):
        print(f"ncnn_layers: {count} runs not compared: {reason}")
    for kind, reason in networks.NOT_ALONE.items():
        print(f"ncnn_layers: no network for {kind}: {reason}")
    print(f"ncnn_layers: {len(chosen) - len(failed)} of {len(chosen)} networks ({len(types)} types of layers, {compared} runs): "
          f"the same values as with all of ncnn; {smallest} to {largest} bytes instead of {proof.size}")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
