#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/magika against the project that its model comes from: the labels of several hundred files against its own
command, the scores of the network against onnxruntime, and the sizes of the programs against their limits.
usage: magika_test.py [BUILD_DIR]     COPPICE_MAGIKA_DIR: the unpacked wheel; COPPICE_VENV: where onnxruntime is installed"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else REPOSITORY / "build").resolve()
WHEEL = pathlib.Path(os.environ.get("COPPICE_MAGIKA_DIR", REPOSITORY / "build/data/magika"))
VENV = pathlib.Path(os.environ.get("COPPICE_VENV", REPOSITORY / "build/venv"))
try:
    import numpy
    import onnxruntime
except ImportError:  # run again by the Python that has them
    python = VENV / "bin/python"
    if not python.exists() or pathlib.Path(sys.prefix) == VENV:
        sys.exit(f"magika_test.py: no onnxruntime in {VENV}: run scripts/setup, or set COPPICE_VENV")
    os.execv(python, [str(python), __file__, str(BUILD), *sys.argv[1:]])

import magika_corpus  # noqa: E402

MODEL = WHEEL / "magika/models/standard_v3_3/model.onnx"
PEER = next(iter(WHEEL.glob("magika-*.data/scripts/magika")), None)
PROGRAMS = {"magika": BUILD / "examples/magika/magika", "magika-static": BUILD / "examples/magika/magika-static"}
SCORES = BUILD / "tests/real/magika_scores"
# Bytes of a stripped program over those of the model (vector_add has none).
LIMITS = {"magika": 200_000, "magika-static": 950_000, "vector_add": 40_000}
FEWEST_FILES = 300
LARGEST_DIFFERENCE = 1e-5


def lines(program, *arguments, **options):
    done = subprocess.run([program, *arguments], capture_output=True, check=False, **options)
    return done.stdout.decode(errors="replace").splitlines(), done.returncode


def tokens(data):
    """The network's input for a file with these bytes, written down a second time from the model's documentation; None
    when the network is not asked."""
    white, part = b"\t\n\v\f\r ", 1024
    first, last = data[:4096].lstrip(white), data[-4096:].rstrip(white)
    if len(first) < 8:
        return None
    row = numpy.full(2 * part, 256, dtype=numpy.int32)
    head, tail = first[:part], last[-part:]
    row[:len(head)] = list(head)
    row[2 * part - len(tail):] = list(tail)
    return row


def cpu_levels():
    """The x86-64 levels that this machine has."""
    flags = set(re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M).group(1).split())
    needs = {2: {"sse4_2", "popcnt"}, 3: {"avx2", "fma", "bmi2"}, 4: {"avx512f", "avx512vl", "avx512bw", "avx512dq"}}
    levels = [1]
    for level, need in needs.items():
        if need <= flags:
            levels.append(level)
    return levels


class Magika(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for needed in [PEER, MODEL, SCORES, *PROGRAMS.values()]:
            if not needed or not needed.exists():
                raise FileNotFoundError(f"{needed or WHEEL / 'magika-*.data/scripts/magika'} is missing: run scripts/setup, then build")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.files = magika_corpus.real_files(REPOSITORY) + magika_corpus.made_files(folder.name)

    def test_corpus_has_many_files_of_many_types(self):
        labels = {line[len(path) + 2:].split(" ")[0] for path, line in zip(self.files, lines(PEER, "-l", *self.files)[0])}
        print(f"{len(self.files)} files, {len(labels)} labels")
        self.assertGreaterEqual(len(self.files), FEWEST_FILES)
        self.assertGreaterEqual(len(labels), 40)

    def test_labels_are_those_of_the_peer(self):
        for form in (["-l"], []):
            expected, _ = lines(PEER, *form, *self.files)
            for name, program in PROGRAMS.items():
                got, status = lines(program, *form, *self.files)
                self.assertEqual(status, 0)
                self.assertEqual(len(got), len(expected))
                # Three decimals of a score may differ in the last.
                score = re.compile(r", score=([\d.]+)\]$")
                differing = [f"{g}  |  peer: {e}" for g, e in zip(got, expected) if score.sub("", g) != score.sub("", e)]
                if differing:
                    self.fail(f"{name} {' '.join(form)}: {len(differing)} of {len(got)}, the first:\n" + "\n".join(differing[:20]))
                for g, e in zip(got, expected):
                    if score.search(g):
                        self.assertAlmostEqual(float(score.search(g)[1]), float(score.search(e)[1]), delta=0.0011, msg=g)

    def test_one_file_a_run_gives_the_same(self):
        sample = self.files[::25]
        together, _ = lines(PROGRAMS["magika"], "-l", *sample)
        self.assertEqual(together, [line for path in sample for line in lines(PROGRAMS["magika"], "-l", path)[0]])

    def test_what_is_not_a_regular_file(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(__file__, f"{folder}/link")
            os.symlink("nowhere", f"{folder}/dangling")
            os.mkdir(f"{folder}/dir")
            os.symlink("dir", f"{folder}/link-to-dir")
            paths = [f"{folder}/{name}" for name in ("link", "dangling", "dir", "link-to-dir", "missing")] + [
                folder, "/dev/null", "/proc/cpuinfo", "/dev/zero", f"{__file__}/below", __file__]
            for form in (["-l"], []):
                for chosen in (paths, paths[:1], ["/dev/null", folder]):
                    self.assertEqual(lines(PROGRAMS["magika"], *form, *chosen), lines(PEER, *form, *chosen))

    def test_standard_input(self):
        for path in self.files[::20] + [f for f in self.files if "/code-" in f]:
            data = pathlib.Path(path).read_bytes()[:200_000]
            self.assertEqual(lines(PROGRAMS["magika"], "-l", "-", input=data), lines(PEER, "-l", "-", input=data), path)

    def test_a_missing_file_has_a_message(self):
        done = subprocess.run([PROGRAMS["magika"], "-l", "/no/such/file"], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "magika: /no/such/file: No such file or directory\n")
        self.assertEqual(done.returncode, 1)

    def test_scores_are_those_of_onnxruntime(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
        rows = [(path, row) for path in self.files if (row := tokens(pathlib.Path(path).read_bytes())) is not None]
        expected = numpy.concatenate([session.run(None, {"bytes": row[None]})[0] for _, row in rows])
        data = numpy.stack([row for _, row in rows]).tobytes()
        print(f"{len(rows)} inputs; largest difference to onnxruntime {onnxruntime.__version__}, limit {LARGEST_DIFFERENCE:g}:")
        for level in cpu_levels():
            for batch in (1, 4) if level == cpu_levels()[-1] else (1,):
                done = subprocess.run([SCORES, str(batch)], input=data, capture_output=True, check=True,
                                      env={**os.environ, "COPPICE_CPU_LEVEL": str(level)})
                scores = numpy.frombuffer(done.stdout, dtype=numpy.float32).reshape(expected.shape)
                worst = numpy.abs(scores - expected).max(axis=1)
                print(f"  x86-64 level {level}, {batch} a run: {worst.max():.1e} ({rows[worst.argmax()][0]})")
                with self.subTest(level=level, batch=batch):
                    self.assertLessEqual(worst.max(), LARGEST_DIFFERENCE, f"{(worst > LARGEST_DIFFERENCE).sum()} files, "
                                         f"the worst {rows[worst.argmax()][0]}")
                    self.assertTrue((scores.argmax(axis=1) == expected.argmax(axis=1)).all())

    def test_sizes(self):
        model = MODEL.stat().st_size
        print(f"{'stripped':16}{'bytes':>12}{'over model':>12}{'limit':>10}")
        for name, limit in LIMITS.items():
            program = PROGRAMS.get(name, BUILD / "examples/vector_add/vector_add")
            with tempfile.NamedTemporaryFile() as copy:
                subprocess.run(["strip", "-o", copy.name, program], check=True)
                size = os.stat(copy.name).st_size
            over = size - (model if name in PROGRAMS else 0)
            print(f"{name:16}{size:12,}{over:12,}{limit:10,}")
            with self.subTest(program=name):
                self.assertLessEqual(over, limit)


if __name__ == "__main__":
    unittest.main(verbosity=2)
