# SPDX-License-Identifier: Apache-2.0
"""Reduces a run to the records of a format, and of a recorder that starts late or stops early."""

import dataclasses

from events import CALL, COMPILE, COPY, FRAMEWORK, FUNCTION, MARK, MODULE, RANGE, THUNK, Recording

CALLS_NOT_COLLECTED = ("cudaMalloc", "cudaEventRecord", "cudaStreamWaitEvent")

NSIGHT, KINETO, XPLANE, OWN = FORMATS = ("nsight", "kineto", "xplane", "own")


def carried_kinds(plan, format):
    """Kinds of frames that a format has a record for."""
    kinds = {RANGE, CALL}
    annotated = {MODULE, THUNK, COMPILE} if plan.style == "xla" and plan.is_annotated else set()
    if format == NSIGHT:  # NVTX: the user's ranges, and XLA's. A step mark is a range like others: not written.
        kinds |= annotated
    elif format == KINETO:
        kinds |= {FRAMEWORK, MARK} | ({FUNCTION} if plan.has_stacks else set())
    elif format == XPLANE:
        # Without XLA the file has no ops of a framework.
        kinds |= {MARK, COMPILE} | ({FRAMEWORK} if plan.style == "xla" else set())
        kinds |= ({FUNCTION} if plan.has_stacks else set())
    else:
        kinds |= annotated | {MARK}
    return kinds


def has_programs(plan, format):
    """Whether the format records which program and instruction a kernel belongs to."""
    return plan.style == "xla" and (format == XPLANE or (format in (NSIGHT, OWN) and plan.is_annotated))


def shown(work, has_programs):
    """The work with the labels that the format has: nodes of a graph have no instruction."""
    if not has_programs:
        return dataclasses.replace(work, program=None, instruction=None)
    return dataclasses.replace(work, instruction=None) if work.graph else work


def with_graph_rows(work):
    """One row from the start of a graph's first kernel to the end of its last one."""
    out, rows = [], {}
    for w in work:
        row = rows.get((w.device, w.graph)) if w.graph else None
        if row:
            row.end = max(row.end, w.end)
        else:
            key = f"{w.key.split('/')[0]}/graph" if w.graph else w.key
            out.append(dataclasses.replace(w, key=key, name="graph" if w.graph else w.name))
            if w.graph:
                rows[w.device, w.graph] = out[-1]
    return out


def cuts(plan, process):
    """When the recorder starts and stops. At least half of the loop lies between."""
    launches = [w.call for w in process.work if w.iteration is not None]
    first, last = launches[0].start, launches[-1].end
    begin = first + int((last - first) * plan.cut_begin) if plan.cut_begin else 0
    stop = last - int((last - first) * plan.cut_end) if plan.cut_end else process.end
    return begin, stop


def on_own_clock(recording, plan):
    """The recording with the times of its host's clock."""
    offset = plan.clock_offsets[recording.process.rank] if plan.clock_offsets else 0
    if not offset:
        return recording

    def moved(record):
        return dataclasses.replace(record, start=record.start + offset, end=record.end + offset)

    window = tuple(t + offset for t in recording.window) if recording.window else None
    return dataclasses.replace(
        recording, frames=[moved(f) for f in recording.frames], work=[moved(w) for w in recording.work], window=window,
        begin=recording.begin + offset, stop=recording.stop + offset)


def record(run, process, format):
    plan = run.plan
    # Our own collector starts with the process and stops with it.
    # All ranks of a job are recorded in the same interval.
    begin, stop = (0, process.end) if format == OWN else cuts(plan, run.processes[0])
    stop = process.end if plan.cut_end == 0 else stop
    kinds = carried_kinds(plan, format)
    frames = [f for f in process.frames if f.kind in kinds and begin <= f.start and f.end <= stop]
    if format == OWN:  # Our collector records the calls that start work or wait for it.
        frames = [f for f in frames if f.name not in CALLS_NOT_COLLECTED]
    seen = {id(f) for f in frames if f.kind == CALL}
    # A recorder that stops waits for the devices.
    work = [w for w in process.work if id(w.call) in seen]
    if format == NSIGHT and plan.has_graph_rows:
        work = with_graph_rows(work)
    # An iteration of which only copies are recorded is no step: a step starts with other work.
    with_kernels = {w.iteration for w in work if w.kind != COPY}
    work = [w if w.iteration in with_kernels else dataclasses.replace(w, iteration=None) for w in work]
    work = [shown(w, has_programs(plan, format)) for w in work]
    if plan.is_device_only and format in (NSIGHT, KINETO):
        frames, work = [], [dataclasses.replace(w, call=None) for w in work]
    window = None
    if format == XPLANE:
        window = (begin, max([stop, *(w.end for w in work)]))
    elif format == OWN:  # The start of the process is a fact of the file, its end is not.
        window = (0, max(record.end for record in frames + work))
    return Recording(format, process, frames, work, begin, stop, plan.ranks, window)
