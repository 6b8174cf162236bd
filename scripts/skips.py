#!/usr/bin/env python3
"""What was skipped and why: a table over the results of several ctest runs.

skips.py [--allow FILE] [--enforce] RESULT.xml...   (ctest --output-junit RESULT.xml)

Reads the reasons that GoogleTest and unittest print. FILE has one regular expression a line, behind
it "  # why that is all right"; with --enforce a reason that matches none, and a Python file that ran
no case at all for such a reason, exit with 1. Needs nothing but Python.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict

# "test_x (module.Class.test_x) ... skipped 'why'", the same of a class, of a subtest (indented, with its
# parameters), and behind a docstring on a line of its own. A reason may go on over several lines.
UNITTEST = re.compile(r"\.\.\. skipped (?P<quote>['\"])(?P<why>.*?)(?:(?P=quote)[ \t]*)?$", re.MULTILINE)
CASE = re.compile(r"^\s*(\w+) \(", re.MULTILINE)
# "path/x_test.cc:12: Skipped" and the reason on the line after it.
GOOGLETEST = re.compile(r"^\S+:\d+: Skipped\n(?P<why>[^\n]*)", re.MULTILINE)
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
    return found


def read(paths):
    """Reason -> cases, over all results; and sentences on results that tell less than they should."""
    reasons = defaultdict(list)
    odd = []
    for path in paths:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
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
                reasons[PLACE.sub("PATH", why)].append(where)
    return reasons, odd


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
    parser.add_argument("results", nargs="+")
    parser.add_argument("--allow")
    parser.add_argument("--enforce", action="store_true")
    options = parser.parse_args()
    reasons, odd = read(options.results)
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
