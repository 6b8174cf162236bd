# SPDX-License-Identifier: Apache-2.0
"""Rows that views must have, counted from the work of a random job (random_job.py). Shares no code with the product.

A device is (process, ordinal). Times are nanoseconds since the start of the job.
"""

import collections

from random_job import COLLECTIVE

STEP_PROGRAMS = (7, 9)  # Equal but for their names: their executions are the steps.
NAMES = {7: "jit_step", 9: "jit_step", 11: "jit_eval"}
PARTS = ("forward", "backward", "optimizer", "other", "unknown", "exposed_collective", "exposed_copy", "idle")


def device_of(work):
    return work.process, work.device


def by_device(works):
    out = collections.defaultdict(list)
    for work in works:
        out[device_of(work)].append(work)
    return out


def steps(job, windows):
    """{device: {number: (start, end, has duration)}}. `windows`: {process: [(start, end)]}.

    A step begins with an execution of a step program and ends where the next one begins. A copy of the direction that
    every iteration has belongs to it. If an evaluation, another copy, a pause or nothing follows, the step ends with its
    own last work. The first execution has number 0.
    """
    out = {}
    for device, own in by_device(job.works).items():
        out[device] = dict(enumerate(steps_of_device(own, windows[device[0]])))
    return out


def steps_of_device(works, windows):
    units = collections.defaultdict(list)  # An execution, or a copy.
    for work in works:
        units[work.execution or ("copy", work.start)].append(work)
    units = sorted(units.values(), key=lambda unit: min(work.start for work in unit))
    at = [k for k, unit in enumerate(units) if unit[0].program in STEP_PROGRAMS]
    directions = [[unit[0].direction for unit in units[k:end] if not unit[0].program] for k, end in zip(at, at[1:])]
    usual = [way for way in set(sum(directions, [])) if 2 * sum(way in own for own in directions) > len(directions)]
    out = []
    for k, end in zip(at, [*at[1:], None]):
        others = [bool(unit[0].program) or unit[0].direction not in usual for unit in units[k + 1 : end]]
        first = others.index(True) if True in others else len(others)
        own = sum(units[k : k + 1 + first], [])
        start, last = min(work.start for work in units[k]), max(work.end for work in own)
        after = min(work.start for work in units[end]) if end else None
        window = next((w for w in reversed(windows) if w[0] <= start), windows[0])
        whole = end is not None and True not in others and after < window[1]
        out.append((start, after if whole else min(last, window[1], after or last), whole))
    return out


def typical(steps):
    """{(device, number)} of the typical steps: per process the middle half of the steady ones, by mean duration."""
    out = set()
    for process in {device[0] for device in steps}:
        devices = [device for device in steps if device[0] == process]
        means = []
        for number in {n for device in devices for n in steps[device]}:
            own = [steps[device][number] for device in devices if number in steps[device]]
            if number > 0 and all(has_duration for _, _, has_duration in own):
                means.append((sum(end - start for start, end, _ in own) // len(own), number))
        drop = len(means) // 4
        for _, number in sorted(means)[drop : len(means) - drop] if len(means) > 1 else ():
            out |= {(device, number) for device in devices if number in steps[device]}
    return out


def step_of(work, steps):
    """The number of a work's step: that of its execution's start, or of its own."""
    at = work.execution_start if work.execution_start is not None else work.start
    return next((number for number, (start, end, _) in steps[device_of(work)].items() if start <= at < end), None)


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
