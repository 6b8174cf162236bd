#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes that are really made and measured, beside what `xlatrace what-if` predicts of them.

    check_what_if.py --xlatrace build/release/bin/xlatrace [--kinds KIND,...] [--only NAME]... [--runs N]
        [--keep FOLDER | --from FOLDER]

For each pair, the program before and the program after the change are recorded, one after the other, N
times. N is 3 if the host's own time is in the step, else 1, because the fake GPU's times are the
scenario's. `what-if` reads the recording before the change. The factor of an op is its own time in both
recordings, so the test concerns the prediction of the step. Steps are the steady ones of view `step`,
their median. Columns:

  before, after   step in milliseconds, median of the runs
  predicted       by what-if, low and high: its range
  error           predicted against after; the median of what each pair of runs gives
  noise           half the interval that holds the median of after / before (95 %; of fewer than six runs
                  all of them); above 3 %: not judged
  verdict         within (5 %), range (not within, but the range held it), WRONG

--from judges what --keep has left in a folder, and records nothing: machines are seldom idle.

A run without steady steps, as a busy machine gives, is left out of its pair; half of the runs must be left.

Kinds: `workload` runs scripts on the fake GPU, deterministic except for the host. `jax_gpu` is compiled by XLA
and runs on the fake GPU. `jax_cpu` uses one thread and needs an idle machine. --quick: only short pairs that do
not depend on the machine's load.

Exit status: 0 at least 11 of 12 within 5 % and the range held the others, 1 not, 77 nothing could be run.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import frameworks  # noqa: E402, beside this file
import workloads  # noqa: E402
from pairs import Flag, Pair, Without  # noqa: E402
from recording import Broken, Recorder, Run, Skip, bare_environment, call  # noqa: E402

WITHIN_PCT = 5.0
NOISE_PCT = 3.0
LEAST_RUNS = 3  # For a pair with the host in it; fewer runs do not show the noise.
CLOCK_PCT = 1.0  # The later run's own scatter, for checks whether an interval contains it.


@dataclasses.dataclass
class Outcome:
    """One time before and after."""

    before: float
    after: float
    predicted: float | None
    low: float | None
    high: float | None
    command: str
    said: str  # Why there is no prediction.

    def error_pct(self) -> float:
        return 100 * ((self.predicted or 0) / self.after - 1)

    def held(self) -> bool:
        if self.low is None or self.high is None:
            return False
        margin = self.after * CLOCK_PCT / 100
        return self.low - margin <= self.after <= self.high + margin


def arguments_of(pair: Pair, before: Run, after: Run) -> list[str]:
    """The command that a user would type for these two recordings."""
    words: list[str] = []
    for change in pair.changes:
        if isinstance(change, Flag):
            words += change.words.split()
            continue
        handles = before.handles(change.where)
        if not handles:
            raise Broken(f"{pair.name}: no op has {change.where}")
        if isinstance(change, Without):
            words += [word for handle in handles for word in ("--without", handle)]
            continue
        took = before.op_ns(change.where)
        takes = after.op_ns(change.after or change.where)
        if took == 0:
            raise Broken(f"{pair.name}: {change.where} takes no time")
        words += [w for handle in handles for w in ("--op", f"{handle}={takes / took:.4f}x")]
    return words


def ask(recorder: Recorder, pair: Pair, folder: pathlib.Path, kept: bool) -> Outcome:
    if kept:
        before, after = recorder.kept(folder / "before"), recorder.kept(folder / "after")
    else:
        before = recorder.record(pair.kind, pair.before, folder / "before")
        after = recorder.record(pair.kind, pair.after, folder / "after")
    for run in (before, after):
        run.step_ns()  # Without steps there is no other figure to compare.
    words = arguments_of(pair, before, after)
    answer = json.loads(
        call([str(recorder.xlatrace), "what-if", str(before.file), *words, "--format", "json"],
             env=bare_environment()).stdout
    )  # fmt: skip
    return Outcome(
        before.step_ns(), after.step_ns(), answer.get("predicted_step_ns"), answer.get("low_step_ns"),
        answer.get("high_step_ns"), " ".join(words), str(answer.get("withheld") or ""),
    )  # fmt: skip


@dataclasses.dataclass
class Verdict:
    word: str  # within, range, WRONG, noisy, none
    noise_pct: float


def interval_of_median(values: list[float]) -> tuple[float, float]:
    """Holds the median of what these are drawn from in 95 of 100 cases, by the binomial distribution."""
    ordered = sorted(values)
    count = len(ordered)
    cut = 0  # How many may be left out at either end.
    while 2 * sum(math.comb(count, i) for i in range(cut + 1)) <= 0.05 * 2**count:
        cut += 1
    cut = max(0, cut - 1)
    return ordered[cut], ordered[count - 1 - cut]


def judge(pair: Pair, outcomes: list[Outcome]) -> Verdict:
    ratios = [outcome.after / outcome.before for outcome in outcomes]
    least, most = interval_of_median(ratios)
    noise = 50 * (most - least) / statistics.median(ratios)
    if noise > NOISE_PCT or (pair.host and len(outcomes) < LEAST_RUNS):
        return Verdict("noisy", noise)
    answered = [outcome for outcome in outcomes if outcome.predicted is not None]
    if len(answered) < len(outcomes):
        return Verdict("none", noise)
    held = sum(outcome.held() for outcome in answered) * 2 > len(answered)
    error = statistics.median(outcome.error_pct() for outcome in answered)
    if pair.undecided:
        return Verdict("range" if held else "WRONG", noise)
    if abs(error) <= WITHIN_PCT:
        return Verdict("within", noise)
    return Verdict("range" if held else "WRONG", noise)


def milliseconds(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known) / 1e6:.3f}" if known else "-"


def print_row(pair: Pair, outcomes: list[Outcome], verdict: Verdict) -> None:
    def column(name: str) -> str:
        return milliseconds([getattr(outcome, name) for outcome in outcomes])

    answered = [o.error_pct() for o in outcomes if o.predicted is not None]
    error = f"{statistics.median(answered):+.1f}" if answered else "-"
    print(
        f"{pair.name:30} {column('before'):>9} {column('after'):>9} {column('predicted'):>9} "
        f"{column('low') + '..' + column('high'):>18} {error:>7} {verdict.noise_pct:6.1f}  {verdict.word}",
        flush=True,
    )
    if verdict.word in ("WRONG", "none"):
        print(f"    what-if {outcomes[0].command[:400]}  {outcomes[0].said}")


def chosen_pairs(options: argparse.Namespace) -> list[Pair]:
    pairs = workloads.pairs() + frameworks.pairs()
    if options.quick:
        pairs = [pair for pair in pairs if pair.quick]
    if options.kinds:
        pairs = [pair for pair in pairs if pair.kind in options.kinds.split(",")]
    if options.only:
        pairs = [pair for pair in pairs if pair.name in options.only]
    return pairs


def outcomes_of(
    pair: Pair, recorder: Recorder, runs: int, folder: pathlib.Path, kept: bool
) -> list[Outcome]:
    outcomes = []
    unsteady: Broken | None = None
    if kept:
        runs = len(list((folder / pair.name).glob("*/after")))
    if runs == 0:
        raise Skip(f"no recordings of {pair.name} in {folder}")
    for number in range(runs):
        try:
            outcomes.append(ask(recorder, pair, folder / pair.name / str(number), kept))
        except Broken as error:
            if not (pair.host and "steady" in str(error)):
                raise
            unsteady = error
    if unsteady is not None and 2 * len(outcomes) < runs:
        raise unsteady
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--xlatrace", required=True, type=pathlib.Path)
    parser.add_argument("--kinds", help="of workload, jax_gpu, jax_cpu; with commas")
    parser.add_argument("--only", action="append", help="pairs of this name")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, help="of each pair")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the recordings in this folder")
    parser.add_argument("--from", dest="kept", type=pathlib.Path, help="judge the recordings there")
    options = parser.parse_args()
    recorder = Recorder(options.xlatrace.resolve())

    count = {"within": 0, "range": 0, "WRONG": 0, "noisy": 0, "none": 0}
    decided = within = 0
    skipped = set()
    print(f"{'pair':30} {'before':>9} {'after':>9} {'predicted':>9} {'low..high':>18} {'error %':>7} "
          f"{'noise %':>6}  verdict")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="xlatrace-what-if-") as temporary:
        folder = (options.kept or options.keep or pathlib.Path(temporary)).resolve()
        for pair in chosen_pairs(options):
            try:
                runs = options.runs or (3 if pair.host else 1)
                outcomes = outcomes_of(pair, recorder, runs, folder, bool(options.kept))
            except Skip as skip:
                skipped.add(str(skip))
                continue
            except Broken as error:
                # On a busy machine steps with the host in them may not agree with each other.
                word = "noisy" if pair.host and "steady" in str(error) else "none"
                print(f"{pair.name:30} {word}: {error}", flush=True)
                count[word] += 1
                decided += word == "none"
                continue
            verdict = judge(pair, outcomes)
            print_row(pair, outcomes, verdict)
            count[verdict.word] += 1
            if verdict.word != "noisy" and not pair.undecided:
                decided += 1
                within += verdict.word == "within"
    for reason in sorted(skipped):
        print(f"skip: {reason}")
    if not sum(count.values()):
        return 77
    print(f"{within} of {decided} within {WITHIN_PCT:g} %, {count['range']} held by the range, "
          f"{count['WRONG']} wrong, {count['none']} without a prediction, "
          f"{count['noisy']} cannot be judged now")  # fmt: skip
    return 0 if 12 * within >= 11 * decided and count["WRONG"] + count["none"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
