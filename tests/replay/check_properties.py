#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Invariants of every prediction, for any recording, checked by command line on real run.db files.

    check_properties.py --xlatrace build/release/bin/xlatrace [--ops N] [RUN.db | CAPTURE]...

Without files: the shared recordings (XLATRACE_SHARED_DATA). For the N largest ops of each (kernels,
where the program has none), and N spread over the others:

  nothing   no change, and an op at 1x, give the recorded step within the replay error that is stated
  faster    an op at half its time makes the step no slower, nor shorter by more than it saves per step
  slower    at twice its time no faster, nor longer by more than it adds
  without   an op that is gone makes the step no slower than the same op at half
  off path  an op that the critical path of the step as it is does not have, at half its time: no change
  together  two ops at half are no slower than the better one alone, and two that are gone than that
  range     low <= predicted <= high
  sum       kinds and rows of the new critical path sum to its length, and that is the step's within 6 %
             (of two steps that a change tells apart it is one, the step their mean)

If there is no prediction, a reason must be printed. Exit status: 0 all hold, 1 not, 77 no recording to
check."""

import argparse
import collections
import dataclasses
import json
import pathlib
import sys
import tempfile
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_critical_path import CAPTURES  # noqa: E402, beside this file
from recording import Broken, Run, bare_environment, call  # noqa: E402

Answer = dict[str, Any]
MOST_ROWS = 1000  # What --top takes.


@dataclasses.dataclass(frozen=True)
class Part:
    option: str
    handle: str
    name: str
    ns: float  # The most that it takes in any step of any device (a kernel: in the run).
    unique: bool  # No other has its name.


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
        self.hold(abs(length - predicted) <= 2 + 6 * predicted // 100, said, f"path {length}, step {predicted}")
        return answer

    def hold(self, right: bool, said: str, why: str) -> None:
        if not right:
            self.wrong.append(f"{said}: {why}")

    def time_of(self, *words: str) -> int | None:
        predicted = self.ask(*words)["predicted_step_ns"]
        return None if predicted is None else int(predicted)

    def parts(self) -> list[Part]:
        """Names to select, largest first: ops, or kernels if the program has no ops."""
        names: collections.Counter[str] = collections.Counter()
        rows = self.run.rows(
            "SELECT o.handle, o.instruction AS name, max(l.ns) AS ns FROM op_time o"
            " JOIN (SELECT handle, sum(duration_ns) AS ns FROM op_launch JOIN step USING (step, device_id)"
            " WHERE typical GROUP BY handle, step, device_id) l USING (handle)"
            " WHERE steady_ns > 0 AND instruction IS NOT NULL GROUP BY o.handle ORDER BY steady_ns DESC"
        )
        option = "--op"
        if not rows:
            option = "--kernel"
            rows = self.run.rows(
                "SELECT handle, kernel_name AS name, total_ns AS ns FROM kernel"
                " WHERE handle IS NOT NULL ORDER BY total_ns DESC"
            )
        names.update(row["name"] for row in rows)
        return [
            Part(option, row["handle"], row["name"], float(row["ns"]), names[row["name"]] == 1)
            for row in rows
        ]

    def check_alone(self, part: Part, step: int, base: Answer) -> int | None:
        """The step with the part at half."""
        slack = 1 + step // 100_000  # Slack for rounding.
        handle, ns = part.handle, part.ns
        same = self.time_of(part.option, f"{handle}=1x")
        half = self.time_of(part.option, f"{handle}=0.5x")
        gone = self.time_of("--without", handle)
        twice = self.time_of(part.option, f"{handle}=2x")
        if same is None or half is None or gone is None or twice is None:
            return None
        self.hold(abs(same - step) <= slack, f"{handle} at 1x", f"{same}, the step is {step}")
        self.hold(half <= step + slack, f"{handle} at 0.5x", f"{half}, the step is {step}")
        self.hold(gone <= half + slack, f"{handle} gone", f"{gone}, at half it is {half}")
        self.hold(twice >= step - slack, f"{handle} at 2x", f"{twice}, the step is {step}")
        self.hold(twice <= step + ns + slack, f"{handle} at 2x",
                  f"{twice}: more than {step} and the {ns:.0f} that it takes")  # fmt: skip
        self.hold(half >= step - 0.5 * ns - slack, f"{handle} at 0.5x",
                  f"{half}: less than {step} without half of the {ns:.0f} that it takes")  # fmt: skip
        rows = base["critical_path"]["rows"]
        on_path = len(rows) >= MOST_ROWS or part.name in {row["what"] for row in rows}
        if part.option == "--op" and part.unique and not on_path:
            self.hold(abs(half - step) <= slack, f"{handle} at 0.5x",
                      f"{half}: {part.name} is not on the path of {step}")  # fmt: skip
        return half

    def check_together(self, part: Part, other: Part, better: int, step: int) -> None:
        slack = 1 + step // 100_000
        both = self.time_of(
            part.option, f"{part.handle}=0.5x", other.option, f"{other.handle}=0.5x"
        )
        gone = self.time_of("--without", part.handle, "--without", other.handle)
        if both is None or gone is None:
            return
        said = f"{part.handle} and {other.handle}"
        self.hold(both <= better + slack, f"{said} at half", f"{both}, one alone {better}")
        self.hold(gone <= both + slack, f"{said} gone", f"{gone}, at half {both}")

    def check(self, count: int) -> str:
        base = self.ask()
        if base["predicted_step_ns"] is None:
            return f"withheld: {base['withheld']}"
        step, recorded = int(base["predicted_step_ns"]), int(base["recorded_step_ns"])
        error = abs(step / recorded - 1) * 100
        self.hold(error <= base["replay_error_pct"] + 0.01, "no change",
                  f"{error:.2f} % from the recorded step, {base['replay_error_pct']} % is said")  # fmt: skip
        parts = self.parts()
        rest = parts[count:]
        chosen = parts[:count] + rest[:: max(1, len(rest) // count)][:count]
        alone = [(self.check_alone(part, step, base), part) for part in chosen]
        for (half, part), (second, other) in zip(alone, alone[1:]):
            if half is not None and second is not None:
                self.check_together(part, other, min(half, second), step)
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
        files = [file for file in map(shared_data.find, CAPTURES) if file]
        if not files:
            print(f"skipped: {shared_data.reason(CAPTURES[0])}")
            return 77
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
