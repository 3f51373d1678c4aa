#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with ncnn as its own CMake builds it, with the kernels that their networks need: they print what they print with
all of ncnn, and are as small as the limits here say.
usage: ncnn_test.py BUILD_DIR OBJECTS_DIR NCNN_DIR"""
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import link
import networks

HERE = pathlib.Path(__file__).resolve().parent
# What runs, and what a rebuild of ncnn with fewer layers was measured with.
RUNS = "Input Convolution ReLU Softmax Split Padding Flatten Packing Cast".split()
EIGHTEEN = [*RUNS, *"InnerProduct Clip Sigmoid Mish HardSwish BinaryOp Pooling Concat Reshape".split()]
# Bytes of the stripped program.
LIMITS = {"18 layers": 2_920_000, "what runs": 2_110_000, "what runs, generic": 360_000}
LARGEST_DIFFERENCE = 1e-4


def lines(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, check=False, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Ncnn(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)
        self.linker = link.Linker(BUILD, NCNN)

    def link(self, name, *arguments, how="program"):
        output = self.work / f"{name}-{how.replace(' ', '-')}"
        start = time.monotonic()
        error = self.linker.link(OBJECTS[name], output, arguments)
        self.assertIsNone(error, f"{name}: {how}")
        self.row(f"{name}, {how}", output, start)
        return output

    def link_whole(self, name):
        output = self.work / f"{name}-whole"
        start = time.monotonic()
        self.linker.link_whole(OBJECTS[name], output)
        self.row(f"{name}, ld.lld", output, start)
        return output

    @staticmethod
    def row(what, program, start):
        print(f"ncnn: {what}: {program.stat().st_size:,} bytes, {(time.monotonic() - start) * 1000:.0f} ms", flush=True)

    def keep_list(self, name, kernels):
        path = self.work / f"{name}.kernels"
        path.write_text("# coppice kernels\n" + "".join(f"ncnn:{kernel}\n" for kernel in kernels))
        return f"--keep-from={path}"

    def test_small_network(self):
        network = HERE / "small.param"
        expected = lines(self.link_whole("small"), network)
        self.assertEqual(expected[:2], (0, "rc 0 0 14x14x8 0.125000\n"))
        programs = {
            "18 layers": [self.keep_list("18", EIGHTEEN)],
            "what runs": [self.keep_list("runs", RUNS)],
            "what runs, generic": [self.keep_list("runs", RUNS), "--variants=generic"],
        }
        for what, arguments in programs.items():
            with self.subTest(what):
                program = self.link("small", *arguments, how=what)
                found = lines(program, network)
                if "generic" in what:
                    self.assertEqual(found[0], 0)
                    self.assertEqual(found[1].split()[:-1], expected[1].split()[:-1])
                    self.assertAlmostEqual(float(found[1].split()[-1]), float(expected[1].split()[-1]), delta=LARGEST_DIFFERENCE)
                else:
                    self.assertEqual(found, expected)
                if what in LIMITS:
                    self.assertLessEqual(program.stat().st_size, LIMITS[what])

    def test_whole_archive(self):
        network = HERE / "small.param"
        keep = self.keep_list("runs", RUNS)
        program = self.link("small", keep, how="what runs")
        output = self.work / "whole-archive"
        words = self.linker.words
        self.linker.words = [part for word in words
                             for part in (["--whole-archive", word, "--no-whole-archive"] if word == self.linker.library else [word])]
        error = self.linker.link(OBJECTS["small"], output, [keep])
        self.linker.words = words
        self.assertIsNone(error)
        self.assertEqual(lines(output, network)[:2], (0, "rc 0 0 14x14x8 0.125000\n"))
        self.assertLess(output.stat().st_size, program.stat().st_size + 20_000)

    def test_layer_that_was_dropped(self):
        program = self.link("run_network", f"--graph={HERE / 'small.param'}", how="small.param")
        other = self.work / "other.param"
        other.write_text(next(text for _, kind, text in networks.networks() if kind == "Pooling"))
        _, out, err = lines(program, other)
        self.assertIn("plain: load_param -1\n", out)
        self.assertIn("layer Pooling not exists or registered", err)

    def test_program_without_a_network(self):
        whole = self.link_whole("small")
        program = self.link("small", how="no flags")
        self.assertEqual(program.read_bytes(), whole.read_bytes())


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    BUILD, objects, NCNN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    del sys.argv[1:4]
    OBJECTS = {name: objects / f"{name}.o" for name in ("small", "run_network")}
    reason = link.why_not(NCNN, *OBJECTS.values())
    if not reason and subprocess.run(["grep", "-qw", "avx512f", "/proc/cpuinfo"], check=False).returncode != 0:
        reason = "this build of ncnn needs AVX-512, which the CPU does not have"
    if reason:
        print(f"ncnn: skipped ({reason})")
        sys.exit(0)
    unittest.main()
