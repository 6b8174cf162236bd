# SPDX-License-Identifier: Apache-2.0
"""A case as text: a title, then sections. A section starts in the first column; its lines are indented."""

import dataclasses
import pathlib
import textwrap


class CaseError(Exception):
    """A case that cannot be read or run, with its place."""

    def __init__(self, place, message):
        super().__init__(f"{place}: {message}")


@dataclasses.dataclass(frozen=True)
class Line:
    place: str  # "tests/cases/steps/warm_up.txt:12"
    number: int  # Line number in the file, from 1.
    indent: int
    text: str  # Without the indentation.

    def error(self, message):
        return CaseError(self.place, message)


@dataclasses.dataclass
class Section:
    head: Line
    body: list  # Lines, without empty ones.
    raw: list  # The body's lines with their indentation, empty lines included.

    @property
    def keyword(self):
        return self.head.text.split(maxsplit=1)[0]

    @property
    def rest(self):
        return self.head.text[len(self.keyword) :].strip()

    def text(self):
        """The body without its indentation."""
        return textwrap.dedent("\n".join(self.raw)).strip("\n") + "\n"


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    name: str  # As messages show it.
    title: str
    sections: list
    lines: list  # All lines of the file.


def read_case(path, name):
    return parse_case(pathlib.Path(path).read_text(encoding="utf-8"), path, name)


def parse_case(text, path, name):
    lines = text.splitlines()
    title, sections = [], []
    for number, whole in enumerate(lines, 1):
        stripped = whole.strip()
        place = f"{name}:{number}"
        if "\t" in whole[: len(whole) - len(whole.lstrip())]:
            raise CaseError(place, "indent with spaces, not with tabs")
        if whole.startswith("#"):
            if not sections:
                title.append(stripped.lstrip("#").strip())
            continue
        if not stripped:
            if sections:
                sections[-1].raw.append("")
            continue
        indent = len(whole) - len(whole.lstrip())
        line = Line(place, number, indent, stripped)
        if indent == 0:
            sections.append(Section(line, [], []))
        elif not sections:
            raise CaseError(place, "an indented line without a section above")
        else:
            sections[-1].body.append(line)
            sections[-1].raw.append(whole)
    if not title:
        raise CaseError(f"{name}:1", "a case starts with a title: `# What the case shows.`")
    return Case(pathlib.Path(path), name, " ".join(title).strip(), sections, lines)


@dataclasses.dataclass
class Block:
    """A line and the lines that are indented below it."""

    line: Line
    body: list


def blocks(lines):
    """Lines as a tree, by their indentation. `#` starts a comment."""
    root = []
    open_blocks = [(-1, root)]
    for line in lines:
        text = without_comment(line.text)
        if not text:
            continue
        while line.indent <= open_blocks[-1][0]:
            open_blocks.pop()
        siblings = open_blocks[-1][1]
        if siblings and siblings[0].line.indent != line.indent:
            raise line.error("the indentation matches no line above")
        block = Block(dataclasses.replace(line, text=text), [])
        siblings.append(block)
        open_blocks.append((line.indent, block.body))
    return root


def without_comment(text):
    if text.startswith("#"):
        return ""
    at = text.find(" #")
    return text if at < 0 else text[:at].rstrip()
