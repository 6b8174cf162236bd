#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost of a comparison of two large runs, without opening them.

usage: bench/compare_bench.py PROGRAM FOLDER [--launches 1000000]

Makes a run and a changed one (bench/big_run.py) and imports both. Prints the best of 3 times of `diff`,
and of `summary` of each, which opens and reads a run.
"""

import argparse
import pathlib
import resource
import subprocess
import sys
import time


def timed(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--launches", type=int, default=1_000_000)
    args = parser.parse_args()
    here = pathlib.Path(__file__).parent
    runs = []
    for name, options in (("before", []), ("after", ["--after"])):
        place = args.folder / name
        run = place / "run.db"
        if not run.exists():
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, here / "big_run.py", str(args.launches), place, *options], check=True)
            subprocess.run([args.program, "import", place / "trace.sqlite", "--modules", place, "-o", run], check=True)
        runs.append(run)
    opening = [min(timed(args.program, "summary", run)[0] for _ in range(3)) for run in runs]
    diff = min(timed(args.program, "diff", *runs)[0] for _ in range(3))
    print(f"summary {opening[0]:.2f} s and {opening[1]:.2f} s, diff {diff:.2f} s of CPU:"
          f" {diff - sum(opening):.2f} s beyond opening")


if __name__ == "__main__":
    main()
