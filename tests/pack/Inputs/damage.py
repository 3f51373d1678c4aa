# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes one byte of a packed executable's payload at a time, at places all over it. usage: damage.py PROGRAM"""
import os
import struct
import subprocess
import sys

original = open(sys.argv[1], "rb").read()
start = next(at for at in range(0, len(original), 4096) if original.startswith(b"COPPACK1", at))
mapped = struct.unpack_from("<Q", original, start + 16)[0]
places = list(range(start, start + 120, 3)) + list(range(start + 120, start + mapped, mapped // 60)) + [start + mapped - 1]
bad = 0
for place in places:
    changed = bytearray(original)
    changed[place] ^= 1 << place % 8
    with open("changed", "wb") as file:
        file.write(changed)
    os.chmod("changed", 0o755)
    run = subprocess.run(["./changed", "one"], capture_output=True, text=True)
    unpack = subprocess.run(["coppice", "unpack", "changed", "-o", "unpacked"], capture_output=True, text=True)
    found = run.returncode == 127 and not run.stdout and run.stderr.startswith("./changed: cannot start the packed executable: ")
    if not found or unpack.returncode != 1 or not unpack.stderr.startswith("coppice: cannot unpack"):
        print(f"byte {place - start} of the payload: status {run.returncode}, {run.stderr!r}; unpack: {unpack.stderr!r}")
        bad += 1
if not bad:
    print(f"all {len(places)} changes are found")
