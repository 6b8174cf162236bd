#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists failed tests, and skipped tests with reasons, over the results of several ctest runs.

skips.py [--allow FILE] [--enforce] [--without-recordings] [--notes FILE] RESULT.xml...   (ctest --output-junit RESULT.xml)

Failed tests come first, each with its preset (the result's folder). tests_alone.xml beside a result has
the tests that ran again, one at a time. Then come the failed cases of the first run. Each has the end
of its output, so that the end of a log shows the reason. The list has at most 200 lines. Reasons are
those that GoogleTest, unittest and our scripts ("skipped: why") print. A line of --notes is a step that
was left out before any test ran (WHAT, a tab, WHY). FILE has one regular expression per line, followed
by "  # why that is all right". With --enforce, the exit status is 1 if a reason matches none, or if a
Python file ran no case for such a reason.

With --without-recordings, tests that need a recording may be skipped. Needs Python only.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

# "test_x (module.Class.test_x) ... skipped 'why'", also for a class, for a subtest (indented, with its
# parameters), and after a docstring on a line of its own. A reason may have several lines.
UNITTEST = re.compile(r"\.\.\. skipped (?P<quote>['\"])(?P<why>.*?)(?:(?P=quote)[ \t]*)?$", re.MULTILINE)
CASE = re.compile(r"^\s*(\w+) \(", re.MULTILINE)
# "path/x_test.cc:12: Skipped" and the reason on the line after it.
GOOGLETEST = re.compile(r"^\S.*:\d+: Skipped\n(?P<why>[^\n]*)", re.MULTILINE)
# Output of a script without unittest: "skip: why", "skipped: why", "skip  case: why".
SCRIPT = re.compile(r"^skip(?:ped)?(?:: |  (?P<case>\S+): )(?P<why>.+)$", re.MULTILINE)
FRAMEWORK = re.compile(r"^Ran \d+ tests? in |^\[==========\]|^\[ RUN      \]", re.MULTILINE)
NO_RECORDINGS = re.compile(r"^(no recordings: XLATRACE_SHARED_DATA has no ).*")  # tests/shared_data.py
RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
SKIPPED = re.compile(r"skipped=(\d+)")
PLACE = re.compile(r"(/[\w.+-]+){2,}")  # Paths differ from machine to machine; the reason does not.

# A failed case of unittest: its title, and the text before the next one or the count of cases.
UNITTEST_FAILED = re.compile(
    r"^={70}\n(?P<case>(?:FAIL|ERROR|UNEXPECTED SUCCESS): .*)\n(?P<said>[\s\S]*?)"
    r"(?=^={70}\n(?:FAIL|ERROR|UNEXPECTED SUCCESS): |^-{70}\nRan \d+ test|\Z)", re.MULTILINE)
GOOGLETEST_FAILED = re.compile(
    r"^\[  FAILED  \] (?P<case>[\w./]+)(?:, where .*)?(?: \(\d+ ms\))?$", re.MULTILINE)
GOOGLETEST_RUN = re.compile(r"^\[ RUN      \] (?P<case>\S+)\n(?P<said>[\s\S]*?)"
                            r"(?=^\[ RUN      \]|^\[----------\]|^\[==========\]|\Z)", re.MULTILINE)
GOOGLETEST_BLOCK = re.compile(
    r"^\S.*: Failure\n(?:(?!\[ |\S.*:\d+: (?:Failure|Skipped)$).*\n?)*", re.MULTILINE)
# A sanitizer's report begins with the cause and ends with a legend.
SANITIZER = re.compile(
    r"^.*(?:ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: ).*$", re.MULTILINE)
LINES = 199  # Limit of the whole output.
LEAST_WHY = 60  # At least these lines for failures, also with a long table of skips.
OF_A_CASE = 25
LEAST_OF_A_CASE = 6
WIDTH = 300


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
    """(test, how it went alone, seconds, its failed cases) of each test of one result that failed."""
    alone = Path(path).with_name("tests_alone.xml")
    again = set()
    if alone.is_file():
        again = {case.get("name") for case in cases_of(alone) if case.find("failure") is None}
    for case in cases_of(path):
        if case.find("failure") is None:
            continue
        yield (f"{Path(path).resolve().parent.name}: {case.get('name')}",
               ", passed alone" if case.get("name") in again else "",
               float(case.get("time") or 0),  # Identifies a test that ran into its time limit.
               failed_cases(case.findtext("system-out") or ""))


def failed_cases(output):
    """(case, lines of its output, lines that must be shown) per failed case of one test. Without a known
    framework, the whole output is one case."""
    found = [(match["case"], *unittest_lines(match["said"])) for match in UNITTEST_FAILED.finditer(output)]
    failed = {match["case"] for match in GOOGLETEST_FAILED.finditer(output)}
    for match in GOOGLETEST_RUN.finditer(output):
        if match["case"] in failed:
            blocks = GOOGLETEST_BLOCK.findall(match["said"])
            lines = lines_of("".join(blocks) or match["said"])
            found.append((f"[  FAILED  ] {match['case']}", lines, lines[:1]))
    sanitizer = SANITIZER.search(output)
    if sanitizer:
        report, summary, said = output[sanitizer.start():].partition("SUMMARY: ")
        lines = lines_of(report + summary + said.split("\n")[0])
        found.append(("a sanitizer", lines, lines[: OF_A_CASE // 2]))
    return found or [("the end of what it printed", lines_of(output), [])]


def unittest_lines(block):
    """(lines of a block of unittest, lines with place and cause of the failure). The end of a long message
    may have neither."""
    lines = [line for line in lines_of(block) if not re.fullmatch(r"-{70}", line)]
    trace = max((i for i, line in enumerate(lines) if line.startswith("Traceback ")), default=None)
    told = next((i for i, line in enumerate(lines)
                 if trace is not None and i > trace and line[0] != " "), None)
    if told is None:
        return lines, []
    place = max((i for i in range(trace, told) if lines[i].startswith("  File ")), default=told)
    return lines, lines[place : told + 1]


def shortened(lines, first, room):
    """The end of `lines`, preceded by `first` if that would be cut off."""
    if len(lines) <= room or not first:
        return lines[-room:]
    end = lines[-max(1, room - len(first)) :]
    return [*(line for line in first[: room - 1] if line not in end), *end]


def lines_of(text):
    """Non-empty lines of `text`; a very long one is cut to its two ends."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return [line if len(line) <= WIDTH else f"{line[:200]} [...] {line[-80:]}" for line in lines]


def failure_lines(failures, room):
    """At most `room` lines about the failures: all tests, then the cases of each with their output as far as
    it fits. Further cases and tests are counted."""
    told = [f"FAILED: {len(failures)} tests"]
    names = [f"        {name}{again}" for name, again, *_ in failures]
    told += fitting(names, room // 3, "tests")
    room -= len(told) + 2
    told.append("why, by the run in company:")
    cases = [(f"{name}, {seconds:.0f} s", *case) for name, _, seconds, cases in failures for case in cases]
    each = OF_A_CASE
    while each > LEAST_OF_A_CASE and space_of(failures, cases, each) > room:
        each -= 1
    of, shown = None, 0
    for name, case, said, first in cases:
        lines = [f"    {name}"] if name != of else []
        lines.append(f"      {case[:WIDTH]}")
        lines += [f"        {line}" for line in shortened(said, first, each)]
        if len(lines) > room:
            told.append(f"    and {len(cases) - shown} more failed cases")
            break
        told += lines
        room -= len(lines)
        of, shown = name, shown + 1
    return told


def space_of(failures, cases, each):
    return len(failures) + sum(1 + min(len(said), each) for _, _, said, _ in cases)


def fitting(lines, room, what):
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], f"        and {len(lines) - room + 1} more {what}"]


def cases_of(path):
    return ElementTree.parse(path).getroot().iter("testcase")


def read(paths):
    """Reason -> cases, over all results; and sentences about incomplete results."""
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
    parser.add_argument("--without-recordings", action="store_true")
    options = parser.parse_args()
    failures = [failure for path in options.results for failure in failures_of(path)]
    reasons, odd = read(options.results)
    for what, why in read_notes(options.notes) if options.notes else []:
        reasons[shorten(f"{what}: {why}")].append(what)
    allowed = read_allowed(options.allow) if options.allow else []
    if options.without_recordings:
        allowed.append(NO_RECORDINGS)
    bad = 0
    total = sum(len(cases) for cases in reasons.values())
    table = [f"skipped: {total} cases for {len(reasons)} reasons"]
    for why, cases in sorted(reasons.items(), key=lambda item: -len(item[1])):
        fine = any(pattern.search(why) for pattern in allowed)
        bad += not fine
        mark = "" if fine else "  NOT ALLOWED"
        table += [f"{len(cases):6}  {why[:90]}{mark}", f"        e.g. {cases[0]}"]
    table += [f"     ?  {sentence}" for sentence in odd]
    if failures:
        print("\n".join(failure_lines(failures, max(LEAST_WHY, LINES - len(table)))))
    print("\n".join(table))
    if options.enforce and (bad or odd):
        print("skips: a reason is not on the list: mend what is missing, or allow it by name with "
              f"its why in {options.allow}", file=sys.stderr)
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
