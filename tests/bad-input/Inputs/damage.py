#!/usr/bin/env python3
"""Links with a damaged copy of a file, once for each kind of damage, and checks that each link ends well: with exit status 1,
a message that names the file, and without an output; never with a crash.

usage: damage.py [--may-link] [--flips N] [--lengths N] GOOD DAMAGED -- COMMAND...
  COMMAND reads the file DAMAGED and writes the file "out". It must succeed with GOOD in its place.
  --lengths N   how many lengths to cut the file to, besides the first ones (default 40)
  --flips N     also change N single bytes; then the link may also succeed, or find fault with what the file says
  --may-link    what is left of the file may make sense
"""
import argparse
import os
import random
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--may-link", action="store_true")
parser.add_argument("--flips", type=int, default=0)
parser.add_argument("--lengths", type=int, default=40)
parser.add_argument("good")
parser.add_argument("damaged")
parser.add_argument("command", nargs="+")
arguments = parser.parse_args()
good = open(arguments.good, "rb").read()


def damages():
    """What is wrong, the bytes, whether the link may succeed, and whether the file must be named if it does not."""
    may_link = arguments.may_link
    yield "empty", b"", may_link, True
    yield "one zero byte", b"\0", may_link, True
    for length in [4, 7, 16, 52, 63, 64]:
        if length < len(good):
            yield f"{length} bytes of it", good[:length], may_link, True
    for i in range(arguments.lengths):
        length = len(good) * i // arguments.lengths
        if length > 64:
            yield f"{length} bytes of it", good[:length], may_link, True
    yield "without its last byte", good[:-1], may_link, True
    chance = random.Random(1)
    yield "random bytes", chance.randbytes(len(good)), may_link, True
    for length in [4, 8, 20, 64]:
        yield f"random bytes after {length} that are right", good[:length] + chance.randbytes(len(good)), may_link, True
    yield "zeros after 64 bytes that are right", good[:64] + bytes(len(good)), may_link, True
    yield "text", b"<!DOCTYPE html>\n<title>404</title>\n", may_link, True
    for i in range(arguments.flips):
        at = chance.randrange(len(good))
        value = chance.choice([0, 0xFF, good[at] ^ 0x80, good[at] ^ 1])
        yield f"byte {at} is {value}", good[:at] + bytes([value]) + good[at + 1:], True, False


def link(contents):
    with open(arguments.damaged, "wb") as file:
        file.write(contents)
    if os.path.exists("out"):
        os.remove("out")
    done = subprocess.run(arguments.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace")


def problem(code, printed, may_link, named):
    if code == 0:
        return None if may_link else "it links"
    if code != 1:
        return f"exit status {code}"
    if "PLEASE submit" in printed or "Sanitizer" in printed or "Stack dump" in printed:
        return "it crashes"
    if "error" not in printed:
        return "no error is printed"
    if named and os.path.basename(arguments.damaged) not in printed:
        return "no message names the file"
    return "there is an output" if os.path.exists("out") else None


code, printed = link(good)
if code:
    sys.exit(f"with the good file: exit status {code}\n{printed}")
failed = tried = refused = 0
for what, contents, may_link, named in damages():
    code, printed = link(contents)
    tried += 1
    refused += code == 1
    why = problem(code, printed, may_link, named)
    if why:
        failed += 1
        shutil.copy(arguments.damaged, f"failed-{failed}")
        print(f"{what}: {why} (failed-{failed})\n{printed[:2000]}")
print(f"{tried} damaged files, {refused} refused, {failed} wrong")
sys.exit(1 if failed else 0)
