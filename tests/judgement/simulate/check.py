#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports simulated runs with xlatrace and compares its steps and time tree with the truth.

`--seeds 0:100` prints a table: per format and node the share of runs in which the node is right.
`--show SEED FORMAT` prints truth and product of one run side by side.
`--keep SEED FOLDER` writes one run as text cases into FOLDER.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from keep import keep
from machine import simulate
from product import read_job, read_product
from recording import FORMATS
from score import compare, compare_trees
from simulate import write_format

ROOT = pathlib.Path(__file__).resolve().parents[3]


def import_run(xlatrace, paths, database):
    done = subprocess.run([xlatrace, "import", *map(str, paths), "-o", str(database)], capture_output=True, text=True,
                          check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


def judge(xlatrace, seed, format, folder, most_iterations=None):
    """[(truth, product or an error)] per process, and (the truth, the job or None)."""
    run = simulate(seed, most_iterations=most_iterations)
    paths, truth = write_format(run, format, folder)
    out = []
    database = pathlib.Path(folder) / f"{format}.db"
    error = import_run(xlatrace, paths, database)
    for rank, one in enumerate(truth["processes"]):
        out.append((one, error or read_product(database, rank)))
    job = None if error or len(run.processes) < 2 else read_job(database)
    return out, (truth, job)


def check_seed(xlatrace, seed, formats):
    """[(format, {check: passed})]"""
    results = []
    for format in formats:
        with tempfile.TemporaryDirectory() as folder:
            processes, (truth, job) = judge(xlatrace, seed, format, folder)
            if job:
                root = sum(one["root_ns"] for one in truth["processes"]) / len(truth["processes"])
                results.append((format, {f"job: {name}": right for name, right
                                         in compare_trees(truth["job"], job.tree, root).items()}))
            for truth, product in processes:
                checks = {"imported": not isinstance(product, str)}
                if checks["imported"]:
                    checks |= compare(truth, product)
                results.append((format, checks))
    return seed, results


def table(results, formats):
    """Lines: a row per check, a column per format."""
    passed, counted = collections.Counter(), collections.Counter()
    for _, rows in results:
        for format, checks in rows:
            for name, right in checks.items():
                counted[name, format] += 1
                passed[name, format] += right
    names = sorted({name for name, _ in counted}, key=lambda n: ("/" in n, n))
    yield f"{'':46}" + "".join(f"{format:>17}" for format in formats)
    for name in names:
        cells = []
        for format in formats:
            n = counted[name, format]
            cells.append(f"{100 * passed[name, format] / n:8.1f} % of {n:4}" if n else "-")
        yield f"{name:46}" + "".join(f"{cell:>17}" for cell in cells)


def show(xlatrace, seed, format, most_iterations):
    with tempfile.TemporaryDirectory() as folder:
        for truth, product in judge(xlatrace, seed, format, folder, most_iterations)[0]:
            if isinstance(product, str):
                print(product)
                continue
            root = truth["root_ns"]
            print(f"{'':50} {'truth':>14} {'product':>14}   difference of the root")
            for name, a, b in (("root", root, product.root_ns), ("steps", truth["step_count"], product.step_count),
                               ("typical step", truth["typical_ns"], product.typical_ns)):
                print(f"{name:50} {a or 0:14,.0f} {b or 0:14,.0f}")
            for path in sorted(set(truth["process"]) | set(product.tree)):
                a, b = truth["process"].get(path, 0), product.tree.get(path, 0)
                print(f"{path:50} {a:14,.0f} {b:14,.0f} {100 * (b - a) / root:8.1f} %")
            for name, right in compare(truth, product).items():
                if not right:
                    print("wrong:", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", help="A:B, without B")
    parser.add_argument("--fresh", type=int, metavar="N", help="N seeds that depend on the time")
    parser.add_argument("--require", default="", metavar="CHECK=PCT,...", help="exit status 1 if a share is below")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--show", nargs=2, metavar=("SEED", "FORMAT"))
    parser.add_argument("--keep", nargs=2, metavar=("SEED", "FOLDER"))
    parser.add_argument("--iterations", type=int, help="shortens the loop of --show and --keep")
    parser.add_argument("--failing", metavar="CHECK", help="lists the seeds and formats where this check fails")
    parser.add_argument("--xlatrace", default=os.environ.get("XLATRACE_BIN", ROOT / "build/release/bin/xlatrace"))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.show:
        return show(options.xlatrace, int(options.show[0]), options.show[1], options.iterations)
    if options.keep:
        print(*keep(int(options.keep[0]), options.keep[1], options.iterations), sep="\n")
        return None
    if not options.seeds and not options.fresh:
        parser.error("name --seeds A:B, --fresh N, or --show SEED FORMAT")
    if options.fresh:
        first = time.time_ns() // 1_000_000_000
        last = first + options.fresh
    else:
        first, last = map(int, options.seeds.split(":"))
    formats = options.formats.split(",")
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(check_seed, options.xlatrace, seed, formats) for seed in range(first, last)]
        results = [job.result() for job in jobs]
    print(f"seeds {first}:{last}, {len(results) * len(formats)} runs")
    for line in table(results, formats):
        print(line)
    if options.failing:
        for seed, rows in results:
            for format, checks in rows:
                if checks.get(options.failing) is False:
                    print(f"--show {seed} {format}")
    return int(not meets(results, options.require))


def meets(results, required):
    """Whether each required check passes in its share of the runs, in every format."""
    passed = True
    for requirement in filter(None, required.split(",")):
        name, _, share = requirement.partition("=")
        values = collections.defaultdict(list)
        for _, rows in results:
            for format, checks in rows:
                values[format] += [checks[name]] if name in checks else []
        for format, rights in values.items():
            if 100 * sum(rights) < float(share) * len(rights):
                print(f"{name}: {format} has {100 * sum(rights) / len(rights):.1f} %, at least {share} % are required")
                passed = False
    return passed


if __name__ == "__main__":
    sys.exit(main())
