# SPDX-License-Identifier: Apache-2.0
"""Runs all rules over a checkout: python3 -m lint_rules.main ROOT [--lower] [--touched REV]

Prints each rule and component whose number of violations differs from its allowance, with the violations.
Exit status 1 if any does, or if --touched lists a violation.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from lint_rules import allowances, commits, golden_sections, licence, names, prose_in_tests, sources, words

MAX_PRINTED = 15


def all_violations(root, files):
    found = []
    for rule in (
        licence.check,
        words.check,
        names.check_constants,
        names.check_tests,
        prose_in_tests.check,
        golden_sections.check,
    ):
        found += rule(root, files)
    return found + list(commits.check(root))


def touched_files(root, revision):
    changed = subprocess.run(
        ["git", "-C", str(root), "diff", "--name-only", "--diff-filter=d", revision],
        capture_output=True, text=True, check=True,
    )
    return set(changed.stdout.splitlines())


def line_of(violation):
    place = f"{violation.file}:{violation.line}" if violation.line else violation.file
    return f"{place}: {violation.rule}: {violation.message}"


def report(found, allowed, write=print):
    """Prints what differs from the allowances; true if nothing does."""
    excess, slack = allowances.compared(allowances.counted(found), allowed)
    for (component, rule), more in sorted(excess.items()):
        number = allowed[component, rule]
        write(f"{component}: {rule}: {number + more} violations, {number} allowed. Fix {more}:")
        matching = [v for v in found if (v.component, v.rule) == (component, rule)]
        for violation in matching[:MAX_PRINTED]:
            write("  " + line_of(violation))
        if len(matching) > MAX_PRINTED:
            write(f"  and {len(matching) - MAX_PRINTED} others")
    for (component, rule), fewer in sorted(slack.items()):
        write(f"{component}: {rule}: {fewer} fewer violations than allowed. Run scripts/lint --lower.")
    return not excess and not slack


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--lower", action="store_true", help="write smaller allowances")
    parser.add_argument("--start", action="store_true", help="write the present numbers, also larger ones")
    parser.add_argument("--touched", metavar="REV", help="list violations in files changed since REV")
    options = parser.parse_args()
    found = all_violations(options.root, sources.tracked_files(options.root))
    if options.touched:
        touched = touched_files(options.root, options.touched)
        left = [violation for violation in found if violation.file in touched]
        print("\n".join(map(line_of, left)))
        print(f"{len(left)} violations in {len({v.file for v in left})} of {len(touched)} touched files")
        return 1 if left else 0
    allowed = allowances.read()
    if options.start:
        allowed = allowances.counted(found)
        allowances.write(allowed)
    if options.lower:
        allowed = allowances.lowered(allowances.counted(found), allowed)
        allowances.write(allowed)
    if not report(found, allowed):
        return 1
    print(f"{len(found)} old violations, all within their allowances")
    return 0


if __name__ == "__main__":
    sys.exit(main())
