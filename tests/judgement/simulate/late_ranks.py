#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges which rank xlatrace calls late, on jobs in which one rank is slower than the others, or none.

Each job is simulated twice with equal random numbers: with the slow rank, and without. The difference of
the two step durations is the cost of the slow rank. A job counts as slow if this is at least 5 % of the
step, and as clean if no rank is slow. Jobs with a smaller cost are only counted.

`--seeds 0:100` prints a table: per format and kind of fault how many jobs got the right rank, another one, or none.
"""

import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from check import ROOT, import_run
from machine import simulate
from plan import random_plan
from recording import FORMATS
from simulate import write_format

# A late rank is to be named if it costs this share of the step.
LATE_SHARE = 0.05
KINDS = ("none", "host", "kernels")


def job_plan(seed):
    """(the plan without a fault, the kind of fault, the slow rank, the plan with the fault)"""
    rng = random.Random(f"late/{seed}")
    attempt = 0
    while (plan := random_plan(1000 * seed + attempt)).ranks < 2:  # It has collectives then.
        attempt += 1
    plan.ranks = rng.choice((2, 3, 4, 6, 8))
    plan.devices = 1
    plan.rank_speed = None
    plan.clock_offsets = [0] + [rng.randint(0, 100_000_000) for _ in range(plan.ranks - 1)]
    plan.iterations = max(plan.iterations, 12)
    kind, slow, factor = rng.choice(KINDS), rng.randrange(plan.ranks), rng.uniform(1.05, 2)
    faulty = copy.deepcopy(plan)
    speeds = [factor if rank == slow else 1 for rank in range(plan.ranks)]
    if kind == "host":
        faulty.rank_speed = speeds
    elif kind == "kernels":
        faulty.kernel_speed = speeds
    return plan, kind, slow, faulty


def loop_ns(run):
    """The time from the first work of the loop to the last one, by the slowest rank."""
    spans = []
    for process in run.processes:
        loop = [work for work in process.work if work.iteration is not None]
        spans.append(max(work.end for work in loop) - min(work.start for work in loop))
    return max(spans)


def make_job(seed):
    """(the run, the slow rank or None, the share of the loop that it costs)"""
    plan, kind, slow, faulty = job_plan(seed)
    run = simulate(seed, faulty)
    if kind == "none":
        return run, kind, None, 0.0
    with_fault, without = loop_ns(run), loop_ns(simulate(seed, plan))
    return run, kind, slow, (with_fault - without) / with_fault


def late_rank(xlatrace, database):
    """The rank of the answer, None if it names none. Without ranks, processes have the order of the inputs."""
    done = subprocess.run([xlatrace, "summary", "--format", "json", str(database)], capture_output=True, text=True,
                          check=True)
    late = json.loads(done.stdout)["answer"].get("late")
    return late and (late["process_id"] - 1 if late["rank"] is None else late["rank"])


def check_seed(xlatrace, seed, formats):
    """[(format, kind, "right", "wrong", "none" or an error, share)]"""
    run, kind, slow, share = make_job(seed)
    out = []
    for format in formats:
        with tempfile.TemporaryDirectory() as folder:
            paths, _ = write_format(run, format, folder)
            database = pathlib.Path(folder) / "run.db"
            error = import_run(xlatrace, paths, database)
            if error:
                out.append((format, kind, error, share))
                continue
            named = late_rank(xlatrace, database)
            fate = "right" if named == slow else "none" if named is None else "wrong"
            out.append((format, kind, fate, share))
    return seed, out


def class_of(kind, share):
    if kind == "none":
        return "clean"
    return f"slow {kind}" if share >= LATE_SHARE else f"{kind} below 5 %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", required=True, help="A:B, without B")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--xlatrace", default=os.environ.get("XLATRACE_BIN", ROOT / "build/release/bin/xlatrace"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--failing", action="store_true", help="lists the jobs with a wrong answer")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    counts = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(check_seed, options.xlatrace, seed, options.formats.split(","))
                for seed in range(first, last)]
        for job in jobs:
            seed, rows = job.result()
            for format, kind, fate, share in rows:
                of = class_of(kind, share)
                counts[of, format, fate] += 1
                wanted = "right" if of != "clean" else "right none"
                if options.failing and "below" not in of and fate not in wanted:
                    print(f"seed {seed} {format}: {of}, {share:.1%}: {fate}")
    for of, format in sorted({(of, format) for of, format, _ in counts}):
        cells = {fate: n for (o, f, fate), n in sorted(counts.items()) if (o, f) == (of, format)}
        print(f"{of:20}{format:9}{sum(cells.values()):5} jobs: " + ", ".join(f"{n} {fate}" for fate, n in cells.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
