# SPDX-License-Identifier: Apache-2.0
"""Subjects of commits: `component: imperative, what changes`, at most 72 characters, plain words."""

import re
import subprocess

from lint_rules import words
from lint_rules.sources import Violation

MAX_SUBJECT_CHARACTERS = 72
# Commits up to this one were written before the rules existed.
LAST_UNCHECKED = "7e26915d1f57255f297a995f7edd3d1af533cf15"
# Published with subjects of 75 to 82 characters.
UNCHANGEABLE = ("9b8fa786", "87778425", "4f6f9c9d", "e300915d", "8b1c2d51")
_FORM = re.compile(r"^[a-z0-9_./-]+(, [a-z0-9_./-]+)*: \S")
_NOT_IMPERATIVE = re.compile(r"^(the|a|an|what|of|one|it|there|no|added|adds|fixed|fixes|adding|fixing)\b", re.IGNORECASE)


def fault_of(subject, patterns):
    if subject.startswith(("Merge ", "Revert ")):
        return None
    if not _FORM.match(subject):
        return "start with the component: 'store: read pages in one pass'"
    if len(subject) > MAX_SUBJECT_CHARACTERS:
        return f"{len(subject)} characters, at most {MAX_SUBJECT_CHARACTERS}"
    what = subject.split(": ", 1)[1]
    if _NOT_IMPERATIVE.match(what):
        return "start with a verb in the imperative"
    faults = words.faults_of(what, patterns)
    return faults[0] if faults else None


def check(root):
    listed = subprocess.run(
        ["git", "-C", str(root), "log", "--format=%h%x09%s", f"{LAST_UNCHECKED}..HEAD"],
        capture_output=True, text=True,
    )
    if listed.returncode != 0:  # A shallow clone, or an archive without history.
        return
    patterns = words.load_patterns()
    for line in listed.stdout.splitlines():
        commit, subject = line.split("\t", 1)
        fault = None if commit.startswith(UNCHANGEABLE) else fault_of(subject, patterns)
        if fault:
            yield Violation("commit_subjects", "root", commit, 0, f"'{subject}': {fault}")
