# SPDX-License-Identifier: Apache-2.0
"""Writes a recording as our own collector does (recording/format.md)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cases" / "runner"))

import recording_file  # noqa: E402
from events import CALL, COMPILE, COPY, MARK, MODULE, RANGE, THUNK, TO_HOST  # noqa: E402
from gpus import GPUS  # noqa: E402
from write_nsight import tsl_text  # noqa: E402
from write_xplane import DRIVER  # noqa: E402

START_UNIX_NS = 1_700_000_000_000_000_000
CONTEXT = 1


def add_description(file, recording):
    process = recording.process
    facts = {"host": "host", "pid": 1000 + process.rank, "command": "python train.py", "executable": "/usr/bin/python3",
             "start_unix_ns": START_UNIX_NS + recording.window[0], "ended": "exit", "mode": "exact"}
    if recording.ranks > 1:
        facts |= {"rank": process.rank, "local_rank": process.rank}
    for key, value in facts.items():
        file.fact(key, value)
    for device in range(process.devices):
        file.device(device=device, uuid=f"GPU-00000000-0000-0000-{process.rank:04d}-{device:012d}", **GPUS["H100"])
        file.context(CONTEXT + device, device, 0)
    file.thread(1000 + process.rank, "python")


def add_frames(file, recording):
    """Calls and ranges. A call inside a program's range names its run and its instruction."""
    functions = {}
    offset = 900 + recording.process.rank  # From the simulation's thread 100 to the process id.
    inner, depths = InnerRanges(recording.frames), range_depths(recording.frames)
    for frame in recording.frames:
        times = {"start_ns": START_UNIX_NS + frame.start, "end_ns": START_UNIX_NS + frame.end}
        thread = frame.thread + offset
        if frame.kind == CALL:
            name = DRIVER[frame.name]
            if name not in functions:
                functions[name] = len(functions) + 1
                file.fact(f"api.driver.{functions[name]}", name)
            module, thunk = inner.of(frame)
            row = {"module_run": module.number} if module else {}
            if thunk:
                row["thunk"] = file.string(tsl_text(thunk))
            file.call(thread=thread, function=functions[name], correlation=frame.correlation, **times, **row)
        elif frame.kind == MARK:  # A mark of the collector is a range without length.
            file.range(thread=thread, domain=file.string("xlatrace"), text=file.string(frame.name),
                       start_ns=times["start_ns"], end_ns=times["start_ns"], depth=0)
        elif frame.kind == MODULE:
            file.range(thread=thread, domain=file.string("TSL"), text=file.string(tsl_text(frame)),
                       module_run=frame.number, **times)
        elif frame.kind == COMPILE:
            file.range(thread=thread, domain=file.string("TSL"), text=file.string(tsl_text(frame)), **times)
        elif frame.kind != THUNK:
            file.range(thread=thread, domain=0, text=file.string(frame.name), depth=depths[id(frame)], **times)


def range_depths(frames):
    """How many of the user's ranges are open around each of them, by id."""
    depths, open_ends = {}, {}
    for frame in sorted((f for f in frames if f.kind == RANGE), key=lambda f: (f.start, -f.end)):
        ends = [end for end in open_ends.get(frame.thread, []) if end > frame.start]
        depths[id(frame)] = len(ends)
        open_ends[frame.thread] = [*ends, frame.end]
    return depths


class InnerRanges:
    """The program's run and the instruction in which a call lies."""

    def __init__(self, frames):
        self.found, module, thunk = {}, None, None
        for frame in frames:  # In the order in which they were opened.
            if frame.kind == MODULE:
                module = frame
            elif frame.kind == THUNK:
                thunk = frame
            elif frame.kind == CALL:
                self.found[id(frame)] = tuple(
                    outer if outer and outer.start <= frame.start and frame.end <= outer.end else None
                    for outer in (module, thunk))

    def of(self, call):
        return self.found[id(call)]


def write_own(recording, folder):
    process = recording.process
    identity = f"simulated.host.{1000 + process.rank}.{START_UNIX_NS // 10**9:x}"
    file = recording_file.RecordingFile(identity)
    add_description(file, recording)
    add_frames(file, recording)
    for work in recording.work:
        lane = (work.device, CONTEXT + work.device, work.stream)
        row = {"start_ns": START_UNIX_NS + work.start, "end_ns": START_UNIX_NS + work.end,
               "correlation": work.call.correlation}
        if work.kind == COPY:
            row["bytes"] = work.bytes
            file.activity(recording_file.MEMCPY, {"copy_kind": 2 if work.direction == TO_HOST else 1}, lane, **row)
        else:
            file.activity(recording_file.KERNEL, {
                "name": work.name, "grid_x": 64, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1,
                "registers_per_thread": 32}, lane, **row)
    pathlib.Path(folder).mkdir(exist_ok=True)
    (pathlib.Path(folder) / f"{identity}.rec").write_bytes(file.data())
