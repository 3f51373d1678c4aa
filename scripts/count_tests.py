#!/usr/bin/env python3
"""Sums test results over ctest's JUnit files: what one ctest entry runs (lit, GoogleTest) counts by itself.
Lists what failed and what was skipped with the reason, ends with "N passed, N failed"; exit status 1 if any failed.

usage: count_tests.py PASSED FAILED RESULT.xml...     PASSED, FAILED: of checks outside of ctest
"""
import re
import sys
import xml.etree.ElementTree as ElementTree


def number(pattern, text):
    found = re.findall(pattern, text, re.M)
    return int(found[-1]) if found else 0


def count(text, ok):
    """Passed and failed in the output of one ctest entry."""
    if "Total Discovered Tests:" in text:  # lit
        return (number(r"^  (?:Passed|Expectedly Failed) *: (\d+)", text),
                sum(number(rf"^  {kind} *: (\d+)", text) for kind in ("Failed", "Unresolved", "Timed Out", "Unexpectedly Passed")))
    if re.search(r"^\[==========\] \d+ tests? from .* ran", text, re.M):  # GoogleTest
        return number(r"^\[  PASSED  \] (\d+) test", text), number(r"^ *(\d+) FAILED TEST", text)
    return (1, 0) if ok else (0, 1)


def main():
    passed, failed = int(sys.argv[1]), int(sys.argv[2])
    for path in sys.argv[3:]:
        try:
            cases = ElementTree.parse(path).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError) as error:
            print(f"{path}: {error}")
            failed += 1
            continue
        for case in cases:
            name, status, text = case.get("name"), case.get("status"), case.findtext("system-out") or ""
            if status in ("notrun", "disabled"):
                print(f"skipped: {name} ({path})")
                continue
            ok = status == "run"
            p, f = count(text, ok)
            if not ok and f == 0:  # it ended before it could count
                f = 1
            for line in text.splitlines():
                if re.search(r"\bskipped[:( ]", line, re.I) or line.startswith("UNSUPPORTED:"):
                    print(f"{name}: {line.strip()}")
            if f:
                print(f"FAILED: {name}: {f} ({path})")
            passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
