# SPDX-License-Identifier: Apache-2.0
"""Faults that no rule makes, COMPONENT.txt: what one looks like, and where it goes in a source file.

    correlator/fusion_shares.cc: ties go to the later part
      why: A fusion of two equal halves would change its label from run to run.
      at:  if («a.rest > b.rest») return true;
      is:  a.rest >= b.rest

`at` occurs once in the file, with any line breaks. The code between « and » becomes `is` when the fault is
on: statements if it ends with ; or }, else an expression. An empty `is` removes statements. `equivalent:
...` gives the reason why no test can detect the fault (it is run all the same)."""

import re
from dataclasses import dataclass
from pathlib import Path

FIELDS = ("why", "at", "is", "equivalent")
HEAD = re.compile(r"^(\S+\.(?:cc|h|py|c)): (\S.*)$")
FIELD = re.compile(r"^  (why|at|is|equivalent):(?: +(.*))?$")


@dataclass
class Mutant:
    file: str
    title: str
    why: str = ""
    at: str = ""
    is_: str = ""
    equivalent: str = ""
    place: str = ""  # Record file and line, for messages.
    number: int = 0
    line: int = 0  # Line of the source file, once placed.
    span: tuple = ()  # Once placed: begin, end, and the code of the switch before and after.
    identity: str = ""  # For a fault by rule: sample.py.

    @property
    def component(self):
        return self.file.split("/")[0]


class BadRecord(Exception):
    pass


def read(path):
    """The mutants of one record file."""
    mutants = []
    field = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            field = None
            continue
        head, begun = HEAD.match(line), FIELD.match(line)
        if head:
            mutants.append(Mutant(head.group(1), head.group(2), place=place))
            field = None
        elif begun and mutants:
            field = begun.group(1).replace("is", "is_")
            setattr(mutants[-1], field, begun.group(2) or "")
        elif line.startswith("    ") and field:
            setattr(mutants[-1], field, f"{getattr(mutants[-1], field)}\n{line.strip()}".strip())
        else:
            raise BadRecord(f"{place}: neither a head, a field nor its next line: {line!r}")
    for mutant in mutants:
        if not mutant.why or mutant.at.count("«") != 1 or mutant.at.count("»") != 1:
            raise BadRecord(f"{mutant.place}: needs why:, and at: with one «...»")
    return mutants


def read_all(folder, components=()):
    mutants = []
    for path in sorted(Path(folder).glob("*.txt")):
        if not components or path.stem in components:
            mutants += read(path)
    return mutants


def place(text, mutant):
    """(begin, end) of what is replaced in `text`, or None where `at` does not occur just once."""
    squeezed, places = [], []
    for at, char in enumerate(text):
        if not char.isspace():
            squeezed.append(char)
            places.append(at)
    squeezed = "".join(squeezed)
    before, marked, after = (
        "".join(part.split()) for part in re.split("[«»]", mutant.at))
    found = squeezed.find(before + marked + after)
    if not marked or found < 0 or squeezed.find(before + marked + after, found + 1) >= 0:
        return None
    begin = found + len(before)
    return places[begin], places[begin + len(marked) - 1] + 1


def switch(original, replacement, file=""):
    """The code before and after `original` (with @ for the number), so that it is `replacement` when the
    mutant is on."""
    if file.endswith(".py"):
        return f"(({replacement}) if __import__('os').environ.get('XLATRACE_MUTANT') == '@' else (", "))"
    on = "::xlatrace_mutants::On(@)"
    if file.endswith(".c"):
        on = 'getenv("XLATRACE_MUTANT") != NULL && atoi(getenv("XLATRACE_MUTANT")) == @'
    if original.rstrip()[-1] in ";}":
        return f"if ({on}) {{ {replacement} }} else {{ ", " }"
    return f"({on} ? ({replacement}) : (", "))"
