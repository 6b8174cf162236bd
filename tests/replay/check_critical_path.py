#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Properties of any right critical path, checked on run.db files: view critical_path against the raw rows.

    check_critical_path.py --xlatrace build/release/bin/xlatrace [--quick] [RUN.db | CAPTURE]...

Without files: the shared recordings (XLATRACE_SHARED_DATA). Nothing of the engine is used. Per step and
device, from `step`, `activity` and `api_call` alone:

  sum      the rows lie end to end from the step's start to its end, and sum to it to the nanosecond
  inside   a row of an activity lies in the activity's own time, has its kind, and is of the device
  idle     where nothing runs on the device, the path is host or gap
  queue    activities of one stream that were launched before the one in front of them ended, with at
           most 2 us between them, and nothing beside them on the device: all of them are on the path
  hidden   a copy that ends inside of another activity, before anything else starts or is launched, is
           not on it
  busy     of a device with one stream and no launches all time that is busy is on the path
  walk     device time on the path is that of a walk of our own: from the end of the step backward, always
           to the activity that was last to end before the present one began (the same stream first,
           where several end within 1 us); what lies between is host. Within 2 % of the step and 5 us.
           It is not asked of devices whose activities nest (CPU, TPU), nor of a step where more than 10 us
           are between and a host launches, or something else runs: there it may be the host that was late.

Exit status: 0 all hold, 1 not, 77 nothing could be read.
"""

import argparse
import bisect
import collections
import dataclasses
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components
from recording import Broken, Row, Run, bare_environment, call  # noqa: E402, beside this file

CAPTURES = (
    "captures/nsys-jax-maxtext-fsdp4-h100", "captures/nsys-jax-pax-fsdp4-a100",
    "xplane/tpu_v6e_jit_f_4chips.xplane.pb", "kineto/h100_bert-small.json.gz",
    "kineto/mi300_bert-small.json.gz", "kineto/hta_sampled_rank0.json.gz",
    "nsys/h100_2gpu_1s.sqlite", "nsys/mfu_2gpu_before.sqlite", "nsys/mfu_2gpu_after.sqlite",
)  # fmt: skip
LAG_NS = 1_000
QUEUE_LAG_NS = 2_000
UNCLEAR_NS = 10_000
ON_DEVICE = ("kernel", "copy", "collective")
CHECKS = ("sum", "inside", "idle", "queue", "hidden", "busy", "walk")


@dataclasses.dataclass
class Step:
    number: int
    device: int
    start: int
    end: int
    steady: bool
    activities: list[Row]  # Activities of the device that overlap the step, by start.
    path: list[Row]


def kind_of(activity: Row) -> str:
    if activity["collective"] or "nccl" in (activity["name"] or "").lower():
        return "collective"
    return "copy" if activity["kind"] in ("memcpy", "memset") else "kernel"


def steps_of(run: Run) -> list[Step]:
    activities = collections.defaultdict(list)
    for row in run.rows(
        "SELECT a.activity_id, a.device_id, a.stream_id, a.kind, a.name, a.start_ns, a.end_ns, a.self_ns,"
        " a.op_kind = 'collective' OR l.activity_id IS NOT NULL AS collective,"
        " c.start_ns AS called_ns, c.end_ns AS launched_ns"
        " FROM activity a LEFT JOIN api_call c USING (api_call_id)"
        " LEFT JOIN collective l USING (activity_id) WHERE a.end_ns > a.start_ns ORDER BY a.start_ns"
    ):
        activities[row["device_id"]].append(row)
    paths = collections.defaultdict(list)
    for row in run.rows(
        "SELECT step, device_id, activity_id, start_ns, end_ns, kind FROM critical_path"
        " ORDER BY start_ns, end_ns"
    ):
        paths[row["step"], row["device_id"]].append(row)
    steps = []
    for row in run.rows("SELECT step, device_id, start_ns, end_ns, steady FROM step"):
        touching = [
            activity
            for activity in activities[row["device_id"]]
            if activity["start_ns"] < row["end_ns"] and activity["end_ns"] > row["start_ns"]
        ]
        steps.append(
            Step(row["step"], row["device_id"], row["start_ns"], row["end_ns"], bool(row["steady"]),
                 touching, paths[row["step"], row["device_id"]])
        )  # fmt: skip
    return steps


def union(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def check_sum(step: Step) -> str | None:
    at = step.start
    for row in step.path:
        if row["start_ns"] != at:
            return f"a row starts at {row['start_ns']}, the previous row ends at {at}"
        if row["end_ns"] < row["start_ns"]:
            return f"a row has a negative length, start {row['start_ns']}"
        at = row["end_ns"]
    return None if at == step.end else f"the path ends at {at}, the step at {step.end}"


def check_inside(step: Step) -> str | None:
    known = {activity["activity_id"]: activity for activity in step.activities}
    for row in step.path:
        if row["kind"] not in ON_DEVICE:
            if row["kind"] not in ("host", "gap"):
                return f"kind {row['kind']}"
            continue
        activity = known.get(row["activity_id"])
        if activity is None:
            return f"activity {row['activity_id']} is not one of this device and step"
        if row["start_ns"] < activity["start_ns"] or row["end_ns"] > activity["end_ns"]:
            return (f"row {row['start_ns']}..{row['end_ns']} of activity {row['activity_id']}, which is "
                    f"{activity['start_ns']}..{activity['end_ns']}")  # fmt: skip
        if row["kind"] != kind_of(activity):
            return f"activity {row['activity_id']} is a {kind_of(activity)}, not a {row['kind']}"
    return None


def check_idle(step: Step) -> str | None:
    busy = union([(a["start_ns"], a["end_ns"]) for a in step.activities])
    starts = [start for start, _ in busy]
    for row in step.path:
        if row["kind"] not in ON_DEVICE or row["end_ns"] == row["start_ns"]:
            continue
        k = bisect.bisect_right(starts, row["start_ns"]) - 1
        if k < 0 or busy[k][1] < row["end_ns"]:
            return f"{row['kind']} at {row['start_ns']}, but no activity covers this interval"
    return None


def check_queue(step: Step) -> str | None:
    """Each activity of a full queue is on the path for all of its time."""
    if any(a["self_ns"] < a["end_ns"] - a["start_ns"] for a in step.activities):
        return None
    on_path: dict[int, int] = collections.defaultdict(int)
    for row in step.path:
        if row["kind"] in ON_DEVICE:
            on_path[row["activity_id"]] += row["end_ns"] - row["start_ns"]
    acts = [a for a in step.activities if a["start_ns"] >= step.start and a["end_ns"] <= step.end]
    # The chain must reach the end of the step: else something before the end may have replaced it.
    chain: list[Row] = []
    for before, after in zip(acts, acts[1:]):
        lag = after["start_ns"] - before["end_ns"]
        queued = after["launched_ns"] is not None and after["launched_ns"] < before["end_ns"] - LAG_NS
        if 0 <= lag <= QUEUE_LAG_NS and queued and after["stream_id"] == before["stream_id"]:
            chain = [*chain, after] if chain else [before, after]
        else:
            chain = []
    if not chain or step.end - chain[-1]["end_ns"] > QUEUE_LAG_NS:
        return None
    for activity in chain:
        missing = activity["end_ns"] - activity["start_ns"] - on_path[activity["activity_id"]]
        if missing > LAG_NS:
            return f"activity {activity['activity_id']} of a full queue lacks {missing} ns on the path"
    return None


def check_hidden(step: Step) -> str | None:
    on_path = {row["activity_id"] for row in step.path if row["kind"] in ON_DEVICE
               and row["end_ns"] > row["start_ns"]}  # fmt: skip
    for copy in step.activities:
        if copy["activity_id"] not in on_path or kind_of(copy) != "copy":
            continue
        over = [a for a in step.activities if a["activity_id"] != copy["activity_id"]
                and a["start_ns"] <= copy["start_ns"] and a["end_ns"] > copy["end_ns"] + LAG_NS]  # fmt: skip
        for cover in over:
            later = [a for a in step.activities if a["activity_id"] != copy["activity_id"]
                     and a["end_ns"] > copy["end_ns"] and a is not cover]  # fmt: skip
            free = all(
                a["start_ns"] >= cover["end_ns"] and a["called_ns"] is not None
                and a["called_ns"] < copy["end_ns"]
                for a in later
                if a["end_ns"] <= step.end
            )  # fmt: skip
            if free and cover["end_ns"] <= step.end:
                return f"copy {copy['activity_id']} is hidden by {cover['activity_id']}"
    return None


def walk(step: Step) -> dict[str, int] | None:
    """Time by kind on the path that goes back to what was last to end; None: not clear."""
    acts = sorted(step.activities, key=lambda a: int(a["end_ns"]))
    ends = [a["end_ns"] for a in acts]
    found: dict[str, int] = collections.defaultdict(int)
    at, stream = step.end, None
    while at > step.start:
        k = bisect.bisect_right(ends, at) - 1
        while k >= 0 and acts[k]["start_ns"] >= at:
            k -= 1
        if k < 0 or ends[k] <= step.start:
            # No activity ended earlier: an activity that runs across the step's start, else the host.
            across = [a for a in acts if a["start_ns"] <= step.start and a["end_ns"] >= at]
            if across and stream is not None and at - step.start > UNCLEAR_NS:
                return None
            found["host"] += at - step.start if not across else 0
            if across:
                found[kind_of(across[0])] += at - step.start
            return found
        chosen = acts[k]
        near = k
        while near >= 0 and ends[near] >= ends[k] - LAG_NS:
            if acts[near]["stream_id"] == stream and acts[near]["start_ns"] < at:
                chosen = acts[near]
                break
            near -= 1
        lag = at - chosen["end_ns"]
        if lag > UNCLEAR_NS and (
            chosen["called_ns"] is not None
            or any(a["start_ns"] < at - LAG_NS and a["end_ns"] > chosen["end_ns"] + LAG_NS for a in acts)
        ):
            return None
        found["host"] += lag
        begin = max(chosen["start_ns"], step.start)
        found[kind_of(chosen)] += chosen["end_ns"] - begin
        at, stream = begin, chosen["stream_id"]
    return found


def check_busy(step: Step) -> str | None:
    """With one stream and unknown launches, only the device's time is known, so it is the path."""
    if len({a["stream_id"] for a in step.activities}) != 1:
        return None
    if any(a["called_ns"] is not None for a in step.activities):
        return None
    busy = union(
        [(max(a["start_ns"], step.start), min(a["end_ns"], step.end)) for a in step.activities]
    )
    ours = sum(end - start for start, end in busy)
    theirs = sum(r["end_ns"] - r["start_ns"] for r in step.path if r["kind"] in ON_DEVICE)
    if abs(ours - theirs) > max(5_000, 0.02 * (step.end - step.start)):
        return f"{theirs / 1e3:.1f} us of the path on the device, which is busy for {ours / 1e3:.1f}"
    return None


def check_walk(step: Step) -> str | None:
    if any(a["self_ns"] < a["end_ns"] - a["start_ns"] for a in step.activities):
        return None
    ours = walk(step)
    if ours is None:
        return None
    theirs: dict[str, int] = collections.defaultdict(int)
    for row in step.path:
        kind = row["kind"] if row["kind"] in ON_DEVICE else "host"
        theirs[kind] += row["end_ns"] - row["start_ns"]
    allowed = max(5_000, 0.02 * (step.end - step.start))
    for kind in (*ON_DEVICE, "host"):
        if abs(ours[kind] - theirs[kind]) > allowed:
            return f"{kind} {theirs[kind] / 1e3:.1f} us on the path, the walk has {ours[kind] / 1e3:.1f}"
    return None


CHECK = {
    "sum": check_sum, "inside": check_inside, "idle": check_idle, "queue": check_queue,
    "hidden": check_hidden, "busy": check_busy, "walk": check_walk,
}  # fmt: skip


def judge(name: str, run: Run) -> int:
    """Prints a row per run; the number of checks that do not hold."""
    steps = steps_of(run)
    if not steps:
        print(f"{name:40} no steps")
        return 0
    wrong = dict.fromkeys(CHECKS, 0)
    first: dict[str, str] = {}
    for step in steps:
        if not step.path:
            # The last step of a run may be cut; a steady one has a path.
            if step.steady:
                wrong["sum"] += 1
                first.setdefault("sum", f"step {step.number} device {step.device}: no path")
            continue
        for check in CHECKS:
            said = CHECK[check](step)
            if said is not None:
                wrong[check] += 1
                first.setdefault(check, f"step {step.number} device {step.device}: {said}")
    with_path = [step for step in steps if step.path]
    median = statistics.median([(s.end - s.start) / 1e6 for s in with_path]) if with_path else 0
    marks = "  ".join(f"{check} {'ok' if not wrong[check] else wrong[check]}" for check in CHECKS)
    print(f"{name:40} {len(with_path):4} of {len(steps):4} steps {median:9.3f} ms  {marks}")
    for check, text in first.items():
        print(f"    {check}: {text}")
    return sum(map(bool, wrong.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--xlatrace", required=True, type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    xlatrace = arguments.xlatrace.resolve()
    files = list(arguments.files)
    if not files:
        files = [file for file in map(shared_data.find, CAPTURES) if file]
        if not files:
            print(f"skipped: {shared_data.reason(CAPTURES[0])}")
            return 77
    failed = 0
    with tempfile.TemporaryDirectory(prefix="xlatrace-path-") as folder:
        for number, file in enumerate(files):
            run = file
            if file.suffix != ".db":
                run = pathlib.Path(folder) / f"{number}.db"
                call([str(xlatrace), "import", str(file), "-o", str(run)], env=bare_environment())
            try:
                name = file.name if file.suffix != ".db" else "/".join(file.parts[-4:])
                failed += judge(name, Run(xlatrace, run))
            except Broken as error:
                print(f"{file.name:40} {error}")
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
