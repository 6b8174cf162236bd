# SPDX-License-Identifier: Apache-2.0
"""`same_as`, and the text of a failed check."""

from __future__ import annotations

from collections import Counter
from typing import Dict, Iterable, List, Optional

from xlatrace import baselines, program_changes, programs, running_test
from xlatrace.errors import XlatraceError
from xlatrace.program_changes import Difference
from xlatrace.program_text import Frame, Instruction, ProgramText
from xlatrace.programs import Program

# Lines of each list in a message.
MAX_LINES = 4


class CheckFailed(AssertionError):
    """A program is above a limit, or is another one than its baseline.

    `frames` are the lines of the user's code that the message names, the most likely cause first.
    """

    def __init__(self, message: str, frames: Iterable[Optional[Frame]] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.frames = [frame for frame in frames if frame is not None]


def same_as(name: str = "main", given: Optional[List[Program]] = None) -> None:
    """Compares programs with the baseline `name` of the running test.

    Without `given` these are all programs that the test has made with `xlatrace.compile`.
    """
    __tracebackhide__ = True
    test = running_test.current()
    if test is None:
        raise XlatraceError("same_as works only inside of a test that pytest runs", "pytest FILE")
    now = given if given is not None else test.programs
    if not now:
        raise XlatraceError(
            "same_as has no program to compare", "program = xlatrace.compile(step, params, batch)"
        )
    path = baselines.place(test.file, test.name, name)
    environment = programs.environment(now[0].target)
    command = f"pytest {test.node_id!r} --xlatrace-update"
    if test.update:
        baselines.write(path, now, environment)
        return
    if not baselines.exists(path):
        raise CheckFailed(f"there is no baseline '{name}' of this test.\nTo write it: {command}")
    bases = baselines.read(path)
    if len(bases) != len(now):
        raise CheckFailed(
            f"the test has {len(now)} programs; its baseline '{name}' has {len(bases)}.\n"
            f"To accept: {command}"
        )
    found = [
        difference
        for base, program in zip(bases, now)
        if (difference := program_changes.difference(base, program, environment))
    ]
    if not found:
        return
    if test.accept_compiler and all(difference.by_compiler for difference in found):
        baselines.write(path, now, environment)
        return
    text = "\n\n".join(difference_text(difference, name) for difference in found)
    accept = f"To accept: {command}"
    if all(difference.by_compiler for difference in found):
        accept = "To accept what the compiler changed: pytest --xlatrace-accept-compiler"
    raise CheckFailed(f"{text}\n\n{accept}", [difference.line for difference in found])


def difference_text(found: Difference, name: str) -> str:
    lines = [f"'{found.program.name}' compiles to another program than its baseline '{name}'."]
    if found.by_compiler:
        if found.environment:
            lines.append("Cause: not the code of the function, but the compiler or the machine:")
            lines += [f"  {change}" for change in found.environment]
        else:
            lines.append("Cause: the compiler made another program of the same input.")
    elif found.line is not None:
        lines.append(f"Cause: {found.line.place}  {programs.source_line(found.line)}")
        if found.environment:
            lines.append(f"The compiler or the machine changed as well: {'; '.join(found.environment)}")
    donated_before, donated = set(found.base.lowered.aliased), set(found.program.lowered.aliased)
    for argument in sorted(donated_before - donated):
        lines.append(f"  argument {argument} is no longer donated")
    for argument in sorted(donated - donated_before):
        lines.append(f"  argument {argument} is now donated")
    figures = program_changes.changed_figures(found)
    if figures:
        lines.append("  " + ", ".join(figures))
    for stage, base, now, removed, added in (
        ("as traced", found.base.lowered, found.program.lowered, found.removed, found.added),
        ("compiled", found.base.compiled, found.program.compiled, found.compiled_removed, found.compiled_added),
    ):
        lines += _listed(stage, "+", _most_telling(added, removed), now)
        lines += _listed(stage, "-", _most_telling(removed, added), base)
    return "\n".join(lines)


def _most_telling(instructions: List[Instruction], others: List[Instruction]) -> List[Instruction]:
    """Those first whose kind of operation is only or more often on this side."""
    kinds = Counter(i.opcode for i in instructions)
    kinds -= Counter(i.opcode for i in others)
    return sorted(instructions, key=lambda i: (kinds[i.opcode] == 0, i.opcode == "constant"))


def _listed(
    stage: str, sign: str, instructions: List[Instruction], text: ProgramText
) -> List[str]:
    lines = []
    for instruction in instructions[:MAX_LINES]:
        frame = text.frame_of(instruction)
        place = f"  {frame.place}" if frame else ""
        lines.append(f"  {stage} {sign} {instruction.name} = {instruction.shape} {instruction.opcode}{place}")
    if len(instructions) > MAX_LINES:
        lines.append(f"  {stage} {sign} {len(instructions) - MAX_LINES:,} more instructions")
    return lines


def places_text(program: Program, figure: str) -> List[str]:
    """Lines of code that the instructions of a figure come from, those with most of them first."""
    instructions = program.instructions_of(figure)
    by_frame: Dict[Optional[Frame], List[Instruction]] = {}
    for instruction in instructions:
        by_frame.setdefault(program.frame_of(instruction), []).append(instruction)
    lines = []
    ranked = sorted(by_frame.items(), key=lambda item: -len(item[1]))
    for frame, of_line in ranked[:MAX_LINES]:
        place = f"{frame.place}  {programs.source_line(frame)}" if frame else "no line of code"
        names = ", ".join(f"{i.name} {i.shape.partition('{')[0]}" for i in of_line[:3])
        more = f" and {len(of_line) - 3} more" if len(of_line) > 3 else ""
        lines.append(f"  {place}\n    {len(of_line)}: {names}{more}")
    if len(ranked) > MAX_LINES:
        lines.append(f"  and {len(ranked) - MAX_LINES} more lines")
    return lines


def frames_of(program: Program, figure: str) -> List[Frame]:
    counted = Counter(
        frame for i in program.instructions_of(figure) if (frame := program.frame_of(i)) is not None
    )
    return [frame for frame, _ in counted.most_common()]
