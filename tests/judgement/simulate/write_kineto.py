# SPDX-License-Identifier: Apache-2.0
"""Writes a recording as PyTorch's profiler (Kineto) does: Chrome JSON, times in microseconds."""

import json

from events import CALL, COLLECTIVE, COPY, FRAMEWORK, FUNCTION, MARK, TO_HOST

PID = 4242
CATEGORIES = {FRAMEWORK: "cpu_op", FUNCTION: "python_function"}


def microseconds(ns):
    return ns / 1000


def frame_event(frame):
    name, args = frame.name, {}
    category = CATEGORIES.get(frame.kind, "user_annotation")
    if frame.kind == CALL:
        category, args = "cuda_runtime", {"correlation": frame.correlation}
    elif frame.kind == MARK:
        name = f"ProfilerStep#{frame.number}"
    elif frame.kind == FUNCTION:
        name = f"train.py({frame.line}): {frame.name}"
    return {"ph": "X", "cat": category, "name": name, "pid": PID, "tid": PID + frame.thread - 100,
            "ts": microseconds(frame.start), "dur": microseconds(frame.end - frame.start), "args": args}


def work_event(work, group_size):
    args = {"device": work.device, "stream": work.stream}
    if work.call:
        args["correlation"] = work.call.correlation
    category, name = "kernel", work.name
    if work.kind == COPY:
        category, args["bytes"] = "gpu_memcpy", work.bytes
        places = "Device -> Pageable" if work.direction == TO_HOST else "Pinned -> Device"
        name = f"{work.name} ({places})"
    else:
        if work.kind == COLLECTIVE:
            args |= {"Collective name": "allreduce", "Group size": group_size, "dtype": "Float"}
        args |= {"grid": [64, 1, 1], "block": [128, 1, 1], "registers per thread": 32}
    return {"ph": "X", "cat": category, "name": name, "pid": work.device, "tid": work.stream,
            "ts": microseconds(work.start), "dur": microseconds(work.end - work.start), "args": args}


def write_kineto(recording, path):
    process = recording.process
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": i, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_520_809_984, "computeMajor": 9,
             "computeMinor": 0, "maxThreadsPerBlock": 1024, "numSms": 132} for i in range(process.devices)],
        "traceEvents": [frame_event(f) for f in recording.frames] + [work_event(w, recording.ranks * process.devices) for w in recording.work]}
    if process.rank or recording.ranks > 1:
        trace["distributedInfo"] = {"backend": "nccl", "rank": process.rank, "world_size": recording.ranks}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)
