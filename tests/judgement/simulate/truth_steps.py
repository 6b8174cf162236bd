# SPDX-License-Identifier: Apache-2.0
"""Steps of a recording, by the definitions of RUNDB.md ("Steps") as README.md reads them.

The simulation has the iteration of each work, so nothing is detected here. Only the boundaries are computed.
"""

import collections
import dataclasses
import math

from events import COMPILE, COPY


@dataclasses.dataclass
class Step:
    number: int  # The iteration.
    start: int
    end: int
    has_duration: bool  # The next step follows without other work, and no end of the window cuts it.
    is_steady: bool = True


def window_of(recording):
    """The recorded time of the process, which is the root of its trees."""
    if recording.window:
        return recording.window
    records = recording.frames + recording.work
    return (min(r.start for r in records), max(r.end for r in records)) if records else (0, 0)


def is_first_execution_known(recording):
    """Whether the recording shows that its first iteration is the first of the process."""
    first = min((w.order for w in recording.work if w.iteration is not None), default=None)
    if first is None or any(w.iteration == 0 and w.order < first for w in recording.process.work):
        return False
    return recording.format == "own" or any(f.kind == COMPILE for f in recording.frames)


def find_steps(recording, device):
    """(the first execution or None, the steps) of a device, in order."""
    by_iteration = collections.defaultdict(list)
    for work in recording.work:
        if work.device == device and work.iteration is not None:
            by_iteration[work.iteration].append(work)
    first_key = key_of_starts(recording, device, by_iteration)
    starts, is_cut = {}, {}
    for i, works in by_iteration.items():
        first = [w for w in works if w.key == first_key]
        is_cut[i] = not first
        starts[i] = min(first or works, key=lambda w: w.start).start
    others = sorted(w.start for w in recording.work if w.device == device and w.iteration is None)
    steps, numbers = [], sorted(by_iteration)
    for i, after in zip(numbers, [*numbers[1:], None]):
        own_end = max(w.end for w in by_iteration[i])
        is_followed = after is not None and not any(starts[i] <= start < starts[after] for start in others)
        end = starts[after] if is_followed else own_end
        if after is not None:  # Work of a copy for later iterations does not lengthen a step.
            end = min(end, starts[after])
        steps.append(Step(i, starts[i], end, is_followed and not is_cut[i]))
    first = None
    if steps and steps[0].number == 0 and is_first_execution_known(recording):
        first = steps.pop(0)
    for step in steps:
        step.is_steady = step.has_duration
    return first, steps


def work_group(work):
    """Equal for the work of one call: the kernels of a graph, or their one row."""
    return f"graph {work.graph}" if work.graph else work.order


def key_of_starts(recording, device, by_iteration):
    """The first work in launch order, not counting copies, that every complete period has."""
    keys = {(w.iteration, work_group(w)) for w in recording.process.work if w.device == device}
    launches = collections.Counter(iteration for iteration, _ in keys)
    whole = [works for i, works in by_iteration.items() if len({work_group(w) for w in works}) == launches[i]]
    common = set.intersection(*({w.key for w in works} for works in whole)) if whole else set()
    first = min((w for works in whole for w in works if w.kind != COPY and w.key in common), key=lambda w: w.order,
                default=None)
    return first.key if first else None


def percentile(values, q):
    """Linear between the sorted values."""
    values = sorted(values)
    rank = (len(values) - 1) * q
    low = math.floor(rank)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (rank - low)


def durations(steps_of_devices):
    """Durations of the steady steps, by number; means over the devices."""
    by_number = collections.defaultdict(list)
    for steps in steps_of_devices:
        for step in steps:
            if step.is_steady:
                by_number[step.number].append(step.end - step.start)
    return {n: sum(v) / len(v) for n, v in by_number.items() if len(v) == len(steps_of_devices)}


def typical(values):
    """The mean of the middle half."""
    values = sorted(values)
    cut = len(values) // 4
    middle = values[cut : len(values) - cut]
    return int(sum(middle) / len(middle)) if len(values) >= 2 else None


def pause_limit(values):
    p25, p75 = percentile(values, 0.25), percentile(values, 0.75)
    return p75 + 3 * (p75 - p25)
