#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every relative link of a Markdown page, and every mention of a page of docs/ anywhere, names a file that exists."""
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(__file__).resolve().parents[2]
tracked = subprocess.run(["git", "ls-files", "-z"], cwd=source, check=True, capture_output=True, text=True).stdout.split("\0")
broken = checked = 0
for name in filter(None, tracked):
    path = source / name
    try:
        text = path.read_text()
    except (UnicodeDecodeError, OSError):
        continue
    links = {source / page for page in re.findall(r"(?<![\w/.])docs/[\w./-]+\.md\b", text) if not re.search("CODE|COPnnn|xxx", page)}
    if path.suffix == ".md":
        links |= {path.parent / target for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)}
    for link in links:
        checked += 1
        if not link.exists():
            broken += 1
            print(f"{name}: there is no {link.resolve().relative_to(source)}")
print(f"links: {checked} checked, {broken} broken")
sys.exit(1 if broken else 0)
