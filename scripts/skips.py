#!/usr/bin/env python3
"""What failed, and what was skipped and why: a table over the results of several ctest runs.

skips.py [--allow FILE] [--enforce] [--notes FILE] RESULT.xml...   (ctest --output-junit RESULT.xml)

What failed comes first, each with its preset (the result's folder); tests_alone.xml beside a result
has those that ran once more, one at a time. Reads the reasons that GoogleTest, unittest and our
scripts ("skipped: why") print; the lines of --notes are steps that were left out before any test ran
(WHAT, a tab, WHY). FILE has one regular expression a line, behind
it "  # why that is all right"; with --enforce a reason that matches none, and a Python file that ran
no case at all for such a reason, exit with 1. Needs nothing but Python.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

# "test_x (module.Class.test_x) ... skipped 'why'", the same of a class, of a subtest (indented, with its
# parameters), and behind a docstring on a line of its own. A reason may go on over several lines.
UNITTEST = re.compile(r"\.\.\. skipped (?P<quote>['\"])(?P<why>.*?)(?:(?P=quote)[ \t]*)?$", re.MULTILINE)
CASE = re.compile(r"^\s*(\w+) \(", re.MULTILINE)
# "path/x_test.cc:12: Skipped" and the reason on the line after it.
GOOGLETEST = re.compile(r"^\S+:\d+: Skipped\n(?P<why>[^\n]*)", re.MULTILINE)
# What a script that is no unittest prints: "skip: why", "skipped: why", "skip  case: why".
SCRIPT = re.compile(r"^skip(?:ped)?(?:: |  (?P<case>\S+): )(?P<why>.+)$", re.MULTILINE)
FRAMEWORK = re.compile(r"^Ran \d+ tests? in |^\[==========\]|^\[ RUN      \]", re.MULTILINE)
NO_RECORDINGS = re.compile(r"^(no recordings: XLATRACE_SHARED_DATA has no ).*")
RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
SKIPPED = re.compile(r"skipped=(\d+)")
PLACE = re.compile(r"(/[\w.+-]+){2,}")  # Paths differ from machine to machine; the reason does not.


def reasons_of(name, output):
    """(reason, case) of every case that was skipped in one ctest test's output."""
    found = []
    for match in UNITTEST.finditer(output):
        cases = CASE.findall(output, 0, match.start())
        found.append((match["why"], f"{name}: {cases[-1] if cases else '?'}"))
    for match in GOOGLETEST.finditer(output):
        found.append((match["why"].strip() or "no reason given", name))
    if not found and not FRAMEWORK.search(output):
        for match in SCRIPT.finditer(output):
            found.append((match["why"].strip(), f"{name}: {match['case']}" if match["case"] else name))
    return found


def shorten(why):
    """Reasons that differ only by a path or by which recording is missing are one."""
    return PLACE.sub("PATH", NO_RECORDINGS.sub(r"\1FILE", why))


def failures_of(path):
    """A line per test of one result that failed; without the result of a second run, as it stands."""
    alone = Path(path).with_name("tests_alone.xml")
    again = set()
    if alone.is_file():
        again = {case.get("name") for case in cases_of(alone) if case.find("failure") is None}
    return [
        f"{Path(path).resolve().parent.name}: {case.get('name')}"
        + (", passed alone" if case.get("name") in again else "")
        for case in cases_of(path)
        if case.find("failure") is not None
    ]


def cases_of(path):
    return ElementTree.parse(path).getroot().iter("testcase")


def read(paths):
    """Reason -> cases, over all results; and sentences on results that tell less than they should."""
    reasons = defaultdict(list)
    odd = []
    for path in paths:
        for case in cases_of(path):
            name = case.get("name", "?")
            output = case.findtext("system-out") or ""
            found = reasons_of(name, output)
            marked = case.find("skipped")
            if not found and marked is not None:
                found = [(marked.get("message") or "no reason given", name)]
            counted = SKIPPED.search(output)
            if counted and int(counted[1]) > len(found):
                odd.append(f"{name}: {counted[1]} skipped, {len(found)} reasons printed")
            ran = RAN.search(output)
            if ran and int(ran[1]) == 0 and not found:
                odd.append(f"{name}: ran no case")
            for why, where in found:
                reasons[shorten(why)].append(where)
    return reasons, odd


def read_notes(path):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [line.split("\t", 1) for line in lines if "\t" in line]


def read_allowed(path):
    allowed = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            pattern = line.split("  #")[0].strip()
            if pattern and not pattern.startswith("#"):
                allowed.append(re.compile(pattern))
    return allowed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="*")
    parser.add_argument("--notes")
    parser.add_argument("--allow")
    parser.add_argument("--enforce", action="store_true")
    options = parser.parse_args()
    failures = [line for path in options.results for line in failures_of(path)]
    if failures:
        print(f"FAILED: {len(failures)} tests")
        for line in failures:
            print(f"        {line}")
    reasons, odd = read(options.results)
    for what, why in read_notes(options.notes) if options.notes else []:
        reasons[shorten(f"{what}: {why}")].append(what)
    allowed = read_allowed(options.allow) if options.allow else []
    bad = 0
    total = sum(len(cases) for cases in reasons.values())
    print(f"skipped: {total} cases for {len(reasons)} reasons")
    for why, cases in sorted(reasons.items(), key=lambda item: -len(item[1])):
        fine = any(pattern.search(why) for pattern in allowed)
        bad += not fine
        mark = "" if fine else "  NOT ALLOWED"
        print(f"{len(cases):6}  {why[:90]}{mark}\n        e.g. {cases[0]}")
    for sentence in odd:
        print(f"     ?  {sentence}")
    if options.enforce and (bad or odd):
        print("skips: a reason is not on the list: mend what is missing, or allow it by name with "
              f"its why in {options.allow}", file=sys.stderr)
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
