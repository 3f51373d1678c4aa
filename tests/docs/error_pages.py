#!/usr/bin/env python3
"""Does what the pages of docs/errors say: writes the files of each example, runs its commands, and compares what they print
with the page. Also: every code that the sources report has a page, and every page's code is reported somewhere.

usage: error_pages.py BUILD_DIR ONNX_PROTO [--update] [CODE...]     --update: put what was printed into the pages
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
pages = source / "docs" / "errors"
indent = "    "


def parse(text):
    """The files of a page's example, and its commands with what the page says they print."""
    files, commands = {}, []
    example = text.split("## Example\n", 1)[1].split("\n## ", 1)[0]
    for label, block in re.findall(r"^(File `[^`]+`|Commands):\n\n((?:(?:    .*)?\n)+)", example, re.M):
        lines = [line.removeprefix(indent) for line in block.rstrip("\n").split("\n")]
        if label == "Commands":
            for line in lines:
                if line.startswith("$ "):
                    commands.append((line[2:], []))
                else:
                    commands[-1][1].append(line)
        else:
            files[label.split("`")[1]] = "\n".join(lines) + "\n"
    return files, commands


def run(files, commands, build, proto):
    environment = dict(os.environ, LC_ALL="C", TMPDIR="/tmp", ASAN_OPTIONS="detect_leaks=0")
    environment["PATH"] = os.pathsep.join([f"{build}/bin", "/usr/lib/llvm-22/bin", environment["PATH"]])
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        shutil.copy(proto, pathlib.Path(folder) / "onnx-ml.proto")
        for name, text in files.items():
            (pathlib.Path(folder) / name).write_text(text)
        printed = []
        for command, _ in commands:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
            # Compilers name their temporary objects by chance.
            text = re.sub(r"/tmp/(\w+)-[0-9a-f]{6}\.o", r"/tmp/\1-1a2b3c.o", done.stdout)
            printed.append(text.rstrip("\n").split("\n") if text else [])
        return printed


def check(page, build, proto, update):
    code, text = page.stem, page.read_text()
    files, commands = parse(text)
    printed = run(files, commands, build, proto)
    if update:
        block = "".join(f"{indent}$ {c}\n" + "".join((indent + line).rstrip() + "\n" for line in lines)
                        for (c, _), lines in zip(commands, printed))
        old = re.search(r"^Commands:\n\n((?:(?:    .*)?\n)+?)(?=\n## )", text, re.M)
        page.write_text(text[:old.start(1)] + block + text[old.end(1):])
    problems = []
    if not any(f"[{code}]" in line for lines in printed for line in lines):
        problems.append(f"the example does not give {code}, but:\n" + "\n".join(sum(printed, [])))
    for (command, expected), lines in zip(commands, printed):
        if not update and expected != [line.rstrip() for line in lines]:
            problems.append(f"$ {command}\n" + "\n".join(difflib.unified_diff(expected, lines, "page", "printed", lineterm="")))
    return code, problems


def reported_codes():
    codes = set()
    for folder in ("linker", "analysis", "packer"):
        for file in (source / folder).rglob("*.cpp"):
            codes |= set(re.findall(r'"(COP\d{3})"', file.read_text()))
    return codes


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    update = "--update" in sys.argv
    build, proto, only = os.path.abspath(arguments[0]), arguments[1], arguments[2:]
    todo = [page for page in sorted(pages.glob("COP*.md")) if not only or page.stem in only]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for code, problems in pool.map(lambda page: check(page, build, proto, update), todo):
            failed += bool(problems)
            print(f"{code}: {'FAILED' if problems else 'as the page says'}")
            for problem in problems:
                print("    " + problem.replace("\n", "\n    "))
    if not only:
        have, want = {page.stem for page in todo}, reported_codes()
        for code in sorted(want - have):
            print(f"{code}: is reported but has no page docs/errors/{code}.md")
        for code in sorted(have - want):
            print(f"{code}: has a page but nothing reports it")
        failed += len(want ^ have)
    if failed and not update:
        print(f"Is what was printed right? Then put it into the pages: {sys.argv[0]} {build} {proto} --update")
    return 1 if failed else 0


sys.exit(main())
