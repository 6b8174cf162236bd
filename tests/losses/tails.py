#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much a process that is killed loses at its end, by its age, with the flush period of every user.

    tests/losses/tails.py [--runs N] [--ages S,S...] [--signal KILL]

A program on the fake GPU launches 4,000 activities a second and is killed from outside at an age that
is drawn around --ages. Columns, per age:

  executed   activities that the device ended before (the fake driver's log), all runs together
  missing    of them those that are not in run.db
  lost_ms    from the end of the first activity that is missing to the kill: median and most of the runs
  said_ms    what run.db says may be missing at the end (unrecorded_tail_ns): median and most
  unsaid     runs that lost more than they say; must be 0

In the rows "busy" each kernel takes 50 times as long, so that the GPU is never idle and the program
waits for it. The last row is a program of the same length that aborts. Environment: as laboratory.py. Exit status 1
unless unsaid is 0.
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


def killed(folder, age_s, number, scenario=None):
    bench = laboratory.Bench(folder)
    process = subprocess.Popen(
        bench.command(laboratory.ENDLESS), cwd=bench.work, env=bench.environment(scenario=scenario),
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
    """(executed, missing, lost ns, said ns) of one run; None: killed before its first block."""
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
    options = parser.parse_args()
    try:
        gpu_support.require_gpu()
    except Exception as missing:  # unittest.SkipTest
        print(f"skipped: {missing}")
        return 77
    chance = random.Random(options.seed)
    number = getattr(signal, f"SIG{options.signal}")
    bad = False
    print(f"{'end':<22}{'runs':>6}{'executed':>10}{'missing':>9}  {'lost_ms':>13}  {'said_ms':>13}"
          f"{'unsaid':>8}", flush=True)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="xlatrace-tails-") as root:
        ages = options.ages.split(",")
        rows = [(f"{options.signal} at {age} s", float(age), True, None) for age in ages]
        rows += [(f"{options.signal} at {age} s, busy", float(age), True, BUSY) for age in ages]
        rows.append(("abort at 1 s", 1.0, False, None))
        for row, (name, age, outside, scenario) in enumerate(rows):
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                futures = []
                for k in range(options.runs):
                    folder = pathlib.Path(root) / f"{row}-{k}"
                    some = age * chance.uniform(0.8, 1.2)
                    futures.append(pool.submit(killed, folder, some, number, scenario) if outside
                                   else pool.submit(aborted, folder, some))  # fmt: skip
                runs = [found for found in (future.result() for future in futures) if found]
            executed, missing, lost, said = zip(*runs)
            unsaid = sum(a > b for a, b in zip(lost, said))
            bad |= unsaid > 0
            spread = lambda all: f"{statistics.median(all) / 1e6:.0f} / {max(all) / 1e6:.0f}"
            print(f"{name:<22}{len(runs):>6}{sum(executed):>10,}{sum(missing):>9,}"
                  f"  {spread(lost):>13}  {spread(said):>13}{unsaid:>8}", flush=True)  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
