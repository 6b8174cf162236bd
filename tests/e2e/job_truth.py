# SPDX-License-Identifier: Apache-2.0
"""Rows that views must have, counted from the work of a random job (random_job.py). Shares no code with the product.

A device is (process, ordinal). Times are nanoseconds since the start of the job.
"""

import collections

from random_job import COLLECTIVE

STEP_PROGRAM = 7  # Its executions are the steps.
NAMES = {7: "jit_step", 9: "jit_step", 11: "jit_eval"}
PARTS = ("forward", "backward", "optimizer", "other", "unknown", "exposed_collective", "exposed_copy", "idle")


def device_of(work):
    return work.process, work.device


def by_device(works):
    out = collections.defaultdict(list)
    for work in works:
        out[device_of(work)].append(work)
    return out


def steps(works):
    """{device: [(start, end)]}: from the first work of one execution of the program to that of the next one."""
    out = {}
    for device, own in by_device(works).items():
        runs = collections.defaultdict(list)
        for work in own:
            if work.program == STEP_PROGRAM:
                runs[work.execution].append(work)
        starts = sorted(min(work.start for work in run) for run in runs.values())
        last = max(work.end for run in runs.values() for work in run)
        out[device] = list(zip(starts, [*starts[1:], last]))
    return out


def step_of(work, steps):
    """The number of a work's step: that of its execution's start, or of its own."""
    at = work.execution_start if work.execution_start is not None else work.start
    return next((number for number, (start, end) in enumerate(steps[device_of(work)]) if start <= at < end), None)


def phase_of(work):
    return "unknown" if work.op is None else work.op.phase


def file_of(work):
    return None if not work.op else "eval.py" if work.program == 11 else "train.py"


def part_of(works):
    """The part of a step that an instant is, by the works that run then: {part: share}."""
    computations = [work for work in works if work.op and work.op.kind != COLLECTIVE]
    if computations:
        shares = collections.Counter()
        for work in computations:
            shares[phase_of(work)] += 1 / len(computations)
        return shares
    if any(work.op for work in works):
        return {"exposed_collective": 1}
    return {"exposed_copy": 1} if works else {"idle": 1}


def parts(works, start, end):
    """{part: nanoseconds} of an interval of one device, instant by instant."""
    inside = [work for work in works if work.start < end and work.end > start]
    edges = sorted({start, end, *(t for work in inside for t in (work.start, work.end) if start < t < end)})
    out = collections.Counter()
    for left, right in zip(edges, edges[1:]):
        for part, share in part_of([w for w in inside if w.start <= left and w.end >= right]).items():
            out[part] += share * (right - left)
    return out


def exchanges(works):
    """Lists of the works of one exchange: the k-th run of a collective of a program on each device."""
    runs = collections.defaultdict(list)
    for work in works:
        if work.op and work.op.kind == COLLECTIVE:
            runs[work.program, work.op.name, device_of(work)].append(work)
    grouped = collections.defaultdict(list)
    for (program, name, _), own in runs.items():
        for k, work in enumerate(sorted(own, key=lambda work: work.start)):
            grouped[program, name, k].append(work)
    return list(grouped.values())


def exposed(work, works):
    """Nanoseconds of a collective in which no computation of its device runs."""
    covered = merged(
        (max(w.start, work.start), min(w.end, work.end))
        for w in works
        if w.op and w.op.kind != COLLECTIVE and w.start < work.end and w.end > work.start
    )
    return work.ns - sum(end - start for start, end in covered)


def merged(intervals):
    out = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def flops_and_bytes(op):
    """The count of XLA for one run of an op on square arrays of float32."""
    n = round(op.elements**0.5)
    array = 4 * op.elements
    if op.name.startswith("dot"):
        return 2 * n**3, 3 * array
    if op.name.startswith("subtract"):
        return op.elements, 3 * array
    if op.name.startswith("all-reduce"):
        return op.elements, 2 * array
    return 0, 2 * array  # Its transcendental functions are counted apart.
