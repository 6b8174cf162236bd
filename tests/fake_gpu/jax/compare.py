#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the records of a tool with the log of the fake driver.

    compare.py TRUTH --db RUN.db         every view column that says what ran, and its instruction
    compare.py TRUTH --xplane FILE       names and durations of a profile by jax.profiler
    compare.py TRUTH --truth OTHER       two runs of one program: the same, name by name
    compare.py TRUTH --modes OTHER       one run with command buffers, one without: instructions
                                         that both ran, with the same kernels and times

TRUTH and OTHER are logs of the fake driver (FAKE_GPU_LOG), or folders with one. Prints the figures and
each difference; exit status 1 if there is one.

Truth and recording may come from two runs of one program. Ids of programs and streams and all durations
are equal in both, and also graph nodes if one thread makes the graphs. Times of day, threads and
correlation ids differ, and are not compared. With several devices, each has a thread that makes its
graphs. Then a node must always pair with one node, for any number."""

import argparse
import collections
import ctypes
import dataclasses
import functools
import pathlib
import re
import sqlite3
import sys

# Kernels that CUDA graphs add to run conditionals; absent without graphs.
CONDITION_KERNELS = re.compile(r"set_(case|while|if|if_else|for)_condition|noop")
SHOWN = 12  # differences of one kind that are printed


@dataclasses.dataclass
class Activity:
    kind: str  # kernel, memcpy, memset
    device: int
    stream: int
    start_ns: int
    duration_ns: int
    name: str  # symbol; empty for copies and sets
    grid: str  # "8x1x1"
    block: str
    bytes: int
    node: int  # 0 outside of graphs
    created_node: int
    program: str = ""
    module: str = ""
    instruction: str = ""

    def what(self):
        """The facts that are equal in two runs of one program, and in a good recording; nodes are separate."""
        if self.kind == "kernel":
            return (self.kind, self.name, self.grid, self.block, self.duration_ns)
        return (self.kind, self.bytes, self.duration_ns)

    def label(self):
        return (self.program, self.module, self.instruction)


class Differences:
    """Findings by kind, and the figures of what was compared."""

    def __init__(self):
        self.found = collections.defaultdict(list)
        self.figures = collections.Counter()

    def add(self, kind, text):
        self.found[kind].append(text)

    def __bool__(self):
        return bool(self.found)

    def __str__(self):
        lines = [f"{name}: {count}" for name, count in self.figures.items()]
        for kind, texts in self.found.items():
            lines.append(f"DIFFERENT: {kind}: {len(texts)}")
            lines += [f"  {text}" for text in texts[:SHOWN]]
            if len(texts) > SHOWN:
                lines.append(f"  ... and {len(texts) - SHOWN} more")
        return "\n".join(lines)


def truth_file(path):
    path = pathlib.Path(path)
    if not path.is_dir():
        return path
    logs = sorted(path.glob("*.tsv"), key=lambda p: p.stat().st_size)
    if not logs:
        raise FileNotFoundError(f"no truth log in {path}")
    return logs[-1]


def read_truth(path):
    """Activities in order of issue. A killed process's log may end in zeros or half a line."""
    text = truth_file(path).read_bytes().rstrip(b"\0").decode("utf-8", "replace")
    header, *lines = text.split("\n")
    columns = header.split("\t")
    result = []
    for line in lines:
        row = dict(zip(columns, line.split("\t")))
        if len(row) != len(columns):
            continue
        program, module, instruction = (row["label"].split("|") + ["", "", ""])[:3]
        result.append(
            Activity(
                kind=row["what"],
                device=int(row["device"]),
                stream=int(row["stream"]),
                start_ns=int(row["start_ns"]),
                duration_ns=int(row["end_ns"]) - int(row["start_ns"]),
                name=row["name"],
                grid=row["grid"],
                block=row["block"],
                bytes=int(row["bytes"]),
                node=int(row["node"]),
                created_node=int(row["created_node"]),
                program=program,
                module=module,
                instruction=instruction,
            )
        )
    return result


RUN_DB = """
SELECT a.activity_id, a.kind, d.ordinal, a.stream_id, a.start_ns, a.duration_ns, a.bytes,
       a.graph_node_id, a.program_id, a.module, a.instruction, a.confidence, a.evidence,
       a.unattributed_reason, l.kernel_symbol, l.grid_x, l.grid_y, l.grid_z,
       l.block_x, l.block_y, l.block_z
FROM activity a
LEFT JOIN launch l ON l.launch_id = a.activity_id
LEFT JOIN device d ON d.device_id = a.device_id
WHERE a.kind IN ('kernel', 'memcpy', 'memset')
ORDER BY a.start_ns, a.activity_id
"""


def read_run(path):
    """Pairs of activity and its other facts in the run: confidence, evidence, reason."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    with connection:
        rows = connection.execute(RUN_DB).fetchall()
    connection.close()
    result = []
    for row in rows:
        kernel = row["kind"] == "kernel"
        result.append(
            (
                Activity(
                    kind=row["kind"],
                    device=row["ordinal"],
                    stream=row["stream_id"],
                    start_ns=row["start_ns"],
                    duration_ns=row["duration_ns"],
                    name=row["kernel_symbol"] or "" if kernel else "",
                    grid="x".join(str(row[f"grid_{axis}"]) for axis in "xyz") if kernel else "",
                    block="x".join(str(row[f"block_{axis}"]) for axis in "xyz") if kernel else "",
                    bytes=row["bytes"] or 0,
                    node=row["graph_node_id"] or 0,
                    created_node=0,
                    program="" if row["program_id"] is None else str(row["program_id"]),
                    module=row["module"] or "",
                    instruction=row["instruction"] or "",
                ),
                (row["confidence"], row["evidence"], row["unattributed_reason"]),
            )
        )
    return result


def by_stream(items, activity_of=lambda item: item):
    streams = collections.defaultdict(list)
    for item in items:
        activity = activity_of(item)
        streams[(activity.device, activity.stream)].append(item)
    for items_of_stream in streams.values():
        # Nothing overlaps on a stream but branches of a graph; node ids put those in one order.
        items_of_stream.sort(key=lambda item: (activity_of(item).start_ns, activity_of(item).node))
    return streams


class Nodes:
    """Which graph node of one run is which of the other."""

    def __init__(self, renumbered):
        self.renumbered = renumbered
        self.there, self.back = {0: 0}, {0: 0}

    def pair(self, one, other):
        if not self.renumbered:
            return one == other
        there, back = self.there.setdefault(one, other), self.back.setdefault(other, one)
        return there == other and back == one


def compare_streams(truth, other, differences, activity_of=lambda item: item):
    """Same streams, same length, same activities in the same order; pairs that can be compared."""
    differences.figures["activities in the truth"] = len(truth)
    differences.figures["activities compared with"] = len(other)
    expected, actual = by_stream(truth), by_stream(other, activity_of)
    nodes = Nodes(renumbered=len({activity.device for activity in truth}) > 1)
    for stream in sorted(expected.keys() | actual.keys()):
        wanted, got = expected.get(stream, []), actual.get(stream, [])
        if len(wanted) != len(got):
            differences.add(
                "number of activities",
                f"device {stream[0]} stream {stream[1]}: {len(wanted)} really, {len(got)} recorded",
            )
        for place, (right, item) in enumerate(zip(wanted, got)):
            recorded = activity_of(item)
            same = right.what() == recorded.what() or (
                # XLA's own profiles have names demangled.
                recorded.name == demangle(right.name)
                and right.what() == dataclasses.replace(recorded, name=right.name).what()
            )
            if same and nodes.pair(right.node, recorded.node):
                yield right, item
                continue
            differences.add(
                "graph node" if same else "activity",
                f"device {stream[0]} stream {stream[1]} number {place}: "
                f"{right.what()} of node {right.node} really, "
                f"{recorded.what()} of node {recorded.node} recorded",
            )
            break  # all that follows is shifted


# Evidence inside the recording itself; the order of thunks can replace lost evidence.
RECORDED = ("range", "graph_node")


def compare_with_run(truth, run, recorded_by=RECORDED):
    """The recording against the truth: what ran, that each instruction is the one XLA named, and
    that it was recorded, not deduced."""
    differences = Differences()
    for right, (recorded, (confidence, evidence, reason)) in compare_streams(
        truth, run, differences, lambda item: item[0]
    ):
        where = f"{right.kind} {right.name or right.bytes} node {right.node}"
        if right.instruction:
            differences.figures["with an instruction in the truth"] += 1
            if recorded.label() == right.label():
                differences.figures[f"right, {confidence}"] += 1
                if recorded_by and evidence not in recorded_by:
                    differences.add("not recorded", f"{where}: known by {evidence} only")
            elif recorded.instruction:
                differences.add(
                    "wrong instruction",
                    f"{where}: {right.label()} really, {recorded.label()} recorded",
                )
            else:
                differences.add("no instruction", f"{where}: {right.label()} really, {reason}")
            continue
        kind = "inside a module, outside of thunks" if right.module else "outside of modules"
        differences.figures[kind] += 1
        if recorded.instruction:
            differences.add(f"instruction {kind}", f"{where}: {recorded.label()}")
        elif not reason:
            differences.add(f"no reason {kind}", where)
        else:
            differences.figures[f"{kind}, reason {reason}"] += 1
    return differences


def compare_truths(first, second):
    differences = Differences()
    for one, other in compare_streams(first, second, differences):
        if one.label() != other.label():
            differences.add("label", f"{one.what()}: {one.label()} and {other.label()}")
    return differences


def by_instruction(activities):
    """(module, instruction) to the kernels and copies it ran: what, duration, how often."""
    result = collections.defaultdict(collections.Counter)
    for activity in activities:
        if not activity.instruction or CONDITION_KERNELS.search(activity.name):
            continue
        what = (
            (activity.name, activity.grid, activity.block)
            if activity.name
            else (activity.kind, activity.bytes)
        )
        key = (activity.device, activity.module, activity.instruction)
        result[key][(what, activity.duration_ns)] += 1
    return result


def compare_modes(first, second):
    """Command buffers on and off: what both ran is the same, launch by launch and time by time."""
    differences = Differences()
    one, other = by_instruction(first), by_instruction(second)
    both = one.keys() & other.keys()
    differences.figures["instructions of the first"] = len(one)
    differences.figures["instructions of the second"] = len(other)
    differences.figures["instructions of both"] = len(both)
    for key in sorted(both):
        differences.figures["activities of instructions of both"] += one[key].total()
        if one[key] != other[key]:
            differences.add(
                "launches or times",
                f"{key}: {dict(one[key] - other[key])} and {dict(other[key] - one[key])}",
            )
    return differences


@functools.cache
def demangle(name):
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not text or status.value != 0:
        return name
    return ctypes.cast(text, ctypes.c_char_p).value.decode()


def read_xplane(path):
    """Kernels and copies of a profile by jax.profiler: per device and stream, name and duration."""
    from jax.profiler import ProfileData  # the reader is part of jaxlib

    result = []
    for plane in ProfileData.from_file(str(path)).planes:
        match = re.fullmatch(r"/device:GPU:(\d+)", plane.name)
        if match is None:
            continue
        for line in plane.lines:
            stream = re.match(r"Stream #(\d+)", line.name)
            if stream is None:
                continue
            for event in line.events:
                result.append(
                    (
                        int(match[1]),
                        int(stream[1]),
                        event.start_ns,
                        event.name,
                        int(event.duration_ns),
                    )
                )
    return result


def compare_with_xplane(truth, events):
    """XLA's own CUPTI tracer as the witness: names and durations per stream."""
    differences = Differences()
    differences.figures["activities in the truth"] = len(truth)
    differences.figures["events of the profile"] = len(events)
    expected = by_stream(truth)
    actual = collections.defaultdict(list)
    for device, stream, start, name, duration in events:
        actual[(device, stream)].append((start, name, duration))
    names = {activity.name: demangle(activity.name) for activity in truth}
    for stream in sorted(expected.keys() | actual.keys()):
        got = sorted(actual.get(stream, []))
        # The profile begins after the program: what ran before is not in it.
        wanted = expected.get(stream, [])[-len(got) :] if got else []
        if len(got) > len(wanted):
            differences.add("number of activities", f"{stream}: {len(wanted)}, {len(got)}")
        for right, (_, name, duration) in zip(wanted, got):
            differences.figures["compared"] += 1
            copied = right.kind != "kernel" and name.lower().startswith(right.kind)
            if not copied and names[right.name] != name:
                differences.add("name", f"{stream}: {right.name or right.kind} and {name}")
            elif right.duration_ns != duration:
                differences.add("duration", f"{stream} {name}: {right.duration_ns}, {duration}")
    return differences


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("log")
    group = parser.add_mutually_exclusive_group(required=True)
    for name in ("db", "xplane", "truth", "modes"):
        group.add_argument(f"--{name}", metavar="FILE")
    arguments = parser.parse_args()
    truth = read_truth(arguments.log)
    if arguments.db:
        differences = compare_with_run(truth, read_run(arguments.db))
    elif arguments.xplane:
        differences = compare_with_xplane(truth, read_xplane(arguments.xplane))
    elif arguments.truth:
        differences = compare_truths(truth, read_truth(arguments.truth))
    else:
        differences = compare_modes(truth, read_truth(arguments.modes))
    print(differences)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
