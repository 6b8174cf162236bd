# SPDX-License-Identifier: Apache-2.0
"""Section `run`: reads the statements (tests/cases/README.md) and builds the timeline of devices and host.

Each device has a clock that starts at 0. Work on stream 1 starts at the clock and moves it to the work's end.
Work on another stream starts at the clock, or when that stream is free, and does not move it.
"""

import collections
import copy
import dataclasses
import decimal
import re

from case_file import blocks
from gpus import GPUS

MAIN_STREAM = 1
# Time of an instruction where a case gives none.
DEFAULT_WORK_NS = 10_000
NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
BYTES = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000,
         "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
QUANTITY = re.compile(r"^([\d_.]+)\s*([A-Za-z]*)$")
OPTIONS = {"grid", "block", "cluster", "registers", "shared", "static_shared", "local", "kernel"}
# Facts of a device that a case can change: the driver's field, and its units in one of the option's.
DEVICE_OPTIONS = {"clock_mhz": ("core_clock_khz", 1000), "sms": ("sm_count", 1),
                  "memory_mib": ("memory_bytes", 1 << 20)}
OPTION = re.compile(r'\s+([a-z_]+)=("[^"]*"|\S+)$')
ON_STREAM = re.compile(r"\s+on stream (\d+)$")
LOST = re.compile(r"\s+lost$")
WORK_KINDS = ("instruction", "kernel", "copy", "memset")


@dataclasses.dataclass
class Statement:
    kind: str
    line: object
    name: str = ""
    times: list = dataclasses.field(default_factory=list)  # One list per device, each taken in turn.
    stream: int = MAIN_STREAM
    options: dict = dataclasses.field(default_factory=dict)
    count: int = 1
    bytes: int = 0
    lost: bool = False
    numbers: list = dataclasses.field(default_factory=list)
    body: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Execution:
    number: int  # From 1; counts the runs of programs on all devices.
    program: object
    device: int


@dataclasses.dataclass
class Work:
    """A kernel, a copy, a memset, or an op of a CPU."""

    device: int
    stream: int
    start_ns: int
    end_ns: int
    statement: Statement
    execution: object = None
    order: int = 0  # In which the host launches.
    host_busy_until_ns: int = None


@dataclasses.dataclass
class HostTime:
    """Ranges and calls of the thread that launches for a device, the outermost first."""

    device: int
    start_ns: int
    end_ns: int
    names: list
    compiled: object = None  # The program that was compiled.


@dataclasses.dataclass
class Mark:
    """The program marks the start of a step, before the work with the next higher order."""

    device: int
    time_ns: int
    step: int
    order: int


@dataclasses.dataclass
class Timeline:
    device: str = ""
    device_facts: dict = dataclasses.field(default_factory=dict)
    ranks: int = 1
    hosts: int = 1
    devices_per_rank: int = 1
    work: list = dataclasses.field(default_factory=list)
    host: list = dataclasses.field(default_factory=list)
    marks: list = dataclasses.field(default_factory=list)
    pauses: list = dataclasses.field(default_factory=list)  # (device, start, end)

    @property
    def is_cpu(self):
        return self.device == "cpu"

    @property
    def devices(self):
        return self.ranks * self.devices_per_rank


# --- reading -----------------------------------------------------------------------------------------


def quantity(text, units, line, what):
    found = QUANTITY.match(text.strip())
    if not found or found[2] not in units:
        raise line.error(f"'{text.strip()}' is no {what}: write a number and a unit of {' '.join(units)}")
    return int(decimal.Decimal(found[1].replace("_", "")) * units[found[2]])


def read_times(text, line):
    """`100 us`; `570, 530 us`: taken in turn; `2 ms | 12 ms`: one per device, `-` for none."""
    columns = []
    for column in text.split("|"):
        column = column.strip()
        if column == "-":
            columns.append(None)
            continue
        if not column:
            raise line.error("a time is missing: write for example `100 us`")
        parts = [part.strip() for part in column.split(",")]
        unit = QUANTITY.match(parts[-1])
        for i, part in enumerate(parts):
            if unit and re.fullmatch(r"[\d_.]+", part):
                parts[i] = f"{part} {unit[2]}"
        columns.append([quantity(part, NS, line, "time") for part in parts])
    return columns


def read_count(text, line):
    """`NAME x 20` as (NAME, 20)."""
    found = re.fullmatch(r"(.*?)(?:\s+x\s*(\d+))?", text)
    if found[2] == "0":
        raise line.error("a count is at least 1")
    return found[1].strip(), int(found[2] or 1)


class Reader:
    def __init__(self, programs):
        self.programs = programs  # By name.

    def statements(self, lines, program=None):
        return [self.statement(block, program) for block in blocks(lines)]

    def statement(self, block, program):
        line = block.line
        verb, _, rest = line.text.partition(" ")
        rest = rest.strip()
        if program is not None and verb in program.opcodes:
            statement = self.work("instruction", verb, rest, line)
        elif hasattr(self, f"read_{verb}"):
            statement = getattr(self, f"read_{verb}")(rest, line)
        elif program is not None:
            raise line.error(f"'{verb}' is no instruction of program {program.name} and no statement")
        else:
            raise line.error(f"'{verb}' is no statement; instructions stand below `execute PROGRAM`")
        if statement.kind == "execute":
            program = self.programs[statement.name]
        if block.body and statement.kind not in ("execute", "repeat"):
            raise block.body[0].line.error(f"nothing can stand below `{verb}`")
        statement.body = [self.statement(child, program) for child in block.body]
        if statement.kind == "execute" and not statement.body:
            statement.body = [Statement("instruction", line, name, [[DEFAULT_WORK_NS]])
                              for name in program.work]
        if statement.kind == "repeat" and not statement.body:
            raise line.error("`repeat` needs statements below it")
        return statement

    def work(self, kind, name, rest, line):
        statement = Statement(kind, line, name)
        rest = " " + rest
        while True:
            if found := OPTION.search(rest):
                if found[1] not in OPTIONS:
                    raise line.error(f"no option '{found[1]}'; there are: {' '.join(sorted(OPTIONS))}")
                statement.options[found[1]] = found[2].strip('"')
            elif found := ON_STREAM.search(rest):
                statement.stream = int(found[1])
            elif found := LOST.search(rest):
                statement.lost = True
            else:
                break
            rest = rest[: found.start()]
        statement.times = read_times(rest, line)
        return statement

    def read_device(self, rest, line):
        facts = {}
        while found := OPTION.search(rest):
            if found[1] not in DEVICE_OPTIONS:
                raise line.error(f"no fact '{found[1]}'; there are: {' '.join(DEVICE_OPTIONS)}")
            field, factor = DEVICE_OPTIONS[found[1]]
            facts[field] = int(found[2]) * factor
            rest = rest[: found.start()]
        name, count = read_count(rest, line)
        if name != "cpu" and name not in GPUS:
            raise line.error(f"no device '{name}'; there are: cpu {' '.join(sorted(GPUS))}")
        return Statement("device", line, name, count=count, options=facts)

    def read_ranks(self, rest, line):
        found = re.fullmatch(r"(\d+)(?: on (\d+) hosts)?", rest)
        if not found or int(found[1]) < 1 or int(found[1]) % int(found[2] or 1):
            raise line.error("expected `ranks NUMBER` or `ranks NUMBER on NUMBER hosts`, the same number on each host")
        return Statement("ranks", line, count=int(found[1]), options={"hosts": int(found[2] or 1)})

    def read_execute(self, rest, line):
        name, count = read_count(rest, line)
        if name not in self.programs:
            raise line.error(f"no section `program {name}` above")
        return Statement("execute", line, name, count=count)

    def read_repeat(self, rest, line):
        if not rest.isdigit() or int(rest) < 1:
            raise line.error("expected `repeat NUMBER`")
        return Statement("repeat", line, count=int(rest))

    def read_kernel(self, rest, line):
        name, _, times = rest.partition(" ")
        return self.work("kernel", name, times, line)

    def read_copy(self, rest, line):
        found = re.match(r"(to device|to host|on device)\s+([\d_.]+\s*[KMG]?i?B)\s+(.*)", rest)
        if not found:
            raise line.error("expected `copy to device|to host|on device SIZE TIME`")
        statement = self.work("copy", found[1], found[3], line)
        statement.bytes = quantity(found[2], BYTES, line, "size")
        return statement

    def read_memset(self, rest, line):
        found = re.match(r"([\d_.]+\s*[KMG]?i?B)\s+(.*)", rest)
        if not found:
            raise line.error("expected `memset SIZE TIME`")
        statement = self.work("memset", "memset", found[2], line)
        statement.bytes = quantity(found[1], BYTES, line, "size")
        return statement

    def read_idle(self, rest, line):
        times, _, names = rest.partition(" in ")
        statement = Statement("idle", line, times=read_times(times, line))
        statement.options["in"] = [name.strip() for name in names.split(" > ")] if names else []
        return statement

    def read_wait(self, rest, line):
        found = re.fullmatch(r"for stream (\d+)", rest)
        if not found:
            raise line.error("expected `wait for stream NUMBER`")
        return Statement("wait", line, stream=int(found[1]))

    def read_at(self, rest, line):
        return Statement("at", line, times=read_times(rest, line))

    def read_mark(self, rest, line):
        found = re.fullmatch(r"step(?:\s+([\d, ]+))?", rest)
        if not found:
            raise line.error("expected `mark step`, `mark step NUMBER` or `mark step NUMBER, NUMBER`")
        return Statement("mark", line, numbers=[int(n) for n in found[1].split(",")] if found[1] else [])

    def read_compile(self, rest, line):
        name, _, times = rest.partition(" ")
        if name not in self.programs:
            raise line.error(f"no section `program {name}` above")
        return Statement("compile", line, name, read_times(times, line))

    def read_pause(self, rest, line):
        return Statement("pause", line, times=read_times(rest, line))


# --- a run like another ------------------------------------------------------------------------------


def every(statements):
    for statement in statements:
        yield statement
        yield from every(statement.body)


def changed(statements, lines, reader):
    """A copy of another run's statements with changes: times of work, of idle time, all times, the device."""
    statements = copy.deepcopy(statements)
    for line in lines:
        verb, _, rest = line.text.partition(" ")
        if verb == "times":
            found = re.fullmatch(r"([\d.]+)\s*%", rest.strip())
            if not found:
                raise line.error("expected `times NUMBER %`")
            factor = decimal.Decimal(found[1]) / 100
            for statement in every(statements):
                if statement.kind in WORK_KINDS:
                    statement.times = [column and [int(ns * factor) for ns in column]
                                       for column in statement.times]
            continue
        if verb in ("device", "ranks"):
            statements = [s for s in statements if s.kind != verb]
            statements.insert(0, getattr(reader, f"read_{verb}")(rest.strip(), line))
            continue
        read = getattr(reader, f"read_{verb}", None)
        new = read(rest.strip(), line) if read else reader.work("instruction", verb, rest, line)
        same = [s for s in every(statements) if s.kind == new.kind and s.name == new.name]
        if new.kind not in (*WORK_KINDS, "idle", "compile") or not same:
            raise line.error(f"the other run has no '{new.name or verb}' that could change")
        for statement in same:
            statement.times, statement.bytes = new.times, new.bytes
            statement.options |= new.options
    return statements


# --- the timeline ------------------------------------------------------------------------------------


class Clock:
    """The clock of one device."""

    def __init__(self):
        self.now_ns = 0
        self.free_ns = collections.defaultdict(int)  # When a stream is free.
        self.host_busy_until_ns = None


class Builder:
    def __init__(self, statements, programs, head):
        self.programs = programs
        self.timeline = Timeline()
        self.turns = collections.Counter()  # How often a statement ran on a device.
        self.executions = 0
        self.order = 0
        self.next_mark = 0
        for statement in statements:
            if statement.kind == "device":
                self.timeline.device = statement.name
                self.timeline.device_facts = statement.options
                self.timeline.devices_per_rank = statement.count
            elif statement.kind == "ranks":
                self.timeline.ranks, self.timeline.hosts = statement.count, statement.options["hosts"]
        if not self.timeline.device:
            raise head.error("a run names its device: `device H100`, `device cpu`")
        self.clocks = [Clock() for _ in range(self.timeline.devices)]
        self.run(statements, [None] * len(self.clocks))

    def run(self, statements, executions):
        for statement in statements:
            if statement.kind == "repeat":
                for _ in range(statement.count):
                    self.run(statement.body, executions)
            elif statement.kind == "execute":
                for _ in range(statement.count):
                    self.execute(statement)
            elif statement.kind == "mark":
                self.mark(statement)
            elif statement.kind not in ("device", "ranks"):
                if len(statement.times) not in (0, 1, len(self.clocks)):
                    raise statement.line.error(
                        f"{len(statement.times)} columns of times for {len(self.clocks)} devices")
                for device, clock in enumerate(self.clocks):
                    getattr(self, f"do_{kind_of(statement)}")(statement, device, clock, executions[device])

    def execute(self, statement):
        executions = []
        for device in range(len(self.clocks)):
            self.executions += 1
            executions.append(Execution(self.executions, self.programs[statement.name], device))
        self.run(statement.body, executions)

    def mark(self, statement):
        turn = self.turns[id(statement)]
        self.turns[id(statement)] += 1
        number = statement.numbers[turn % len(statement.numbers)] if statement.numbers else self.next_mark
        self.next_mark = number + 1
        for device in range(0, len(self.clocks), self.timeline.devices_per_rank):
            self.timeline.marks.append(Mark(device, self.clocks[device].now_ns, number, self.order))

    def time_of(self, statement, device):
        column = statement.times[device if len(statement.times) > 1 else 0]
        if column is None:
            return None
        turn = self.turns[id(statement), device]
        self.turns[id(statement), device] += 1
        return column[turn % len(column)]

    def do_work(self, statement, device, clock, execution):
        ns = self.time_of(statement, device)
        if ns is None:
            return
        is_main = statement.stream == MAIN_STREAM
        start = clock.now_ns if is_main else max(clock.now_ns, clock.free_ns[statement.stream])
        clock.free_ns[statement.stream] = start + ns
        if is_main:
            clock.now_ns = start + ns
        self.order += 1
        self.timeline.work.append(Work(device, statement.stream, start, start + ns, statement, execution,
                                       self.order, clock.host_busy_until_ns))

    def do_idle(self, statement, device, clock, execution):
        self.host_time(statement, device, clock, statement.options["in"], None)

    def do_compile(self, statement, device, clock, execution):
        self.host_time(statement, device, clock, [], self.programs[statement.name])

    def host_time(self, statement, device, clock, names, compiled):
        ns = self.time_of(statement, device)
        if ns is None:
            return
        start, clock.now_ns = clock.now_ns, clock.now_ns + ns
        clock.host_busy_until_ns = clock.now_ns
        if names or compiled:
            self.timeline.host.append(HostTime(device, start, clock.now_ns, names, compiled))

    def do_wait(self, statement, device, clock, execution):
        clock.now_ns = max(clock.now_ns, clock.free_ns[statement.stream])

    def do_at(self, statement, device, clock, execution):
        ns = self.time_of(statement, device)
        if ns is None:
            return
        if ns < clock.now_ns:
            raise statement.line.error(f"the clock of device {device} is at {clock.now_ns} ns already")
        clock.now_ns = clock.host_busy_until_ns = ns

    def do_pause(self, statement, device, clock, execution):
        ns = self.time_of(statement, device)
        if ns is None:
            return
        start = clock.now_ns
        clock.now_ns += ns
        clock.host_busy_until_ns = clock.now_ns
        self.timeline.pauses.append((device, start, clock.now_ns))


def kind_of(statement):
    return "work" if statement.kind in WORK_KINDS else statement.kind


def build_timeline(statements, programs, head):
    return Builder(statements, programs, head).timeline
