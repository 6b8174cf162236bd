# SPDX-License-Identifier: Apache-2.0
"""The changes between a program and its baseline, and the line of the user's code that made them.

Two programs are the same if their compiled instructions agree: opcodes, shapes, layouts and calls of
libraries. Cost, memory, donated arguments and the barriers of `jax.checkpoint` must agree, too. Names, source lines and values of scalars
do not count.

If they differ, the cause is looked for where the user can change it. The compiler, its flags or the
machine are the cause if they changed, and either the programs before optimization agree or no line was
edited. Otherwise a line is the cause. A line that was edited since the baseline comes first, if a
changed operation was traced from it. Then comes an edited line of a function that a changed operation
was traced from. Then comes an edited line that names such a function. Last comes the line of the first
changed operation.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Set, Tuple

from xlatrace import places, program_text
from xlatrace.program_text import Frame, Instruction, ProgramText
from xlatrace.programs import FIGURES, Program

MAX_LISTED = 6


@dataclass
class Baseline:
    """One program of a baseline."""

    name: str
    figures: Dict[str, Optional[int]]
    lowered: ProgramText
    compiled: ProgramText
    hlo: str
    environment: Dict[str, str]
    sources: Dict[str, str] = field(default_factory=dict)  # Path as then -> text as then.


@dataclass
class Difference:
    """Sentences and facts of a failed comparison."""

    program: Program
    base: Baseline
    by_compiler: bool = False
    environment: List[str] = field(default_factory=list)  # "jaxlib 0.10.1 -> 0.10.2"
    line: Optional[Frame] = None
    from_baseline: bool = False  # The line is one of the baseline's source.
    added: List[Instruction] = field(default_factory=list)  # Before optimization.
    removed: List[Instruction] = field(default_factory=list)
    compiled_added: List[Instruction] = field(default_factory=list)
    compiled_removed: List[Instruction] = field(default_factory=list)


def difference(base: Baseline, program: Program, environment: Dict[str, str]) -> Optional[Difference]:
    """None if the compiled programs do the same work."""
    if _content(base.lowered, base.compiled, base.figures) == _content(
        program.lowered, program.compiled, program.figures()
    ):
        return None
    found = Difference(program, base)
    found.environment = [
        f"{key} {base.environment.get(key) or 'none'} -> {environment.get(key) or 'none'}"
        for key in sorted({*base.environment, *environment})
        if base.environment.get(key, "") != environment.get(key, "")
    ]
    found.added = _surplus(program.lowered, base.lowered)
    found.removed = _surplus(base.lowered, program.lowered)
    found.compiled_added, found.compiled_removed = _compiled_changes(base, program)
    same_input = (
        not found.added
        and not found.removed
        and base.lowered.aliased_numbers == program.lowered.aliased_numbers
    )
    edited = EditedLines(base.sources, program)
    # Another release of JAX may trace other operations from the same code, and an edit may change the
    # order of the same operations.
    if found.environment:
        found.by_compiler = same_input or not edited.lines
    else:
        found.by_compiler = same_input and not edited.lines
    if not found.by_compiler:
        found.line = _line(found, edited)
    return found


def _content(
    lowered: ProgramText, compiled: ProgramText, figures: Dict[str, Optional[int]]
) -> Tuple[object, ...]:
    numbers = tuple(figures.get(name) for name in ("flops", "bytes", "peak_memory"))
    # `jax.checkpoint` saves memory by barriers. The compiler for the CPU may
    # drop them, the one for the accelerator does not.
    barriers = sum(instruction.opcode == "opt-barrier" for instruction in lowered.instructions)
    return compiled.content(), tuple(sorted(compiled.aliased_numbers)), numbers, barriers


def _surplus(text: ProgramText, other: ProgramText) -> List[Instruction]:
    """Instructions of the one that have no equal in the other, in program order."""
    ours, theirs = Counter(map(_work, text.instructions)), Counter(map(_work, other.instructions))
    rest = ours - theirs
    # Among equal instructions the surplus is in functions that have more of them than before.
    functions = Counter(_work_and_function(text, i) for i in text.instructions)
    functions -= Counter(_work_and_function(other, i) for i in other.instructions)
    found = []
    for instruction in text.instructions:
        key = _work_and_function(text, instruction)
        if rest[_work(instruction)] > 0 and functions[key] > 0:
            rest[_work(instruction)] -= 1
            functions[key] -= 1
            found.append(instruction)
    return [i for i in found if not i.is_free] or found


def _work(instruction: Instruction) -> Tuple[str, str, str]:
    return instruction.key


def _work_and_function(text: ProgramText, instruction: Instruction) -> Tuple[Tuple[str, str, str], str]:
    frame = text.frame_of(instruction)
    # Not the line: lines move when others are added.
    return _work(instruction), frame.function if frame else ""


def _compiled_changes(base: Baseline, program: Program) -> Tuple[List[Instruction], List[Instruction]]:
    """The launched instructions without a counterpart, as `xlatrace diff` pairs them."""
    with tempfile.TemporaryDirectory(prefix="xlatrace-diff-") as folder:
        files = []
        for name, hlo in (("base", base.hlo), ("new", program.hlo)):
            path = Path(folder) / f"{name}.hlo.txt"
            path.write_text(hlo)
            files.append(str(path))
        pairs = json.loads(places.call("diff", *files, "--format", "json"))["modules"]
    added: List[Instruction] = []
    removed: List[Instruction] = []
    for pair in pairs:
        regrouped = [g for g in pair["groups"] if len(g["base"]) != len(g["new"])]
        new = pair["only_new"] + [name for g in regrouped for name in g["new"]]
        old = pair["only_base"] + [name for g in regrouped for name in g["base"]]
        added += [program.compiled.by_name[name] for name in new if name in program.compiled.by_name]
        removed += [base.compiled.by_name[name] for name in old if name in base.compiled.by_name]
    if not added and not removed:
        added = _surplus(program.compiled, base.compiled)
        removed = _surplus(base.compiled, program.compiled)
    return added, removed


class EditedLines:
    """Lines of the user's files that differ from the baseline's copy of them."""

    def __init__(self, sources: Dict[str, str], program: Program) -> None:
        self.lines: Set[Tuple[str, int]] = set()
        self.now: Dict[str, str] = {}
        now = sources_of(program)
        by_name = {os.path.basename(path): text for path, text in sources.items()}
        for path, text in now.items():
            before = sources.get(path, by_name.get(os.path.basename(path)))
            if before is None or before == text:
                continue
            self.now[path] = text
            self.lines |= {(path, line) for line in _changed_lines(before, text)}


def _changed_lines(before: str, text: str) -> Iterable[int]:
    """Numbers of lines that were added or replaced; of a removal, the line that follows it."""
    old, new = before.splitlines(), text.splitlines()
    matcher = difflib.SequenceMatcher(
        None, [line.strip() for line in old], [line.strip() for line in new], autojunk=False
    )
    for tag, _, _, first, last in matcher.get_opcodes():
        if tag == "equal":
            continue
        wanted = range(first, last) if last > first else range(first, min(first + 1, len(new)))
        for index in wanted:
            code = new[index].strip()
            if code and not code.startswith("#"):
                yield index + 1


def sources_of(program: Program) -> Dict[str, str]:
    """The user's files that operations of the program, and the function, are from."""
    files = {
        frame.file
        for text in (program.lowered, program.compiled)
        for instruction in text.instructions
        for frame in instruction.stack
    }
    definition = program.definition()
    if definition is not None:
        files.add(definition.file)
    sources = {}
    for file in sorted(files):
        if program_text.is_own_file(file):
            try:
                sources[file] = Path(file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # A cell of a notebook, a file that was moved.
    return sources


def _line(found: Difference, edited: EditedLines) -> Optional[Frame]:
    program, base = found.program, found.base
    stacks = [program.lowered.stack_of(i) for i in found.added]
    if not found.added and not found.removed:
        stacks = [program.compiled.stack_of(i) for i in found.compiled_added]
    on_stack = Counter(
        frame for stack in stacks for frame in set(stack) if (frame.file, frame.line) in edited.lines
    )
    if on_stack:
        # The innermost of the frames that most of the changed operations share.
        most = max(on_stack.values())
        depth = {f: index for stack in reversed(stacks) for index, f in enumerate(stack)}
        return min((f for f in on_stack if on_stack[f] == most), key=lambda f: depth[f])
    spans = _function_lines(edited.now)
    functions = {(f.file, f.function.split(".")[-1]) for stack in stacks for f in stack}
    names = {os.path.basename(file): file for file in edited.now}
    for instruction in found.removed:
        for frame in base.lowered.stack_of(instruction):
            file = names.get(os.path.basename(frame.file), frame.file)
            functions.add((file, frame.function.split(".")[-1]))
    definition = program.definition()
    if definition is not None:
        functions.add((definition.file, definition.function))
    for file, line in sorted(edited.lines):
        inside = spans.get(file, {}).get(line, set())
        if any((file, name) in functions for name in inside):
            return Frame(file, line, "")
    for file, line in sorted(edited.lines):
        code = edited.now[file].splitlines()[line - 1]
        if any(name in code for where, name in functions if where == file):
            return Frame(file, line, "")
    for stack in stacks:
        own = [frame for frame in stack if program_text.is_own_file(frame.file)]
        if own:
            return own[0]
    for file, line in sorted(edited.lines):
        return Frame(file, line, "")
    return definition


def _function_lines(sources: Dict[str, str]) -> Dict[str, Dict[int, Set[str]]]:
    """Per file and line the functions that it is in, decorators included."""
    spans: Dict[str, Dict[int, Set[str]]] = {}
    for file, text in sources.items():
        lines = spans.setdefault(file, {})
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                for line in range(first, (node.end_lineno or node.lineno) + 1):
                    lines.setdefault(line, set()).add(node.name)
    return spans


def changed_figures(found: Difference) -> List[str]:
    """"fusions 3 -> 5"."""
    figures = found.program.figures()
    return [
        f"{words} {_number(found.base.figures.get(name))} -> {_number(figures[name])}"
        for name, words in FIGURES.items()
        if found.base.figures.get(name) != figures[name]
    ]


def _number(value: Optional[int]) -> str:
    return "unknown" if value is None else f"{value:,}"
