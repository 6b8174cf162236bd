# SPDX-License-Identifier: Apache-2.0
"""Program texts whose lines carry marks (`#@name` at the end of a line), and the places of these marks."""

import ast
import re
import textwrap

MARK = re.compile(r"\s*#@(\w+)[ \t]*$", re.M)


def block(text, depth=0):
    """`text` without its own indentation, at `depth` levels of four blanks."""
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    " * depth)


def joined(*parts, blank_lines=2):
    """The parts that are not empty, with blank lines between them."""
    return ("\n" * (blank_lines + 1)).join(part for part in (p.strip("\n") for p in parts) if part.strip())


class Sources:
    """The files of one program: name to marked text."""

    def __init__(self, marked):
        self.texts, self.marks = {}, {}
        for name, text in marked.items():
            for number, line in enumerate(text.splitlines(), 1):
                found = MARK.search(line)
                if found:
                    self.marks.setdefault(found[1], []).append((name, number))
            self.texts[name] = MARK.sub("", text.rstrip("\n")) + "\n"

    def write(self, folder):
        for name, text in self.texts.items():
            (folder / name).write_text(text)

    def at_mark(self, mark):
        """(file, first line, last line) of the lines with this mark, which are in one file."""
        places = self.marks[mark]
        (name,) = {file for file, _ in places}
        lines = [line for _, line in places]
        return name, min(lines), max(lines)

    def of_function(self, function):
        """(file, first line, last line) of the one function or class of this name."""
        found = []
        for name, text in self.texts.items():
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == function:
                    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                    found.append((name, first, node.end_lineno))
        if len(found) != 1:
            raise LookupError(f"{len(found)} definitions of {function}")
        return found[0]
