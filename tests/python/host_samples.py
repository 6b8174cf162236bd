# SPDX-License-Identifier: Apache-2.0
"""Reads `host.samples` as recording/host_samples.md describes it."""

from __future__ import annotations

import dataclasses
import pathlib
import struct

HEADER = struct.Struct("<IIHHIQQ")
MAGIC = 0x4B424C58
STATES = "unknown python native sleep lock file network child other".split()
NUMBERS = {8: "u", 9: "suuuu", 10: "uuuuuuu", 11: "suu", 12: "s", 13: "u"}  # row: its fields
NUMBERS |= {1: "uuuuu", 2: "t", 3: "uuu", 4: "uu", 5: "uuu", 6: "su", 7: "usuu"}


@dataclasses.dataclass
class Sample:
    thread: int
    time_ns: int
    frames: list  # (function, file, line), innermost first
    state: str
    cpu_us: int


class Samples:
    def __init__(self, path: pathlib.Path) -> None:
        self.rows = list(_rows(path.read_bytes()))
        texts, frames, stacks, self.threads = [""], [None], [None], [None]
        self.samples: list[Sample] = []
        self.ticks: list[int] = []
        self.seconds, self.uses, self.collections, self.pauses = [], [], [], []
        at: dict[int, int] = {}
        now = 0
        for row, *fields in self.rows:
            if row == 1:
                self.version, self.pid, now, self.monotonic_ns, self.period_ns = fields
                self.start_ns = now
            elif row == 2:
                texts.append(fields[0])
            elif row == 3:
                frames.append((texts[fields[0]], texts[fields[1]], fields[2]))
            elif row == 4:
                stacks.append((fields[0], fields[1]))
            elif row == 5:
                self.threads.append((fields[0], fields[1], texts[fields[2]]))
            elif row == 6:
                now += fields[0]
                self.ticks.append(now)
            elif row == 7:
                number, change, state, cpu_us = fields
                at[number] = stack = at.get(number, 0) + change
                found = []
                while stack:
                    stack, frame = stacks[stack]
                    found.append(frames[frame])
                task = self.threads[number][1]
                self.samples.append(Sample(task, now, found, STATES[state], cpu_us))
            elif row == 9:
                self.seconds.append(fields)
            elif row == 10:
                self.uses.append(fields)
            elif row == 11:
                self.collections.append((now + fields[0], fields[1], fields[2]))
            elif row == 12:
                now += fields[0]
                self.pauses.append(now)
                at.clear()


def _rows(data: bytes):
    place = 0
    while place + HEADER.size <= len(data):
        magic, size, kind, _, count, _, _ = HEADER.unpack_from(data, place)
        assert (magic, kind) == (MAGIC, 64)
        payload = memoryview(data)[place + HEADER.size : place + HEADER.size + size]
        if len(payload) < size:
            return  # cut by a kill
        at = 0
        for _ in range(count):
            row, at = _number(payload, at)
            fields = [row]
            for kind_of_field in NUMBERS[row]:
                value, at = _number(payload, at)
                if kind_of_field == "s":
                    value = (value >> 1) ^ -(value & 1)
                elif kind_of_field == "t":
                    value, at = bytes(payload[at : at + value]).decode(), at + value
                fields.append(value)
            yield fields
        assert at == size
        place += HEADER.size + size


def _number(data, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
