# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_fatbin.py OUTPUT KIND:ARCHITECTURE:FILE[:zstd|:lz4]...: a fatbin as nvcc writes it, of any contents. KIND is ptx, cubin, lto
or a number, ARCHITECTURE 90, 90a, 100f. `-` as FILE: 100 bytes."""
import struct
import sys


def lz4_block(data):
    """Literals only, which is a valid block."""
    out, n = bytes([min(len(data), 15) << 4]), len(data) - 15
    while n >= 0:
        out += bytes([min(n, 255)])
        n -= 255
    return out + data


def zstd_frame(data):
    """One block that is stored."""
    assert len(data) < 1 << 17
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def entry(kind, architecture, name, compression=""):
    data = bytes(100) if name == "-" else open(name, "rb").read()
    variant = {"a": 0x100000, "f": 0x200000}.get(architecture[-1], 0)
    flags, stored = 0x11 | variant, data
    if compression == "zstd":
        flags |= 0x8000
        stored = zstd_frame(data)
    elif compression == "lz4":
        flags |= 0x2000
        stored = lz4_block(data)
    padded = stored + bytes(-len(stored) % 8)
    kind = {"ptx": 1, "cubin": 2, "lto": 8}.get(kind) or int(kind)
    compressed = bool(compression)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(padded), len(stored) * compressed, 0, 8, 1,
                       int(architecture.rstrip("af")), 0, 0, flags, 0, len(data) * compressed) + padded


entries = b"".join(entry(*e.split(":")) for e in sys.argv[2:])
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries)
