# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program under restrictions: mdwe (PR_SET_MDWE), no-memfd and no-clone (seccomp: EPERM). Prints its status unless it is 0.
usage: sandbox.py RESTRICTION,... PROGRAM ARGUMENT..."""
import ctypes
import os
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
calls = {"no-memfd": 319, "no-clone": 56}


def prctl(*arguments):
    if libc.prctl(*(ctypes.c_ulong(a) for a in arguments), *(ctypes.c_ulong(0) for _ in range(5 - len(arguments)))):
        raise OSError(ctypes.get_errno(), "prctl")


def restrict():
    for what in sys.argv[1].split(","):
        if what == "mdwe":
            prctl(65, 1)
            continue
        # if nr == call return EPERM else allow
        program = struct.pack("<HBBI", 0x20, 0, 0, 0) + struct.pack("<HBBI", 0x15, 0, 1, calls[what])
        program += struct.pack("<HBBI", 0x06, 0, 0, 0x00050001) + struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
        buffer = ctypes.create_string_buffer(program)
        filter = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 4, ctypes.addressof(buffer)))
        prctl(38, 1)
        prctl(22, 2, ctypes.addressof(filter))


pid = os.fork()
if pid == 0:
    restrict()
    os.execv(sys.argv[2], sys.argv[2:])
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if status:
    print("status", status, flush=True)
sys.exit(status != 0)
