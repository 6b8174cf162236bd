# SPDX-License-Identifier: Apache-2.0
"""Section `program`: a module as HLO text, with two abbreviations.

- Without a line `ENTRY` all lines are the entry computation. The line `HloModule` may be left out, too.
- `@OP_NAME FILE:LINE` at the end of an instruction stands for its metadata. `@OP_NAME FILE:LINE FUNCTION < FILE:LINE
  FUNCTION` is a call stack, innermost frame first, which goes to the frame tables of the module.
"""

import dataclasses
import re

INSTRUCTION = re.compile(r"^(?:ROOT\s+)?%?([\w.\-]+)\s*=\s*(.*)$")
OPCODE = re.compile(r"(?:^|\s)([a-z][a-z0-9\-]*)\(")
METADATA = re.compile(r"\s+@(\S+)(?:\s+(\S+):(\d+))?\s*$")
FRAME = r"\S+:\d+ \S+"
STACK = re.compile(rf"\s+@(\S+)\s+({FRAME}(?: < {FRAME})*)\s*$")
# Instructions that no device executes.
NO_WORK = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id",
           "replica-id"}
HEAD = re.compile(r"^([\w.\-]+)(?: id (\d+))?$")


@dataclasses.dataclass
class Program:
    name: str
    id: int
    text: str
    opcodes: dict  # All computations, by instruction.
    work: list  # Instructions of the entry computation that a device executes, in order.


def read_program(section, default_id):
    head = HEAD.match(section.rest)
    if not head:
        raise section.head.error("expected `program NAME` or `program NAME id NUMBER`")
    if not section.body:
        raise section.head.error("a program needs its HLO text, indented below this line")
    name, program_id = head[1], int(head[2] or default_id)
    tables = FrameTables()
    lines = [with_metadata(line.text, tables) for line in section.body]
    is_bare = not any(line.startswith("ENTRY") for line in lines)
    if is_bare:
        lines = ["ENTRY main {", *("  " + line for line in lines), "}"]
    if not lines[0].startswith("HloModule"):
        lines[:0] = [f"HloModule {name}, is_scheduled=true", *tables.lines()]
    opcodes, work, in_entry = {}, [], False
    for line in lines:
        if line.startswith("ENTRY"):
            in_entry = True
        for part in re.split(r"[{}]\s+", line) if line.startswith("ENTRY") else [line]:
            found = INSTRUCTION.match(part.strip())
            opcode = found and OPCODE.search(found[2])
            if not opcode:
                continue
            opcodes[found[1]] = opcode[1]
            if in_entry and opcode[1] not in NO_WORK:
                work.append(found[1])
        if line.startswith("}"):
            in_entry = False
    return Program(name, program_id, "\n".join(lines) + "\n", opcodes, work)


class FrameTables:
    """FileNames, FunctionNames, FileLocations and StackFrames of a module, as XLA prints them."""

    def __init__(self):
        self.files, self.functions, self.locations, self.frames = {}, {}, {}, {}

    def number(self, stack):
        """The number of the innermost frame of "FILE:LINE FUNCTION < ..."."""
        parent = 0
        for frame in reversed(stack.split(" < ")):
            place, function = frame.rsplit(" ", 1)
            file, line = place.rsplit(":", 1)
            location = (self.files.setdefault(file, len(self.files) + 1),
                        self.functions.setdefault(function, len(self.functions) + 1), int(line))
            known = self.locations.setdefault(location, len(self.locations) + 1)
            parent = self.frames.setdefault((known, parent), len(self.frames) + 1)
        return parent

    def lines(self):
        if not self.frames:
            return []
        # XLA prints the number of the parent plus one.
        return ["", "FileNames", *(f'{number} "{name}"' for name, number in self.files.items()),
                "", "FunctionNames", *(f'{number} "{name}"' for name, number in self.functions.items()),
                "", "FileLocations",
                *(f"{number} {{file_name_id={file} function_name_id={function} line={line} end_line={line} "
                  f"column=1 end_column=2}}" for (file, function, line), number in self.locations.items()),
                "", "StackFrames",
                *(f"{number} {{file_location_id={location} parent_frame_id={parent + 1}}}"
                  for (location, parent), number in self.frames.items()), ""]


def with_metadata(line, tables):
    if stack := STACK.search(line):
        number = tables.number(stack[2])
        return f'{line[: stack.start()]}, metadata={{op_name="{stack[1]}" stack_frame_id={number}}}'
    found = METADATA.search(line)
    if not found:
        return line
    op_name, file, number = found.groups()
    place = f' source_file="{file}" source_line={number}' if file else ""
    return f'{line[: found.start()]}, metadata={{op_name="{op_name}"{place}}}'
