# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links programs with ncnn, as g++ does, by ld.lld and by ld.coppice."""
import os
import pathlib
import shlex
import subprocess

LLD = "/usr/lib/llvm-22/bin/ld.lld"


def why_not(ncnn, *objects):
    """Why there is nothing to link, or None."""
    if not (ncnn / "lib/libncnn.a").exists():
        return f"there is no {ncnn}/lib/libncnn.a: scripts/setup builds it"
    missing = [str(path) for path in objects if not path.exists()]
    if missing:
        return f"not built: {', '.join(missing)}; configure again now that ncnn is there"
    return None


class Linker:
    """Stripped programs; --gc-sections always."""

    def __init__(self, build, ncnn):
        self.coppice = str(build / "bin/ld.coppice")
        self.library = str(ncnn / "lib/libncnn.a")
        self.environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")  # lld frees nothing
        # The driver's command for the linker, once: a link takes less time than the driver.
        done = subprocess.run(["g++", "-###", "-s", "-Wl,--gc-sections", "OBJECT", self.library, "-o", "OUTPUT"],
                              capture_output=True, text=True, check=True)
        command = shlex.split(next(line for line in done.stderr.splitlines() if line.startswith(" ") and "collect2 " in line))
        plugins = [at for at, word in enumerate(command) if word.startswith("-plugin") or word == "-plugin"]
        skip = set(plugins) | {at + 1 for at in plugins if command[at] == "-plugin"}
        self.words = [word for at, word in enumerate(command) if at and at not in skip]

    def _run(self, linker, object_file, output, extra):
        words = [str(object_file) if w == "OBJECT" else str(output) if w == "OUTPUT" else w for w in self.words]
        done = subprocess.run([linker, *words, *extra], capture_output=True, text=True, check=False, env=self.environment)
        self.messages = done.stderr
        return None if done.returncode == 0 else (done.stderr.strip() or f"{linker}: status {done.returncode}")

    def link(self, object_file, output, extra=()):
        """By ld.coppice; what is wrong, or None."""
        return self._run(self.coppice, object_file, output, extra)

    def link_whole(self, object_file, output):
        """By ld.lld, which knows nothing of kernels."""
        error = self._run(LLD, object_file, output, [])
        if error:
            raise RuntimeError(error)
