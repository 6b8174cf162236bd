#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Critical paths of programs whose path is known, because they were written to have it.

    check_planted_paths.py --xlatrace build/release/bin/xlatrace [--only NAME]... [--keep DIR]

Scripts of workloads.py run on the fake GPU. For the median steady step, the time of each instruction on
the critical path is compared with the script's own times, in microseconds. The time that belongs neither
to a kernel nor to a copy is compared, too. All checks of check_critical_path.py also run on these
recordings.

Exit status: 0 all are right, 1 not, 77 nothing could be run.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import workloads  # noqa: E402, beside this file
from check_critical_path import judge  # noqa: E402
from pairs import Pair, Side  # noqa: E402
from recording import Broken, Recorder, Run, Skip  # noqa: E402

# For a pair of workloads.py and its side: the time of each instruction on the path, by the script.
# Instructions that are not listed are not on the path. Other time of the step lies between the launches.
EXPECTED: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("queue_op_faster", "before", {"dot.1": 600, "add.2": 240, "sort.3": 600}),
    ("queue_op_faster", "after", {"dot.1": 600, "add.2": 240, "sort.3": 180}),
    ("side_op_faster", "before", {"dot.1": 800, "add.2": 100}),
    ("side_becomes_path", "before", {"dot.1": 800, "add.2": 100}),
    ("side_becomes_path", "after", {"gather.3": 600, "add.2": 100}),
    ("side_grows_to_path", "after", {"gather.3": 960, "add.2": 100}),
    ("copy_half_hidden", "before", {"copy.4": 379.9, "add.2": 1500}),
    ("copy_hidden", "before", {"copy.4": 379.9, "dot.1": 1600}),
    ("copy_hidden", "after", {"dot.1": 1600}),
    ("copy_gone", "before", {"copy.4": 379.9, "dot.1": 1600, "add.2": 1500}),
    ("graph_op_faster", "before", {"dot.1": 250, "gather.3": 300, "add.2": 60}),
    ("graph_branch_faster", "before", {"dot.1": 300}),
    ("graph_branch_faster", "after", {"gather.3": 200}),
    ("collective_faster", "before", {"dot.1": 400, "all-reduce.2": 400, "add.3": 60}),
    ("collective_hidden", "after", {"dot.1": 400, "add.3": 500}),
)
ALLOWED_PCT = 1.0  # Per cent of the step.


def side_of(pair: Pair, which: str) -> Side:
    return pair.before if which == "before" else pair.after


def on_path_us(run: Run) -> tuple[dict[str, float], float]:
    """Time on the path by instruction in the median steady step of the first device; the step itself."""
    steps = run.rows(
        "SELECT step, end_ns - start_ns AS ns FROM step WHERE steady AND device_id = 1 ORDER BY ns, step"
    )
    if not steps:
        raise Broken(f"no steady steps in {run.file}")
    middle = steps[len(steps) // 2]
    rows = run.rows(
        "SELECT a.instruction AS name, sum(p.end_ns - p.start_ns) AS ns FROM critical_path p JOIN activity a"
        " USING (activity_id) WHERE p.device_id = 1 AND p.kind IN ('kernel', 'copy', 'collective')"
        f" AND p.step = {middle['step']} GROUP BY 1"
    )
    return {row["name"]: row["ns"] / 1000 for row in rows if row["ns"]}, middle["ns"] / 1000


def differences(expected: dict[str, float], found: dict[str, float], step_us: float) -> list[str]:
    allowed = step_us * ALLOWED_PCT / 100
    return [
        f"{name} is on the path for {found.get(name, 0):.1f} us, by the script {expected.get(name, 0):.1f}"
        for name in sorted(expected | found)
        if abs(found.get(name, 0) - expected.get(name, 0)) > allowed
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--xlatrace", required=True, type=pathlib.Path)
    parser.add_argument("--only", action="append", help="pairs of this name")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the recordings in this folder")
    options = parser.parse_args()
    recorder = Recorder(options.xlatrace.resolve())
    pairs = {pair.name: pair for pair in workloads.pairs()}
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="xlatrace-paths-") as temporary:
        folder = (options.keep or pathlib.Path(temporary)).resolve()
        for name, which, expected in EXPECTED:
            if options.only and name not in options.only:
                continue
            title = f"{name} {which}"
            try:
                run = recorder.record("workload", side_of(pairs[name], which), folder / name / which)
                found, step_us = on_path_us(run)
            except Skip as skip:
                print(f"skip: {skip}")
                return 77
            except Broken as error:
                print(f"{title}: {error}")
                wrong += 1
                continue
            said = differences(expected, found, step_us)
            wrong += bool(said) + bool(judge(title, run))
            for text in said:
                print(f"    WRONG {text}")
    print("all as planted" if not wrong else f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
