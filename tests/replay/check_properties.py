#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold of every prediction, whatever the recording: asked by command line of real run.db files.

    check_properties.py --xlatrace build/release/bin/xlatrace [--ops N] [RUN.db | CAPTURE]...

Without files: the shared recordings (XLATRACE_SHARED_DATA). For the N largest ops of each, and N spread
over the others:

  nothing   no change, and an op at 1x, give the recorded step within the replay error that is stated
  faster    an op at half its time makes the step no slower, nor shorter by more than it saves per step
  slower    at twice its time no faster, nor longer by more than it adds
  without   an op that is gone makes the step no slower than the same op at half
  off path  an op that the critical path of the step as it is does not have, at half its time: no change
  together  two ops at half are no slower than the better one alone, and two that are gone than that
  range     low <= predicted <= high
  sum       kinds and rows of the new critical path sum to its length, and that is the step's within 5 %

Where there is no prediction, a reason must be said. Exit status: 0 all hold, 1 not, 77 nothing to ask.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_critical_path import CAPTURES  # noqa: E402, beside this file
from recording import Broken, Run, bare_environment, call  # noqa: E402

Answer = dict[str, Any]
MOST_ROWS = 1000  # What --top takes.


class Properties:
    def __init__(self, xlatrace: pathlib.Path, file: pathlib.Path) -> None:
        self.xlatrace = xlatrace
        self.file = file
        self.run = Run(xlatrace, file)
        self.wrong: list[str] = []
        self.asked = 0

    def ask(self, *words: str) -> Answer:
        self.asked += 1
        command = [str(self.xlatrace), "what-if", str(self.file), *words, "--top", str(MOST_ROWS),
                   "--format", "json"]  # fmt: skip
        answer: Answer = json.loads(call(command, env=bare_environment()).stdout)
        said = " ".join(words) or "no change"
        if answer["predicted_step_ns"] is None:
            if not answer["withheld"]:
                self.wrong.append(f"{said}: no prediction, and no reason")
            return answer
        low, predicted, high = (answer[f"{w}_step_ns"] for w in ("low", "predicted", "high"))
        self.hold(low <= predicted <= high, said, f"{predicted} is not in {low}..{high}")
        path = answer["critical_path"]
        kinds = sum(path["by_kind"].values())
        length = path["length_ns"]
        self.hold(abs(kinds - length) <= 1, said, f"path {length}, kinds {kinds}")
        rows = sum(row["ns"] for row in path["rows"])
        whole = len(path["rows"]) < MOST_ROWS
        self.hold(not whole or abs(rows - length) <= 1, said, f"path {length}, rows {rows}")
        # The path is that of one step of one device, the step a mean or a median of all.
        self.hold(abs(length - predicted) <= 2 + predicted // 20, said, f"path {length}, step {predicted}")
        return answer

    def hold(self, right: bool, said: str, why: str) -> None:
        if not right:
            self.wrong.append(f"{said}: {why}")

    def time_of(self, *words: str) -> int | None:
        predicted = self.ask(*words)["predicted_step_ns"]
        return None if predicted is None else int(predicted)

    def check(self, count: int) -> str:
        base = self.ask()
        if base["predicted_step_ns"] is None:
            return f"withheld: {base['withheld']}"
        step, recorded = int(base["predicted_step_ns"]), int(base["recorded_step_ns"])
        error = abs(step / recorded - 1) * 100
        self.hold(error <= base["replay_error_pct"] + 0.01, "no change",
                  f"{error:.2f} % from the recorded step, {base['replay_error_pct']} % is said")  # fmt: skip
        on_path = {row["what"] for row in base["critical_path"]["rows"]}
        ops = self.run.rows(
            "SELECT o.handle, o.instruction, max(l.ns) AS ns FROM op_time o"
            " JOIN (SELECT handle, sum(duration_ns) AS ns FROM op_launch JOIN step USING (step, device_id) WHERE steady"
            " GROUP BY handle, step, device_id) l USING (handle)"
            " WHERE steady_ns > 0 AND instruction IS NOT NULL GROUP BY o.handle ORDER BY steady_ns DESC"
        )
        others = ops[count:]
        chosen = ops[:count] + others[:: max(1, len(others) // count)][:count]
        names = [op["instruction"] for op in ops]
        best = []
        for op in chosen:
            handle = op["handle"]
            slack = 1 + step // 100_000  # Of rounding.
            same = self.time_of("--op", f"{handle}=1x")
            half = self.time_of("--op", f"{handle}=0.5x")
            gone = self.time_of("--without", handle)
            twice = self.time_of("--op", f"{handle}=2x")
            if same is None or half is None or gone is None or twice is None:
                continue
            ns = float(op["ns"])
            self.hold(abs(same - step) <= slack, f"--op {handle}=1x", f"{same}, the step is {step}")
            self.hold(half <= step + slack, f"--op {handle}=0.5x", f"{half}, the step is {step}")
            self.hold(gone <= half + slack, f"--without {handle}", f"{gone}, at half it is {half}")
            self.hold(twice >= step - slack, f"--op {handle}=2x", f"{twice}, the step is {step}")
            # `ns` is the most that the op takes in any step of any device.
            self.hold(twice <= step + ns + slack, f"--op {handle}=2x",
                      f"{twice}: more than {step} and the op's {ns:.0f}")  # fmt: skip
            self.hold(half >= step - 0.5 * ns - slack, f"--op {handle}=0.5x",
                      f"{half}: less than {step} without half of the op's {ns:.0f}")  # fmt: skip
            whole = len(base["critical_path"]["rows"]) < MOST_ROWS
            if whole and op["instruction"] not in on_path and names.count(op["instruction"]) == 1:
                self.hold(abs(half - step) <= slack, f"--op {handle}=0.5x",
                          f"{half}: {op['instruction']} is not on the path of {step}")  # fmt: skip
            best.append((half, handle))
        for (half, handle), (second, other) in zip(best, best[1:]):
            both = self.time_of("--op", f"{handle}=0.5x", "--op", f"{other}=0.5x")
            gone = self.time_of("--without", handle, "--without", other)
            if both is None or gone is None:
                continue
            self.hold(both <= min(half, second) + slack, f"{handle} and {other} at half",
                      f"{both}, one alone {min(half, second)}")  # fmt: skip
            self.hold(gone <= both + slack, f"{handle} and {other} gone", f"{gone}, at half {both}")
        return f"step {step / 1e6:.3f} ms, replay error {base['replay_error_pct']:.2f} %"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--xlatrace", required=True, type=pathlib.Path)
    parser.add_argument("--ops", type=int, default=4)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    xlatrace = options.xlatrace.resolve()
    files = list(options.files)
    if not files:
        shared = os.environ.get("XLATRACE_SHARED_DATA")
        if not shared or not pathlib.Path(shared).is_dir():
            print("skip: XLATRACE_SHARED_DATA is not set")
            return 77
        files = [pathlib.Path(shared) / name for name in CAPTURES]
        files = [file for file in files if file.exists()]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="xlatrace-properties-") as folder:
        for number, file in enumerate(files):
            run = file
            if file.suffix != ".db":
                run = pathlib.Path(folder) / f"{number}.db"
                call([str(xlatrace), "import", str(file), "-o", str(run)], env=bare_environment())
            properties = Properties(xlatrace, run)
            try:
                said = properties.check(options.ops)
            except Broken as error:
                said = ""
                properties.wrong.append(str(error))
            failed += bool(properties.wrong)
            name = file.name if file.suffix != ".db" else "/".join(file.parts[-4:])
            print(f"{name:40} {properties.asked:4} asked, {len(properties.wrong)} wrong  {said}",
                  flush=True)  # fmt: skip
            for text in properties.wrong[:12]:
                print(f"    {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
