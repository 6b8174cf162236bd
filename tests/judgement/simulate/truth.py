# SPDX-License-Identifier: Apache-2.0
"""The truth of a recording: steps, the division of idle time, and the time tree.

A tree is a dictionary from paths to nanoseconds. Paths: `startup/first_execution`, `steps/computation/NAME`,
`steps/exposed_copy`, `steps/idle/KIND`, `steps/idle/KIND/NAME`, `between_steps/pause`, `shutdown`, and so on.
"""

import bisect
import collections

from events import COLLECTIVE, COPY
from truth_idle import DeviceWork, Threads, idle_pieces
from truth_steps import durations, find_steps, pause_limit, typical, window_of


def truth_of(recording):
    """A dictionary that JSON can hold."""
    begin, end = window_of(recording)
    found = [find_steps(recording, device) for device in range(recording.process.devices)]
    typical_values = durations([steps for _, steps in found])
    threads = Threads(recording.frames)
    trees, rows, pauses = [], [], paused_steps(typical_values)
    for device, (first, steps) in enumerate(found):
        trees.append(device_tree(recording, device, threads, (begin, end), first, steps, pauses))
        rows.append([[s.number, s.start, s.end, s.has_duration] for s in steps])
    return {
        "format": recording.format, "root_ns": end - begin, "begin_ns": begin, "end_ns": end,
        "first_execution": found[0][0] is not None, "steps": rows, "step_count": max(map(len, rows), default=0),
        "typical_ns": typical(list(typical_values.values())) if typical_values else None,
        "devices": trees, "process": mean_tree(trees)}


def mean_tree(trees):
    paths = sorted({path for tree in trees for path in tree})
    return {path: sum(tree.get(path, 0) for tree in trees) / len(trees) for path in paths}


def paused_steps(typical_values):
    """Numbers of paused steps and of the others."""
    if not typical_values:
        return set(), set()
    limit = pause_limit(list(typical_values.values()))
    paused = {n for n, ns in typical_values.items() if ns > limit}
    return paused, set(typical_values) - paused


def device_tree(recording, device, threads, window, first, steps, pauses):
    begin, end = window
    tree = collections.Counter()
    if not steps:
        return {"startup": end - begin}
    work = DeviceWork(recording, device)
    others = [w for w in work.works if w.iteration is None]
    tree["startup"] = steps[0].start - begin
    if first:
        tree["startup/first_execution"] = first.end - first.start
    last = steps[-1]
    work_end = max([last.end, *(w.end for w in others if w.start >= last.start)])
    tree["between_steps"] = work_end - last.end + sum(b.start - a.end for a, b in zip(steps, steps[1:]))
    tree["shutdown"] = end - work_end
    divided = [(step, divide(work, threads, step)) for step in steps]
    paused, unpaused = pauses
    longest = max((idle_ns(parts) for step, (_, parts) in divided if step.number in unpaused), default=0)
    for step, (busy, idle) in divided:
        tree["steps"] += step.end - step.start
        for path, ns in busy.items():
            tree[f"steps/{path}"] += ns
        if step.number in paused and idle_ns(idle) > longest:
            excess = idle_ns(idle) - longest
            tree["between_steps"] += excess
            tree["between_steps/pause"] += excess
            tree["steps"] -= excess
            idle = without_pause(idle, excess)
        for piece_start, piece_end, kind, name in idle:
            ns = piece_end - piece_start
            tree["steps/idle"] += ns
            tree[f"steps/idle/{kind}"] += ns
            tree[f"steps/idle/{kind}/{name or ''}"] += ns
    return dict(tree)


def idle_ns(pieces):
    return sum(piece[1] - piece[0] for piece in pieces)


def without_pause(pieces, excess):
    """Removes `excess` nanoseconds from the longest idle intervals, from their ends."""
    intervals = []
    for piece in pieces:
        if intervals and intervals[-1][-1][1] == piece[0]:
            intervals[-1].append(piece)
        else:
            intervals.append([piece])
    kept = []
    for interval in sorted(intervals, key=idle_ns, reverse=True):
        removed = min(excess, idle_ns(interval))
        excess -= removed
        stop = interval[-1][1] - removed
        kept += [(start, min(end, stop), kind, name) for start, end, kind, name in interval if start < stop]
    return kept


def op_name(work):
    """The name of the leaf. The ops of a graph have no leaf of their own in every format: they are not compared."""
    return "" if work.graph else work.instruction or work.name


def divide(work, threads, step):
    """(nanoseconds of the busy parts by path, pieces of idle time) of one step."""
    inside = work.inside(step.start, step.end)
    cuts = sorted({step.start, step.end, *(t for w in inside for t in (w.start, w.end)
                                           if step.start < t < step.end)})
    active = [[] for _ in cuts]
    for one in inside:
        for at in range(bisect.bisect_left(cuts, max(one.start, step.start)), len(cuts)):
            if cuts[at] >= one.end:
                break
            active[at].append(one)
    busy = collections.Counter()
    for at, (start, end) in enumerate(zip(cuts, cuts[1:])):
        kinds = {w.kind for w in active[at]}
        names = sorted({op_name(w) for w in active[at] if w.kind not in (COPY, COLLECTIVE)})
        if names:
            busy["computation"] += end - start
            for name in names:
                busy[f"computation/{name}"] += (end - start) / len(names)
        elif COLLECTIVE in kinds:
            busy["exposed_collective"] += end - start
        elif COPY in kinds:
            busy["exposed_copy"] += end - start
    return busy, list(idle_pieces(work, threads, step.start, step.end))
