# SPDX-License-Identifier: Apache-2.0
"""The truth of a recording: steps, the division of idle time, and the time tree.

A tree is a dictionary from paths to nanoseconds. Paths: `startup/first_execution`, `steps/computation/NAME`,
`steps/exposed_copy`, `steps/exposed_collective/wait`, `steps/idle/KIND/NAME`, `between_steps/pause`, and so on.
A tree is the sum of pieces, and the pieces of a device fill its recorded time.
"""

import bisect
import collections
import dataclasses

from events import COLLECTIVE, COPY
from truth_idle import DeviceWork, Threads, idle_pieces
from truth_steps import durations, find_steps, pause_limit, typical, window_of

WAIT = "steps/exposed_collective/wait"


@dataclasses.dataclass
class Piece:
    """An interval of a device and its leaf. Ops that share the interval have a piece each."""

    start: int
    end: int
    path: str
    share: float = 1
    late: tuple = None  # The rank and device that a wait is for.

    @property
    def ns(self):
        return (self.end - self.start) * self.share


def truths_of(recordings):
    """The truth of all processes of a job, as dictionaries that JSON can hold: (one per process, the job's tree)."""
    processes = [divide_process(recording) for recording in recordings]
    pieces = {(recording.process.rank, device): own for recording, (_, of_device) in zip(recordings, processes)
              for device, own in enumerate(of_device)}
    trees = []
    for (rank, device), own in pieces.items():
        trees.append(tree_of(p for piece in own for p in seen_by_the_job(piece, pieces)))
    return [truth for truth, _ in processes], mean_tree(trees)


def truth_of(recording):
    return divide_process(recording)[0]


def divide_process(recording):
    """(the truth, the pieces of each device)"""
    begin, end = window_of(recording)
    found = [find_steps(recording, device) for device in range(recording.process.devices)]
    steady = durations([steps for _, steps in found])
    threads = Threads(recording.frames)
    pieces = [device_pieces(DeviceWork(recording, device), threads, (begin, end), first, steps, paused_steps(steady))
              for device, (first, steps) in enumerate(found)]
    rows = [[[s.number, s.start, s.end, s.has_duration] for s in steps] for _, steps in found]
    trees = [tree_of(own) for own in pieces]
    truth = {
        "format": recording.format, "rank": recording.process.rank, "root_ns": end - begin, "begin_ns": begin,
        "end_ns": end, "first_execution": found[0][0] is not None, "steps": rows,
        "step_count": max(map(len, rows), default=0), "typical_ns": typical(list(steady.values())) if steady else None,
        "devices": trees, "process": mean_tree(trees)}
    return truth, pieces


def tree_of(pieces):
    tree = collections.Counter()
    for piece in pieces:
        parts = piece.path.split("/", 3)
        for depth in range(1, len(parts) + 1):
            tree["/".join(parts[:depth])] += piece.ns
    return {path: int(ns) if ns == int(ns) else ns for path, ns in tree.items()}


def mean_tree(trees):
    paths = sorted({path for tree in trees for path in tree})
    return {path: sum(tree.get(path, 0) for tree in trees) / len(trees) for path in paths}


def seen_by_the_job(piece, pieces):
    """For a wait the pieces of the late device meanwhile."""
    if not piece.late or piece.late not in pieces:
        return [piece]
    out = []
    for other in pieces[piece.late]:
        start, end = max(piece.start, other.start), min(piece.end, other.end)
        if start < end:
            out.append(Piece(start, end, other.path, other.share))
    return out if abs(sum(p.ns for p in out) - piece.ns) < 1 else [piece]


def paused_steps(steady):
    """Numbers of paused steps and of the others."""
    if not steady:
        return set(), set()
    limit = pause_limit(list(steady.values()))
    paused = {n for n, ns in steady.items() if ns > limit}
    return paused, set(steady) - paused


def device_pieces(work, threads, window, first, steps, pauses):
    begin, end = window
    if not steps:
        return startup_pieces(begin, end, None, threads.compilations)
    others = [w for w in work.works if w.iteration is None]
    pieces = startup_pieces(begin, steps[0].start, first, threads.compilations)
    last = steps[-1]
    work_end = max([last.end, *(w.end for w in others if w.start >= last.start)])
    between = [(a.end, b.start) for a, b in zip(steps, steps[1:])] + [(last.end, work_end)]
    pieces += [Piece(a, b, "between_steps") for a, b in between if a < b]
    if work_end < end:
        pieces.append(Piece(work_end, end, "shutdown"))
    idle = {step.number: list(idle_pieces(work, threads, step.start, step.end)) for step in steps}
    paused, unpaused = pauses
    longest = max((idle_ns(idle[n]) for n in unpaused if n in idle), default=0)
    for step in steps:
        pieces += busy_pieces(work, step)
        excess = idle_ns(idle[step.number]) - longest if step.number in paused else 0
        kept, removed = without_pause(idle[step.number], max(0, excess))
        pieces += [Piece(a, b, f"steps/idle/{kind}/{name or ''}") for a, b, kind, name in kept]
        pieces += [Piece(a, b, "between_steps/pause") for a, b in removed]
    return sorted(pieces, key=lambda piece: piece.start)


def startup_pieces(begin, end, first, compilations):
    """The first execution, the recorded compilations before it, and the rest."""
    named = [(f.start, f.end, "startup/compile") for f in compilations]
    if first:
        named.append((first.start, first.end, "startup/first_execution"))
    pieces, now = [], begin
    for start, stop, path in sorted(named):
        start, stop = max(start, now), min(stop, end)
        if start < stop:
            pieces += [Piece(now, start, "startup"), Piece(start, stop, path)]
            now = stop
    return [piece for piece in [*pieces, Piece(now, end, "startup")] if piece.start < piece.end]


def idle_ns(pieces):
    return sum(piece[1] - piece[0] for piece in pieces)


def without_pause(pieces, excess):
    """Removes `excess` nanoseconds from the longest idle intervals, from their ends: (the rest, what was removed)."""
    intervals = []
    for piece in pieces:
        if intervals and intervals[-1][-1][1] == piece[0]:
            intervals[-1].append(piece)
        else:
            intervals.append([piece])
    kept, removed = [], []
    for interval in sorted(intervals, key=idle_ns, reverse=True):
        taken = min(excess, idle_ns(interval))
        excess -= taken
        stop = interval[-1][1] - taken
        kept += [(start, min(end, stop), kind, name) for start, end, kind, name in interval if start < stop]
        if taken:
            removed.append((stop, stop + taken))
    return kept, removed


def op_name(work):
    """The name of the leaf. The ops of a graph have no leaf of their own in every format: they are not compared."""
    return "" if work.graph else work.instruction or work.name


def busy_pieces(work, step):
    """The instants of a step at which its device works: computation before collectives before copies."""
    inside = work.inside(step.start, step.end)
    cuts = sorted({step.start, step.end, *(t for w in inside for t in (w.start, w.end, w.last_arrival or w.start)
                                           if step.start < t < step.end)})
    active = [[] for _ in cuts]
    for one in inside:
        for at in range(bisect.bisect_left(cuts, max(one.start, step.start)), len(cuts)):
            if cuts[at] >= one.end:
                break
            active[at].append(one)
    pieces = []
    for at, (start, end) in enumerate(zip(cuts, cuts[1:])):
        names = sorted({op_name(w) for w in active[at] if w.kind not in (COPY, COLLECTIVE)})
        collectives = [w for w in active[at] if w.kind == COLLECTIVE]
        if names:
            pieces += [Piece(start, end, f"steps/computation/{name}", 1 / len(names)) for name in names]
        elif collectives and start < collectives[0].last_arrival:
            pieces.append(Piece(start, end, WAIT, late=collectives[0].late))
        elif collectives:
            pieces.append(Piece(start, end, "steps/exposed_collective/transfer"))
        elif active[at]:
            pieces.append(Piece(start, end, "steps/exposed_copy"))
    return pieces
