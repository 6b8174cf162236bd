# SPDX-License-Identifier: Apache-2.0
"""Divides idle time by instants, by the rules of RUNDB.md ("Idle") as README.md reads them."""

import bisect
import itertools

from events import CALL, COMPILE, FRAMEWORK, FUNCTION, MARK, MODULE, RANGE, THUNK

NOTHING = "nothing recorded"
FRAMEWORK_KINDS = {FRAMEWORK, MODULE, THUNK, COMPILE}
USER_KINDS = {RANGE, FUNCTION}


class Threads:
    """The innermost recorded frame of each host thread at each instant."""

    def __init__(self, frames):
        self.compilations = [f for f in frames if f.kind == COMPILE]
        by_thread = {}
        for frame in frames:
            if frame.kind != MARK:
                by_thread.setdefault(frame.thread, []).append(frame)
        self.pieces = {thread: flatten(frames) for thread, frames in by_thread.items()}
        self.starts = {thread: [piece[0] for piece in pieces] for thread, pieces in self.pieces.items()}

    def during(self, thread, start, end):
        """Pieces (start, end, kind, name) that fill the interval."""
        pieces = self.pieces.get(thread, [])
        at = max(0, bisect.bisect_right(self.starts.get(thread, []), start) - 1)
        now = start
        while now < end:
            if at < len(pieces) and pieces[at][1] <= now:
                at += 1
                continue
            if at >= len(pieces) or pieces[at][0] >= end:
                yield now, end, "host", NOTHING
                return
            piece_start, piece_end, kind, name = pieces[at]
            if piece_start > now:
                yield now, piece_start, "host", NOTHING
                now = piece_start
            yield now, min(piece_end, end), kind, name
            now = min(piece_end, end)


def flatten(frames):
    """Intervals without overlap (start, end, kind, name) of frames that nest."""
    frames = sorted(frames, key=lambda f: (f.start, -f.end))
    out, stack, now = [], [], None
    for frame in [*frames, None]:
        until = frame.start if frame else None
        while stack and (frame is None or stack[-1].end <= until):
            top_end = stack[-1].end
            add_piece(out, now, top_end, stack)
            now = max(now, top_end)
            stack.pop()
        if frame is None:
            break
        if stack:
            add_piece(out, now, until, stack)
        now = until
        stack.append(frame)
    return out


def add_piece(out, start, end, stack):
    if end > start:
        out.append((start, end, *kind_of(stack)))


def kind_of(stack):
    """Kind and name of an instant in these frames, the innermost last."""
    name = next((f.name for f in reversed(stack) if f.kind in USER_KINDS), None)
    innermost = stack[-1]
    if innermost.kind == CALL:
        return innermost.call_class, name
    if innermost.kind == COMPILE:
        return "compile", name
    return "dispatch" if innermost.kind in FRAMEWORK_KINDS else "host", name


class DeviceWork:
    """The work of one device in the order of its starts, the first launched first."""

    def __init__(self, recording, device):
        self.works = sorted((w for w in recording.work if w.device == device), key=lambda w: (w.start, w.order))
        self.ends = list(itertools.accumulate((w.end for w in self.works), max))

    def since(self, start):
        """Work from the first one that ends after `start` on."""
        return itertools.islice(self.works, bisect.bisect_right(self.ends, start), None)

    def inside(self, start, end):
        """Work that runs in the interval."""
        return [w for w in itertools.takewhile(lambda w: w.start < end, self.since(start)) if w.end > start]


def idle_pieces(device_work, threads, start, end):
    """Pieces (start, end, kind, name) of the idle time of a device within an interval."""
    now = start
    for work in device_work.since(start):
        if work.start > now:
            yield from gap_pieces(work, threads, now, min(work.start, end))
        now = max(now, work.end)
        if now >= end:
            return
    if now < end:
        yield now, end, "shutdown", None


def gap_pieces(work, threads, start, end):
    """A gap before `work`, or its part from `start` to `end`."""
    if work.call is None:
        yield start, end, "unknown", None
        return
    launched = min(max(work.call.end, start), end)
    if start < launched:
        yield from threads.during(work.call.thread, start, launched)
    ready = min(max(work.ready, launched), end)
    if launched < ready:
        yield launched, ready, "dependency", None
    if ready < end:
        yield ready, end, "launch", None
