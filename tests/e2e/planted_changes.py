# SPDX-License-Identifier: Apache-2.0
"""Which planted change the first sentence of `diff` is about: test_diff_planted.py and its twin on the
fake GPU."""

import re


def changes_of_verdict(comparison):
    """The entries of `changes` that the verdict consists of."""
    verdict = comparison["verdict"].lower()
    return [change for change in comparison["changes"] if change["text"].lower() in verdict]


WAITING = ("idle", "exposed_collective")


def verdict_has(comparison, alternatives):
    """`alternatives`: (id of the change or None for any, pattern of names and numbers in it). No planted
    change makes a program wait less."""
    return any(
        change["id"] == (wanted or change["id"])
        and re.search(names, change["text"])
        and (change["id"] not in WAITING or change["change_ns"] > 0)
        for change in changes_of_verdict(comparison)
        for wanted, names in alternatives
    )


def check_planted(test, planted, at_least):
    """Every planted change is compared with its base, and at least so many verdicts name theirs."""
    found = {}
    for change, alternatives in planted.items():
        comparison = test.verdict(change)
        found[change] = verdict_has(comparison, alternatives)
        print(f"{change:<11}{'' if found[change] else 'MISSED '}{comparison['verdict']}")
    test.assertGreaterEqual(sum(found.values()), at_least, found)
