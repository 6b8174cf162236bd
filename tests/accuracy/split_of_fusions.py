#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares how the time of fusions is split over op_names with the same ops run one by one.

    split_of_fusions.py [--keep FOLDER] [--json]

Programs run twice on XLA:CPU, on one thread: unchanged, and without the fusing passes. Without them XLA
wraps every op separately (`wrapped_add`). For each fusion of the first run, the script compares the shares of
its op_names. One share is from `instruction_share` of the first run, the other from the times of the same ops in
the second run.

How the second is made:

- An op's time is the shortest of its occurrences in the second run; of the ops with one opcode and
  shape the median counts, because the same addition takes 10 or 20 us by where the caches hold its
  operands, which has nothing to do with the op.
- Every thunk has the same start-up cost, which an op inside a fusion does
  not. The shortest thunk of the run is this cost; it is taken off. Fusions whose ops take less than
  ten times of it in all are left out: there is nothing to be measured.
- Views (slices, reshapes, broadcasts, transposes) and iotas that run alone write an array that a
  fusion never writes: XLA computes an index instead. They do not count on either side (`--all`
  counts them).

Printed for each program: the compared fusions and shares, and the median error, in points of the fusion's
time and relative to the measured share.

The environment: XLATRACE_BIN, XLATRACE_TEST_PYTHON_JAX, XLATRACE_SHARED_DATA; a program whose file
is missing is left out.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FREE = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element"}
VIEWS = {"broadcast", "copy", "dynamic-slice", "reshape", "reverse", "slice", "transpose"}
NEVER_WRITTEN = {*VIEWS, "iota"}
UNFUSED = "--xla_disable_hlo_passes=fusion,cpu-instruction-fusion,multi_output_fusion"
PROGRAMS = (
    ("own/jax-cpu's training step", shared_data.find("own/jax-cpu/train.py"), "jit_train_step"),
    ("many_ops.py", REPOSITORY / "tests/accuracy/many_ops.py", "jit_step"),
)

Op = collections.namedtuple("Op", "opcode shape op_name")


def plain(shape):
    return re.sub(r"\{.*?\}", "", shape or "")


def read_bodies(path):
    """Fusion -> the ops inside."""
    bodies, calls, current = {}, {}, None
    for line in path.read_text().splitlines():
        head = re.match(r"^(?:ENTRY )?%(\S+) \(", line)
        if head and line.endswith("{"):
            current = bodies.setdefault(head.group(1), [])
            continue
        op = re.match(r"^\s+(?:ROOT )?%(\S+) = (\([^=]*\)|\S+) ([a-z0-9-]+)\(", line)
        if op is None or current is None:
            continue
        name = re.search(r'op_name="((?:[^"\\]|\\.)*)"', line)
        current.append(
            Op(op.group(3), plain(op.group(2)), name.group(1).replace("\\", "") if name else "")
        )
        callee = re.search(r"fusion\(.*calls=%([^,\s]+)", line)
        if callee:
            calls[op.group(1)] = callee.group(1)
    return {fusion: bodies.get(body, []) for fusion, body in calls.items()}


def module_of(database, name):
    rows = database.execute("SELECT module_id FROM module WHERE name LIKE ?", (name + "%",))
    return rows.fetchone()[0]


def op_times(database, module):
    """(opcode, shape) -> nanoseconds of one run alone, and what a thunk costs that does nothing."""
    times = collections.defaultdict(list)
    rows = database.execute(
        "SELECT i.instruction, i.opcode, i.shape, o.min_ns FROM op_time o JOIN instruction i"
        " USING (module_id, instruction) WHERE o.module_id = ?",
        (module,),
    )
    for instruction, opcode, shape, nanoseconds in rows:
        if opcode == "fusion":
            wrapped = re.match(r"wrapped_(.+?)(\.\d+)?(\.clone.*)?$", instruction)
            if wrapped is None:
                continue
            opcode = wrapped.group(1)
        times[opcode, plain(shape)].append(nanoseconds)
    nothing = min(min(of_one) for of_one in times.values())
    return {op: statistics.median(of_one) - nothing for op, of_one in times.items()}, nothing


def record(program, folder, fused):
    """Path of the run.db."""
    name = "fused" if fused else "unfused"
    database = folder / f"{name}.db"
    if database.exists():
        return database
    flags = f"--xla_cpu_multi_thread_eigen=false --xla_dump_to={folder / name}"
    flags += " --xla_dump_hlo_as_text" + ("" if fused else " " + UNFUSED)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})  # The program inherits it.
    subprocess.run(
        [os.environ["XLATRACE_BIN"], "record", "-o", str(database), "--"]
        + [os.environ["XLATRACE_TEST_PYTHON_JAX"], str(program)],
        env={**os.environ, "XLA_FLAGS": flags, "STEPS": "20"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    os.sched_setaffinity(0, allowed)
    return database


def compare(folder, module_name, everything):
    """The comparison: (fusions, [(share, measured share)])."""
    fused, unfused = (
        sqlite3.connect(f"file:{folder / name}.db?mode=ro", uri=True)
        for name in ("fused", "unfused")
    )
    module = module_of(fused, module_name)
    times, nothing = op_times(unfused, module_of(unfused, module_name))
    dump = next((folder / "fused").glob(f"*.{module_name}.*after_optimizations.txt"))
    shares = collections.defaultdict(dict)
    for fusion, op_name, share in fused.execute(
        "SELECT instruction, op_name, sum(share) FROM instruction_share WHERE module_id = ?"
        " GROUP BY 1, 2",
        (module,),
    ):
        shares[fusion][op_name] = share
    pairs, fusions = [], 0
    for fusion, body in read_bodies(dump).items():
        work = [op for op in body if op.opcode not in FREE]
        if not everything:
            work = [op for op in work if op.opcode not in NEVER_WRITTEN]
        # Ops without a name of their own get another's name, which the run alone does not show.
        if any(not op.op_name or (op.opcode, op.shape) not in times for op in work):
            continue
        measured = collections.Counter()
        for op in work:
            measured[op.op_name] += times[op.opcode, op.shape]
        estimated = {name: shares[fusion].get(name, 0) for name in measured}
        whole, estimated_whole = sum(measured.values()), sum(estimated.values())
        if len(measured) < 2 or whole < 10 * nothing or estimated_whole == 0:
            continue
        fusions += 1
        pairs += [
            (estimated[name] / estimated_whole, measured[name] / whole)
            for name in measured
            if measured[name] > 0
        ]
    return fusions, pairs


def measure(folder, everything=False):
    """One dict for each program that is here."""
    results = []
    for title, program, module in PROGRAMS:
        if not program or not program.exists():
            continue
        place = pathlib.Path(folder) / module
        place.mkdir(parents=True, exist_ok=True)
        record(program, place, fused=True)
        record(program, place, fused=False)
        fusions, pairs = compare(place, module, everything)
        if not pairs:
            sys.exit(f"split_of_fusions: {title}: no fusion has shares to compare")
        errors = [abs(share - truth) for share, truth in pairs]
        results.append(
            {
                "program": title,
                "fusions": fusions,
                "shares": len(pairs),
                "median_points": 100 * statistics.median(errors),
                "median_relative_pct": 100
                * statistics.median(e / truth for e, (_, truth) in zip(errors, pairs)),
            }
        )
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--keep", help="folder for the runs; those in it are used")
    parser.add_argument("--all", action="store_true", help="count views and iotas, too")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xlatrace-split-") as folder:
        results = measure(arguments.keep or folder, arguments.all)
    if arguments.json:
        print(json.dumps(results))
        return
    for row in results:
        print(
            "{program}: {fusions} fusions, {shares} shares: median error {median_points:.1f}"
            " points, {median_relative_pct:.0f} % of the measured share".format(**row)
        )


if __name__ == "__main__":
    main()
