# SPDX-License-Identifier: Apache-2.0
"""The planted programs: name, planted cause, and the lines with the cause.

Needs no JAX for the list only: `programs_of` reads the source."""

import ast
import dataclasses
import pathlib
import sys

_functions = {}


def _registered(function):
    _functions[function.__name__] = function
    return function


def planted(ids, **settings):
    """A program in which one of these rules is right; settings are the checker's (programs_of)."""
    del ids, settings
    return _registered


def clean(function=None, **settings):
    """A program without a cause: no finding is expected."""
    del settings
    return _registered if function is None else _registered(function)


def run_one():
    """Runs the program whose name is the first argument."""
    _functions[sys.argv[1]]()


@dataclasses.dataclass
class Program:
    name: str
    file: pathlib.Path
    ids: list  # Expected rules; empty: clean.
    lines: set  # Lines of the file, marked "# planted".
    settings: dict
    about: str


def programs_of(file):
    """The programs of a file in the order of their definitions."""
    file = pathlib.Path(file)
    source = file.read_text()
    rows = source.splitlines()
    programs = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            call = isinstance(mark, ast.Call)
            word = getattr(mark.func if call else mark, "id", "")
            if word not in ("planted", "clean"):
                continue
            ids = ast.literal_eval(mark.args[0]).split() if word == "planted" else []
            keywords = mark.keywords if call else []
            settings = {keyword.arg: ast.literal_eval(keyword.value) for keyword in keywords}
            lines = {
                number
                for number in range(node.lineno, node.end_lineno + 1)
                if rows[number - 1].rstrip().endswith("# planted")
            }
            programs.append(
                Program(node.name, file, ids, lines, settings, ast.get_docstring(node) or "")
            )
    return programs
