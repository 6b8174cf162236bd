# SPDX-License-Identifier: Apache-2.0
"""Instructions and figures of a compiled program, as the commands `modules` and `explain` read them."""

from __future__ import annotations

import functools
import json
import os
import re
import sysconfig
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from xlatrace import places
from xlatrace.errors import XlatraceError

COLLECTIVES = {
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "reduce-scatter",
}
# They move no data by themselves.
_FREE = {"bitcast", "get-tuple-element", "parameter", "tuple"}
_FLOAT_BITS = re.compile(r"(?:bf|f)(\d+)")


@dataclass(frozen=True)
class Frame:
    """A frame of the call stack that an operation was traced in."""

    file: str
    line: int
    function: str

    @property
    def place(self) -> str:
        """"model.py:12", or "cell [3]:7" of a notebook."""
        return f"{os.path.basename(self.file)}:{self.line}"


@dataclass(frozen=True)
class Instruction:
    name: str
    opcode: str
    shape: str
    op_name: str
    target: str
    operands: Tuple[str, ...]
    stack: Tuple[Frame, ...]

    @property
    def frame(self) -> Optional[Frame]:
        """The innermost frame of the user's own code; of a library's, if there is no other."""
        own = [frame for frame in self.stack if is_own_file(frame.file)]
        return own[0] if own else self.stack[0] if self.stack else None

    @property
    def key(self) -> Tuple[str, str, str]:
        """Its work, without its name."""
        return self.opcode, self.shape, self.target

    @property
    def is_free(self) -> bool:
        return self.opcode in _FREE

    @property
    def is_upcast_of(self) -> Optional[int]:
        """Bits of the result, if it converts to a float type; the operand decides the rest."""
        return _float_bits(self.shape) if self.opcode == "convert" else None

    @property
    def talks_to_host(self) -> bool:
        return self.opcode in ("infeed", "outfeed", "send", "recv") or (
            self.opcode == "custom-call" and "callback" in self.target
        )


@dataclass
class ProgramText:
    """A program of one HLO file."""

    summary: Dict[str, Any]
    instructions: List[Instruction] = field(default_factory=list)

    @functools.cached_property
    def by_name(self) -> Dict[str, Instruction]:
        return {instruction.name: instruction for instruction in self.instructions}

    @functools.cached_property
    def users(self) -> Dict[str, List[Instruction]]:
        users: Dict[str, List[Instruction]] = {}
        for instruction in self.instructions:
            for operand in instruction.operands:
                users.setdefault(operand, []).append(instruction)
        return users

    @property
    def aliased(self) -> List[str]:
        """Parameters whose memory a result takes over."""
        return [p["label"] or p["name"] for p in self.summary["parameters"] if p["aliased"]]

    @property
    def aliased_numbers(self) -> List[int]:
        """The same by position."""
        return [n for n, p in enumerate(self.summary["parameters"]) if p["aliased"]]

    def content(self) -> Counter[Tuple[str, str, str]]:
        return Counter(instruction.key for instruction in self.instructions)

    def upcasts(self) -> List[Instruction]:
        found = []
        for instruction in self.instructions:
            bits = instruction.is_upcast_of
            source = self.by_name.get(instruction.operands[0]) if instruction.operands else None
            before = _float_bits(source.shape) if source else None
            if bits and before and bits > before:
                found.append(instruction)
        return found

    def frame_of(self, instruction: Instruction) -> Optional[Frame]:
        """Its own frame, else that of the nearest instruction that reads it, else that it reads."""
        for neighbours in (self._readers, self._read):
            seen, wave = {instruction.name}, [instruction]
            while wave:
                for candidate in wave:
                    if candidate.frame is not None:
                        return candidate.frame
                wave = [n for i in wave for n in neighbours(i) if n.name not in seen]
                seen.update(n.name for n in wave)
        return None

    def stack_of(self, instruction: Instruction) -> Tuple[Frame, ...]:
        if instruction.stack:
            return instruction.stack
        frame = self.frame_of(instruction)
        return (frame,) if frame else ()

    def _readers(self, instruction: Instruction) -> List[Instruction]:
        return self.users.get(instruction.name, [])

    def _read(self, instruction: Instruction) -> List[Instruction]:
        return [self.by_name[name] for name in instruction.operands if name in self.by_name]


def read(path: Path) -> ProgramText:
    """Reads one file of HLO, text or proto."""
    listed = json.loads(places.call("modules", str(path), "--format", "json"))["modules"]
    if len(listed) != 1 or "fingerprint" not in listed[0]:
        raise XlatraceError(f"'{path}' is not an HLO program", f"xlatrace explain {path}")
    text = places.call("explain", str(path), "--instructions", "--format", "json")
    rows = [json.loads(line) for line in text.splitlines()]
    return ProgramText(listed[0], [_instruction(row) for row in rows])


def _instruction(row: Dict[str, Any]) -> Instruction:
    stack = tuple(Frame(f["file"], f["line"], f["function"]) for f in row["stack"])
    if not stack and row["source_line"]:
        stack = (Frame(row["source_file"], row["source_line"], ""),)
    return Instruction(
        row["instruction"],
        row["opcode"],
        row["shape"],
        row["op_name"] or "",
        row["target"] or "",
        tuple(row["operands"]),
        stack,
    )


def _float_bits(shape: str) -> Optional[int]:
    match = _FLOAT_BITS.match(shape)
    return int(match.group(1)) if match else None


@functools.lru_cache(maxsize=None)
def is_own_file(file: str) -> bool:
    """False for files of installed packages, of the standard library and of this package."""
    if file.startswith("<") and not file.startswith("<ipython"):
        return False
    return not any(file.startswith(folder) for folder in _other_folders())


@functools.lru_cache(maxsize=None)
def _other_folders() -> Tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.add(str(Path(__file__).resolve().parent))
    folders |= {os.path.realpath(folder) for folder in folders}
    return tuple(sorted(folder.rstrip(os.sep) + os.sep for folder in folders))
