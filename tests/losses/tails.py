#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work that a killed process loses at its end, by its age, with the default flush period.

    tests/losses/tails.py [--runs N] [--ages S,S...] [--signal KILL] [--update]

A program on the fake GPU launches 4,000 activities per second. A signal from outside kills it at an age
that is drawn around --ages. Columns:

  executed   activities that the device ended before the kill (the fake driver's log), in all runs
  missing    of them those that are not in run.db
  lost       time from the end of the first missing activity to the kill: median and maximum of the runs
  reported   time that run.db reports as unrecorded at the end (unrecorded_tail_ns): median and maximum
  too small  runs that lost more time than they report; must be 0

In the rows "busy" each kernel takes 50 times as long, so that the GPU is never idle and the program
waits for it. In the rows "hang" a kernel does not end, before and after the forced flush. The last row is
a program that aborts. --update writes the table into docs/development/collector-measurements.md.
Environment: as laboratory.py. Exit status 1 unless "too small" is 0 everywhere.
"""

import argparse
import concurrent.futures
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import gpu_support  # noqa: E402
import gpu_truth  # noqa: E402
import laboratory  # noqa: E402


BUSY = "kernel * times 50\n"
# A second of work, then a kernel that does not end.
HANG = (
    f"{laboratory.SETUP} launch k; sync; rate 4000; repeat 444 {{ {laboratory.STEP} }};"
    " launch endless; print go; sleep 600000"
)
HANGS = "kernel endless times 1000000000\n"
DOCUMENT = HERE.parents[1] / "docs" / "development" / "collector-measurements.md"
HEAD = (
    "| end | runs | executed activities | missing | lost, median and maximum | reported, median and maximum | too small |",
    "|---|---|---|---|---|---|---|",
)


def killed(folder, age_s, number, scenario=None, script=laboratory.ENDLESS, **environment):
    bench = laboratory.Bench(folder)
    process = subprocess.Popen(
        bench.command(script), cwd=bench.work, env=bench.environment(scenario=scenario, **environment),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    process.stdout.readline()
    try:
        time.sleep(age_s)
    finally:
        died_ns = time.time_ns()
        process.send_signal(number)
        process.wait()
        process.stdout.close()
    return judge(bench, died_ns)


def aborted(folder, age_s):
    bench = laboratory.Bench(folder)
    steps = max(1, int(age_s * 4000 / 9))
    script = (
        f"{laboratory.SETUP} launch k; sync; rate 4000; repeat {steps} {{ {laboratory.STEP} }}; abort"
    )
    bench.preloaded(script, timeout=laboratory.HANG_S)
    return judge(bench, time.time_ns())


def judge(bench, died_ns):
    """(executed, missing, lost ns, reported ns) of one run; None: killed before its first block."""
    truths = bench.truths()
    files = list((bench.work / "run.rec").glob("*.rec"))
    if not any(gpu_truth.rows_in(file, gpu_truth.FACTS) for file in files):
        return None
    result = bench.xlatrace("summary", "run.db")
    if result.code != 0:
        raise SystemExit(f"tails: {result}")
    database = bench.work / "run.db"
    absent, _ = gpu_truth.compare_sets(database, truths)
    ends = [int(r["end_ns"]) for r in absent if int(r["end_ns"]) <= died_ns]
    executed = sum(int(r["end_ns"]) <= died_ns for rows in truths.values() for r in rows)
    said = gpu_truth.scalar(
        database, "SELECT coalesce(max(unrecorded_tail_ns), 0) FROM process"
    )
    return executed, len(ends), died_ns - min(ends, default=died_ns), said


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help="of each age")
    parser.add_argument("--ages", default="0.1,0.3,1,3,10", help="seconds")
    parser.add_argument("--signal", default="KILL")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--update", action="store_true", help="write the table into the document")
    options = parser.parse_args()
    try:
        gpu_support.require_gpu()
    except Exception as missing:  # unittest.SkipTest
        print(f"skipped: {missing}")
        return 77
    chance = random.Random(options.seed)
    number = getattr(signal, f"SIG{options.signal}")
    bad = False
    table = list(HEAD)
    print("\n".join(table), flush=True)
    with tempfile.TemporaryDirectory(prefix="xlatrace-tails-") as root:
        ages = options.ages.split(",")
        kill = f"SIG{options.signal}"
        rows = [(f"{kill} at {age} s", float(age), {}) for age in ages]
        rows += [(f"{kill} at {age} s, busy", float(age), {"scenario": BUSY}) for age in ages]
        hang = {"scenario": HANGS, "script": HANG}
        rows.append((f"{kill} 2 s into a hang", 2.0, hang))
        rows.append((f"{kill} 2 s into a hang, after a forced flush", 2.0, {**hang, "XLATRACE_STALL_MS": "500"}))
        rows.append(("abort at 1 s", 1.0, None))
        for row, (name, age, more) in enumerate(rows):
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                futures = []
                for k in range(options.runs):
                    folder = pathlib.Path(root) / f"{row}-{k}"
                    some = age * chance.uniform(0.8, 1.2)
                    futures.append(pool.submit(aborted, folder, some) if more is None
                                   else pool.submit(killed, folder, some, number, **more))  # fmt: skip
                runs = [found for found in (future.result() for future in futures) if found]
            executed, missing, lost, reported = zip(*runs)
            too_small = sum(a > b for a, b in zip(lost, reported))
            bad |= too_small > 0
            spread = lambda all: f"{statistics.median(all) / 1e6:.0f} and {max(all) / 1e6:.0f} ms"
            table.append(f"| {name} | {len(runs)} | {sum(executed):,} | {sum(missing):,} | {spread(lost)} | "
                         f"{spread(reported)} | {too_small} |")  # fmt: skip
            print(table[-1], flush=True)
    if options.update:
        text = DOCUMENT.read_text(encoding="utf-8")
        begin = text.index(HEAD[0])
        end = text.index("\n\n", begin)
        DOCUMENT.write_text(text[:begin] + "\n".join(table) + text[end:], encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
