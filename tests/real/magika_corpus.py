# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files to tell the type of: real ones of this machine, of as many types as it has, and made ones for the edges.
The choice depends on nothing but what is installed."""
import bz2
import gzip
import io
import lzma
import os
import pathlib
import pickle
import random
import sqlite3
import struct
import tarfile
import zipfile
import zlib

ROOTS = ["/usr/share", "/usr/include", "/usr/lib", "/etc"]
MAX_PER_SUFFIX = 3


def real_files(repository, most=420):
    """At most MAX_PER_SUFFIX files of each suffix, of three different sizes where there are, and the repository's own."""
    by_suffix = {}
    for root in ROOTS:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in ("ssl", "shadow", "__pycache__"))
            for name in sorted(names):
                path = os.path.join(folder, name)
                if not path.isprintable() or not path.isascii() or not os.path.isfile(path) or not os.access(path, os.R_OK):
                    continue
                suffix = name.rsplit(".", 1)[-1].lower() if "." in name else f"{root}, no suffix"
                if suffix.isdigit():  # libx.so.1
                    suffix = ".".join(name.rsplit(".", 2)[-2:]).lower()
                by_suffix.setdefault(suffix, []).append(path)
    chosen = []
    for suffix in sorted(by_suffix, key=lambda s: (-len(by_suffix[s]), s)):
        paths = sorted(by_suffix[suffix])
        step = max(1, len(paths) // MAX_PER_SUFFIX)
        chosen += paths[::step][:MAX_PER_SUFFIX]
        if len(chosen) >= most:
            break
    own = sorted(str(p) for folder in ("analysis", "docs", "examples", "kernels", "linker", "scripts", "tests")
                 for p in (repository / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return chosen[:most] + own[::max(1, len(own) // 40)]


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes((x * y) & 255 for x in range(width * 3)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def packed(text):
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(zipfile.ZipInfo("a.txt"), text)
        z.writestr(zipfile.ZipInfo("folder/b.txt"), text[::-1])
    with tarfile.open(fileobj=tarred, mode="w") as t:
        info = tarfile.TarInfo("a.txt")
        info.size = len(text)
        t.addfile(info, io.BytesIO(text))
    return {"zip": zipped.getvalue(), "tar": tarred.getvalue(), "gz": gzip.compress(text, mtime=0), "bz2": bz2.compress(text),
            "xz": lzma.compress(text), "zlib": zlib.compress(text), "tar.gz": gzip.compress(tarred.getvalue(), mtime=0)}


def made_files(folder):
    """Writes the edge cases into an empty folder; returns their paths."""
    folder = pathlib.Path(folder)
    rng = random.Random(3)
    prose = ("It was the best of times, it was the worst of times, it was the age of wisdom. " * 200).encode()
    python = b"".join(b"def f%d(x):\n    return [y * %d for y in x if y]\n\n" % (i, i) for i in range(300))
    made = {"empty": b""}
    # Shorter than the network takes, and just long enough.
    for n in range(1, 11):
        made[f"text-{n}"] = b"hello world"[:n]
        made[f"binary-{n}"] = bytes(range(0xf8, 0xf8 + min(n, 8))) + b"\0" * (n - min(n, 8))
    # White space around the content: what is stripped on the left, on the right, and never.
    for n in (1, 7, 8, 100, 1024, 4096, 5000):
        made[f"spaces-{n}"] = b" " * n
        made[f"newlines-{n}"] = b"\r\n\t\v\f "[:6] * (n // 6) + b"\n" * (n % 6)
        made[f"spaces-{n}-then-code"] = b" " * n + python
        made[f"code-then-spaces-{n}"] = python + b"\n" * n
        made[f"spaces-{n}-then-short"] = b"\t" * n + b"abc"
        made[f"short-code-in-spaces-{n}"] = b" " * n + python[:300] + b"\n" * n
        made[f"separators-{n}"] = b"\x1c\x1d\x1e\x1f\x85\xa0"[:6] * (n // 6 + 1)
        made[f"zeros-{n}"] = b"\0" * n
    # Text that is nearly UTF-8, too short for the network once stripped.
    odd = {"surrogate": b"\xed\xa0\x80", "overlong": b"\xc0\xaf", "overlong3": b"\xe0\x80\xaf", "beyond": b"\xf4\x90\x80\x80",
           "cut": b"\xe2\x82", "latin1": b"\xe9", "good2": "é".encode(), "good3": "€".encode(), "good4": "😀".encode(),
           "last3": b"\xef\xbf\xbf", "d7ff": b"\xed\x9f\xbf", "f5": b"\xf5\x80\x80\x80", "lone": b"\x80"}
    for name, data in odd.items():
        made[f"utf8-{name}"] = data
        made[f"utf8-{name}-in-spaces"] = b" " * 50 + data + b"\n"
        made[f"utf8-{name}-in-text"] = prose[:500] + data + prose[:500]
        made[f"utf8-{name}-at-4096"] = b" " * 4095 + data + b" " * 200
    made["utf16"] = prose[:3000].decode().encode("utf-16")
    made["utf8-bom"] = b"\xef\xbb\xbf" + prose[:3000]
    # Around the sizes at which one block becomes two, and what is read begins to differ.
    for n in (1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 5119, 5120, 5121, 8191, 8192, 8193):
        made[f"code-{n}"] = python[:n]
        made[f"random-{n}"] = rng.randbytes(n)
        made[f"prose-{n}"] = prose[:n]
    for name, data in packed(prose + python).items():
        made[f"archive.{name}"] = data
        made[f"archive-truncated.{name}"] = data[:len(data) // 2]
    for width, height in ((1, 1), (16, 16), (200, 100)):
        image = png(width, height)
        made[f"{width}x{height}.png"] = image
        made[f"{width}x{height}-truncated.png"] = image[:40]
    made["tone.wav"] = (b"RIFF" + struct.pack("<I", 36 + 8000) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
                        + b"data" + struct.pack("<I", 8000) + bytes((x * 7) & 255 for x in range(8000)))
    made["pickle"] = pickle.dumps({"list": list(range(500)), "text": "abc" * 50}, protocol=4)
    made["table.csv"] = b"id,name,value\n" + b"".join(b"%d,name%d,%d.5\n" % (i, i, i * i) for i in range(300))
    made["table.tsv"] = made["table.csv"].replace(b",", b"\t")
    made["page.html"] = b"<!DOCTYPE html>\n<html><head><title>t</title></head><body>" + b"<p>paragraph</p>\n" * 100 + b"</body></html>\n"
    made["data.json"] = b'{"a": [' + b", ".join(b'{"b": %d}' % i for i in range(200)) + b"]}\n"
    made["data.xml"] = b'<?xml version="1.0"?>\n<r>' + b"<e a='1'>text</e>\n" * 100 + b"</r>\n"
    made["settings.ini"] = b"[section]\nkey = value\nother = 3\n" * 40
    made["text.md"] = b"# Title\n\nSome *text* with `code`.\n\n- a\n- b\n\n```sh\nls -l\n```\n" * 20
    made["script.sh"] = b"#!/bin/sh\nset -e\nfor f in *; do\n  echo \"$f\"\ndone\n" * 10
    made["query.sql"] = b"SELECT a, b FROM t JOIN u ON t.id = u.id WHERE a > 3 ORDER BY b;\n" * 20
    made["binary-as-hex"] = prose[:2000].hex().encode()
    for name, data in made.items():
        (folder / name).write_bytes(data)
    database = sqlite3.connect(folder / "data.sqlite")
    database.execute("create table t (a integer, b text)")
    database.executemany("insert into t values (?, ?)", [(i, "text" * i) for i in range(50)])
    database.commit()
    database.close()
    return sorted(str(p) for p in folder.iterdir())
