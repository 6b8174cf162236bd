# SPDX-License-Identifier: Apache-2.0
"""The rows that views of a run.db must have, counted from the work of a simulated run (tests/judgement/simulate).

Shares no code with the product and none with the simulator's truth. Times are nanoseconds since the first work of
the process, because the ranks of a job have clocks of their own.
"""

import collections

COLLECTIVE, COPY, MODULE, THUNK = "collective", "copy", "module", "thunk"
SHORTEST_GAP_NS = 1_000  # docs/schema.md, view gap.


def merged(intervals):
    """The union as sorted intervals that do not touch."""
    out = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return [(start, end) for start, end in out]


def length(intervals):
    return sum(end - start for start, end in merged(intervals))


def outside(intervals, others):
    """How much of the union of `intervals` no interval of `others` covers."""
    return length([*intervals, *others]) - length(others)


def first_start(recording):
    return min(work.start for work in recording.work)


def interval(work, zero):
    return work.start - zero, work.end - zero


def activities(recordings):
    """{(process, device, stream, kind, start, end, bytes): count}"""
    rows = collections.Counter()
    for process, recording in enumerate(recordings):
        zero = first_start(recording)
        for work in recording.work:
            kind = "memcpy" if work.kind == COPY else "kernel"
            rows[(process, work.device, work.stream, kind, *interval(work, zero), work.bytes or None)] += 1
    return rows


def by_device(recordings):
    """{(process, device): [(work, interval)]}"""
    out = collections.defaultdict(list)
    for process, recording in enumerate(recordings):
        zero = first_start(recording)
        for work in recording.work:
            out[process, work.device].append((work, interval(work, zero)))
    return out


def busy_times(recordings):
    """{(process, device): the row of view busy_time}"""
    rows = {}
    for device, works in by_device(recordings).items():
        times = [times for _, times in works]
        compute = [times for work, times in works if work.kind not in (COLLECTIVE, COPY)]
        collective = [times for work, times in works if work.kind == COLLECTIVE]
        copy = [times for work, times in works if work.kind == COPY]
        start, end, busy = min(t[0] for t in times), max(t[1] for t in times), length(times)
        rows[device] = {
            "start_ns": start,
            "end_ns": end,
            "busy_ns": busy,
            "idle_ns": end - start - busy,
            "overlap_ns": sum(t[1] - t[0] for t in times) - busy,
            "compute_ns": length(compute),
            "collective_ns": length(collective),
            "exposed_collective_ns": outside(collective, compute),
            "copy_ns": length(copy),
            "exposed_copy_ns": outside(copy, compute + collective),
        }
    return rows


def gaps(recordings):
    """{(process, device): [(start, end)]}"""
    return {
        device: [
            (before[1], after[0]) for before, after in zip(busy, busy[1:]) if after[0] - before[1] >= SHORTEST_GAP_NS
        ]
        for device, works in by_device(recordings).items()
        for busy in [merged(times for _, times in works)]
    }


def executions(recordings):
    """{(process, device, program, start, end, activities): count} of work whose program is known."""
    runs = collections.defaultdict(list)
    for (process, device), works in by_device(recordings).items():
        for work, times in works:
            if work.program and work.kind != COPY:
                runs[process, device, work.program.name, work.execution].append(times)
    return collections.Counter(
        (process, device, name, min(t[0] for t in times), max(t[1] for t in times), len(times))
        for (process, device, name, _), times in runs.items()
    )


def instructions(recordings, by_range):
    """{(process, device, start, end): [(program, instruction, is it certain to be known)]}

    `by_range`: the format has programs and instructions as ranges. Those that began before the recording are not there.
    """
    rows = collections.defaultdict(list)
    for process, recording in enumerate(recordings):
        zero = first_start(recording)
        spans = {
            kind: merged((frame.start, frame.end) for frame in recording.frames if frame.kind == kind)
            for kind in (MODULE, THUNK)
        }
        for work in recording.work:
            if work.instruction and work.program and work.kind != COPY:
                is_known = not by_range or all(
                    any(start <= work.call.start < end for start, end in spans[kind]) for kind in (MODULE, THUNK)
                )
                rows[(process, work.device, *interval(work, zero))].append(
                    (work.program.name, work.instruction, is_known)
                )
    return rows


def calls(recordings):
    """{(process, device, start of the work): (start, end) of the call that launched it}"""
    rows = collections.defaultdict(set)
    for process, recording in enumerate(recordings):
        zero = first_start(recording)
        for work in recording.work:
            if work.call:
                rows[process, work.device, work.start - zero].add((work.call.start - zero, work.call.end - zero))
    return rows
