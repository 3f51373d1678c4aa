#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does what pages say: writes the files that they show, runs their commands, and compares what these print with the page.

In a page "File `demo.cpp`:" stands before an indented block with the whole file; an indented block whose first line begins
with "$ " is commands, each with what it prints, standard output and error together. "…" in a line stands for anything, a line
of "…" for any number of lines.

For docs/errors/COPnnn.md also: the example gives that code; every code that the sources report has a page, and every page's code
is reported somewhere.

usage: transcripts.py BUILD_DIR ONNX_PROTO [--update] PAGE...     --update: put what was printed into the pages
"""
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(__file__).resolve().parents[2]
indent = "    "
block = re.compile(r"(?:^File `(?P<file>[^`]+)`:\n\n)?(?P<body>(?:^    .*\n(?:\n(?=    ))*)+)", re.M)


def parse(text):
    """The files that a page shows, and its commands: (command, what it prints) in blocks with their places in the text."""
    files, blocks = {}, []
    for match in block.finditer(text):
        lines = [line.removeprefix(indent) for line in match["body"].rstrip("\n").split("\n")]
        if match["file"]:
            files[match["file"]] = "\n".join(lines) + "\n"
        elif lines[0].startswith("$ "):
            commands = []
            for line in lines:
                if line.startswith("$ "):
                    commands.append((line[2:], []))
                else:
                    commands[-1][1].append(line)
            blocks.append((match.span("body"), commands))
    return files, blocks


def run(files, blocks, build, proto):
    """What each command prints, in a folder that has the files of the page and looks else like the repository's."""
    environment = dict(os.environ, LC_ALL="C.UTF-8", TMPDIR="/tmp", ASAN_OPTIONS="detect_leaks=0")
    environment["PATH"] = os.pathsep.join([f"{build}/bin", "/usr/lib/llvm-22/bin", environment["PATH"]])
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        folder = pathlib.Path(folder)
        shutil.copy(proto, folder / "onnx-ml.proto")
        for name in ("examples", "scripts", "README.md"):
            (folder / name).symlink_to(source / name)
        (folder / "build").symlink_to(build)
        for name, text in files.items():
            (folder / name).write_text(text)
        printed = []
        for _, commands in blocks:
            for command, _ in commands:
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, errors="replace",
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
                # Compilers name their temporary objects by chance.
                text = re.sub(r"/tmp/(\w+)-[0-9a-f]{6}\.o", r"/tmp/\1-1a2b3c.o", done.stdout)
                printed.append([line.rstrip() for line in text.rstrip("\n").split("\n")] if text else [])
        return printed


def matches(expected, lines):
    pattern = "".join("(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def check(page, build, proto, update):
    text = page.read_text()
    files, blocks = parse(text)
    printed = run(files, blocks, build, proto)
    problems = []
    if page.stem.startswith("COP") and not any(f"[{page.stem}]" in line for lines in printed for line in lines):
        problems.append(f"the example does not give {page.stem}, but:\n" + "\n".join(sum(printed, [])))
        update = False
    outputs = iter(printed)
    new = []
    for _, commands in blocks:
        body = ""
        for command, expected in commands:
            lines = next(outputs)
            same = matches(expected, lines)
            if not same and not update:
                problems.append(f"$ {command}\n" + "\n".join(difflib.unified_diff(expected, lines, "page", "printed", lineterm="")))
            body += "".join((indent + line).rstrip() + "\n" for line in ["$ " + command, *(expected if same else lines)])
        new.append(body)
    if update:
        for (span, _), body in reversed(list(zip(blocks, new))):
            text = text[:span[0]] + body + text[span[1]:]
        page.write_text(text)
    return page, problems


def reported_codes():
    codes = set()
    for folder in ("linker", "analysis", "packer"):
        for file in (source / folder).rglob("*.cpp"):
            codes |= set(re.findall(r'"(COP\d{3})"', file.read_text()))
    return codes


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    update = "--update" in sys.argv
    build, proto = os.path.abspath(arguments[0]), arguments[1]
    todo = [pathlib.Path(page).resolve() for page in arguments[2:]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for page, problems in pool.map(lambda page: check(page, build, proto, update), todo):
            failed += bool(problems)
            print(f"{page.relative_to(source)}: {'FAILED' if problems else 'as it says'}")
            for problem in problems:
                print("    " + problem.replace("\n", "\n    "))
    if sum(page.stem.startswith("COP") for page in todo) > 1:
        have, want = {page.stem for page in todo if page.stem.startswith("COP")}, reported_codes()
        for code in sorted(want - have):
            print(f"{code}: is reported but has no page docs/errors/{code}.md")
        for code in sorted(have - want):
            print(f"{code}: has a page but nothing reports it")
        failed += len(want ^ have)
    if failed and not update:
        print("Is what was printed right? Then put it into the pages, with --update.")
    return 1 if failed else 0


sys.exit(main())
