#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks invariants of every time tree, for any recording.

  tests/judgement/tree_properties.py --seeds 0:20      simulated runs, also with moved and longer times
  tests/judgement/tree_properties.py PATH...           recordings, folders of recordings, and files run.db

- A tree has one root. Children sum to their parent, in `ns` and in `per_step_ns`.
- No node is negative or larger than its parent.
- A run whose times all move has the same tree. A run whose times are all twice as long has twice the tree.

The program is XLATRACE_BIN, else build/release/bin/xlatrace. Exit status 0: every tree has these properties.
"""

import argparse
import dataclasses
import itertools
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "simulate"))

from machine import simulate  # noqa: E402
from recording import FORMATS  # noqa: E402
from simulate import write_format  # noqa: E402
from time_trees import tree_of, violations  # noqa: E402

MOVED_NS = 12_345_678_901
FACTOR = 2
# Largest-remainder rounding moves single nanoseconds between siblings, and usual start times are rounded.
# They are at most this part of the root.
ROUNDING = 1e-4
RECORDINGS = (".sqlite", ".nsys-rep", ".json", ".json.gz", ".pb", ".rec", ".xplane.pb")
SQLITE_BEGIN = b"SQLite format 3\0"


def import_recording(xlatrace, paths, database):
    """An error message, or nothing."""
    done = subprocess.run([xlatrace, "import", *map(str, paths), "-o", str(database)], capture_output=True, text=True,
                          check=False)
    return done.stderr.strip() if done.returncode else ""


# --- changed runs ---


def moved(run):
    offsets = run.plan.clock_offsets or [0] * len(run.processes)
    plan = dataclasses.replace(run.plan, clock_offsets=[offset + MOVED_NS for offset in offsets])
    return dataclasses.replace(run, plan=plan)


def longer(run):
    """The same run, in which everything takes twice as long."""
    processes = []
    for process in run.processes:
        frames = {id(frame): dataclasses.replace(frame, start=FACTOR * frame.start, end=FACTOR * frame.end)
                  for frame in process.frames}
        work = [dataclasses.replace(
            one, start=FACTOR * one.start, end=FACTOR * one.end, ready=FACTOR * one.ready,
            last_arrival=FACTOR * one.last_arrival if one.last_arrival is not None else None,
            call=frames[id(one.call)]) for one in process.work]
        processes.append(dataclasses.replace(process, frames=list(frames.values()), work=work, end=FACTOR * process.end))
    offsets = [FACTOR * offset for offset in run.plan.clock_offsets or [0] * len(processes)]
    return dataclasses.replace(run, plan=dataclasses.replace(run.plan, clock_offsets=offsets), processes=processes)


def differences(before, after, factor):
    """Nodes of two trees that differ by more than rounding."""
    largest = max(before.values(), default=0) * factor
    limit = max(2, ROUNDING * largest) if factor != 1 else 0
    return [f"{path} has {before[path]} ns, and {after[path]} ns in the changed run"
            for path in before.keys() | after.keys() if abs(factor * before[path] - after[path]) > limit]


def check_seed(xlatrace, seed, formats):
    found = []
    run = simulate(seed)
    for format in formats:
        trees = []
        for changed in (run, moved(run), longer(run)):
            with tempfile.TemporaryDirectory() as folder:
                paths, _ = write_format(changed, format, folder)
                database = pathlib.Path(folder) / "run.db"
                error = import_recording(xlatrace, paths, database)
                if error:
                    found.append(f"seed {seed}, {format}: {error}")
                    break
                found += [f"seed {seed}, {format}: {one}" for one in violations(database)]
                trees.append(tree_of(database))
        for tree, factor in zip(trees[1:], (1, FACTOR)):
            what = "moved" if factor == 1 else "longer"
            found += [f"seed {seed}, {format}, {what}: {one}" for one in differences(trees[0], tree, factor)]
    return found


# --- recordings ---


def recordings_in(path):
    """Files and folders that can be imported."""
    if path.is_file() or path.name.endswith(".rec"):
        return [path]
    found = []
    for entry in sorted(path.iterdir()):
        if entry.is_dir() and not entry.name.endswith(".rec"):
            found += recordings_in(entry)
        elif entry.name.endswith(RECORDINGS) or entry.suffix == ".db":
            found.append(entry)
    return found


def is_run_db(path):
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if not file.read(len(SQLITE_BEGIN)) == SQLITE_BEGIN:
            return False
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return bool(db.execute("SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = 'time_tree'").fetchone())


def check_path(xlatrace, path):
    """Broken properties, or None where the file is no recording."""
    if is_run_db(path):
        return violations(path)
    with tempfile.TemporaryDirectory() as folder:
        database = pathlib.Path(folder) / "run.db"
        if import_recording(xlatrace, [path], database):
            return None
        return violations(database)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="PATH")
    parser.add_argument("--seeds", help="A:B, without B")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--xlatrace", default=os.environ.get("XLATRACE_BIN", ROOT / "build/release/bin/xlatrace"))
    options = parser.parse_args()
    if not options.paths and not options.seeds:
        parser.error("name --seeds A:B or a PATH")
    found, checked, skipped = [], 0, 0
    if options.seeds:
        formats = options.formats.split(",")
        for seed in range(*map(int, options.seeds.split(":"))):
            found += check_seed(options.xlatrace, seed, formats)
            checked += len(formats)
    for path in itertools.chain.from_iterable(map(recordings_in, options.paths)):
        broken = check_path(options.xlatrace, path)
        skipped += broken is None
        checked += broken is not None
        found += [f"{path}: {one}" for one in broken or []]
    for one in found:
        print(one)
    print(f"{checked} recordings checked, {skipped} files skipped that are no recordings, {len(found)} properties broken")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
