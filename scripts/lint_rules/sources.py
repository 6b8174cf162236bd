# SPDX-License-Identifier: Apache-2.0
"""Files of the checkout, and their comments, string literals and sentences."""

import ast
import io
import re
import subprocess
import tokenize
from collections import namedtuple
from pathlib import Path

# `rule` and `component` select the allowance that a violation counts against.
Violation = namedtuple("Violation", "rule component file line message")
# A piece of text in a file: a comment, a literal, a paragraph.
Text = namedtuple("Text", "line text")

C_LIKE = {".cc", ".h", ".c", ".ts", ".tsx", ".js", ".mjs", ".css"}
HASH_COMMENTS = {".py", ".sh", ".cmake", ".txt", ""}
PRODUCT = (
    "base model recording collector store hlo dumps importers correlator analysis compare fleet export "
    "report tools python include"
).split()

_C_TOKEN = re.compile(
    r"""(?P<raw>R"(?P<mark>[^\s()\\]{0,16})\((?P<rawtext>.*?)\)(?P=mark)")
      |(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<char>'(?:[^'\\\n]|\\.)')
      |(?P<template>`(?:[^`\\]|\\.)*`)
      |(?P<block>/\*.*?\*/)
      |(?P<line>//[^\n]*)""",
    re.VERBOSE | re.DOTALL,
)


def tracked_files(root):
    """Paths relative to `root` of all tracked files, without what is built or recorded."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True
    ).stdout.decode()
    return [
        name
        for name in listed.split("\0")
        if name and not name.startswith("report/ui/dist/") and (Path(root) / name).is_file()
        and not (Path(root) / name).is_symlink()
    ]


def component_of(file):
    """The top-level directory; files in the root belong to "root"."""
    return file.split("/")[0] if "/" in file else "root"


def is_c_like(file):
    return Path(file).suffix in C_LIKE


def is_script(file):
    """Shell and Python programs without a suffix."""
    return file.startswith(("scripts/", ".ci/")) and Path(file).suffix == "" and file.count("/") == 1


def is_python(file, text):
    return file.endswith(".py") or (is_script(file) and text.startswith("#!/usr/bin/env python3"))


def is_shell(file, text):
    return file.endswith(".sh") or (is_script(file) and text.startswith("#!/usr/bin/env bash"))


def comments(file, text):
    """Comments of a source file; consecutive comment lines are one Text."""
    if is_c_like(file):
        found = _c_comments(text)
    elif is_python(file, text):
        found = _python_comments(text)
    elif is_shell(file, text) or file.endswith((".cmake", "CMakeLists.txt")):
        found = [
            Text(number, _prose(line.strip().lstrip("#")))
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip().startswith("#") and not line.startswith("#!")
        ]
    else:
        return []
    return _joined([comment for comment in found if "SPDX-License-Identifier" not in comment.text])


def literals(file, text):
    """String literals; adjacent literals of C++ are one Text."""
    if is_python(file, text):
        return _python_literals(text)
    return _c_literals(text) if is_c_like(file) else []


def paragraphs(text):
    """Paragraphs, list items and table cells of a Markdown file, without code blocks."""
    found, current, start, in_code = [], [], 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        if in_code or line.lstrip().startswith("```"):
            line = ""
        begins_anew = not line.strip() or re.match(r"\s*([-*]|\d+\.|#+|\|)\s?", line)
        if begins_anew and current:
            found.append(Text(start, " ".join(current)))
            current = []
        if line.strip().startswith("|"):
            found += [Text(number, cell.strip()) for cell in line.split("|") if cell.strip(" -:")]
        elif line.strip():
            start = start if current else number
            current.append(re.sub(r"^\s*([-*]|\d+\.|#+)\s+", "", line).strip())
    return found


def sentences(text):
    """Sentences of prose; an item of a list begins one. Quoted code and links count as one word."""
    text = re.sub(r"`[^`]*`|\"[^\"]*\"", "CODE", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [part.strip() for part in re.split(r"(?<=[.!?:;])\s+(?=(?:- )?(?:[A-Z`\"'(]|CODE))", text) if part.strip()]


def _prose(line):
    """A comment line without its indent; "" if it is indented, as examples, tables and diagrams are."""
    return "" if re.match(r"\s{3,}", line) else line.strip()


def _line_of(text, at):
    return text.count("\n", 0, at) + 1


def _c_comments(text):
    found = []
    for token in _C_TOKEN.finditer(text):
        if token["line"]:
            found.append(Text(_line_of(text, token.start()), _prose(token["line"].lstrip("/"))))
        elif token["block"]:
            start = _line_of(text, token.start())
            for offset, line in enumerate(token["block"][2:-2].splitlines()):
                found.append(Text(start + offset, _prose(line.strip().lstrip("*"))))
    return found


def _c_literals(text):
    found, end = [], None
    for token in _C_TOKEN.finditer(text):
        if token["line"] or token["block"] or token["char"]:
            continue
        content = token["rawtext"] if token["raw"] else token.group(0)[1:-1]
        between = text[end : token.start()] if end is not None else "x"
        if found and not re.sub(r"//[^\n]*", "", between).strip():
            found[-1] = Text(found[-1].line, found[-1].text + content)
        else:
            found.append(Text(_line_of(text, token.start()), content))
        end = token.end()
    return found


def _python_comments(text):
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
                found.append(Text(token.start[0], _prose(token.string.lstrip("#"))))
    except (tokenize.TokenError, IndentationError):
        pass
    for node in _documented(_parsed(text)):
        start = node.body[0].lineno
        for offset, line in enumerate(ast.get_docstring(node, clean=True).splitlines()):
            found.append(Text(start + offset, "" if line.startswith("  ") else line.strip()))
    return sorted(found)


def _parsed(text):
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _documented(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [n for n in ast.walk(tree) if isinstance(n, kinds) and ast.get_docstring(n)]


def _python_literals(text):
    tree = _parsed(text)
    documentation = {id(node.body[0].value) for node in _documented(tree)}
    return [
        Text(node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
    ]


def _joined(found):
    """Comment lines that follow each other are one text; an empty line divides."""
    joined, last = [], None
    for comment in found:
        if not comment.text:
            last = None
        elif joined and last is not None and comment.line == last + 1:
            joined[-1] = Text(joined[-1].line, f"{joined[-1].text} {comment.text}")
            last = comment.line
        else:
            joined.append(comment)
            last = comment.line
    return joined
