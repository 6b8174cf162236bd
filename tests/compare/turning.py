#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diff` of every pair of recordings, both ways: A against B is B against A with the signs turned.

usage: turning.py --xlatrace PROGRAM [--data SHARED_DATA] [--jobs 2]

Every recording of SHARED_DATA is imported, and unreadable ones are reported and left out. Each is compared
with itself and with every other one, and all dumps of jax-eras with those of the same program. For each
pair, the two results must have the same rows with the sides exchanged (ops, times, level) and the same
refusals. Times of changes must be negated. Rows and groups must sum to each side's device time to the
nanosecond. A recording compared with itself has no difference. Exit status 1 if a pair does not, 77
without data."""

import argparse
import collections
import concurrent.futures
import itertools
import json
import lzma
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components

RECORDINGS = ("xplane/*.xplane.pb", "kineto/*.json.gz", "nsys/*.sqlite", "captures/*",
              "own/*/*.xplane.pb.xz", "own/*/*.xplane.pb")  # fmt: skip
BY = ("phase", "layer", "op_kind", "source", "kernel", "module")
LIMIT_S = 300

Json = dict[str, Any]


class Failed(Exception):
    pass


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def imported(program: str, data: pathlib.Path, place: pathlib.Path) -> dict[str, pathlib.Path]:
    runs: dict[str, pathlib.Path] = {}
    # xplane.tar.xz of jax-eras holds profiles of its own.
    with tarfile.open(data / "own/jax-eras/xplane.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Not in 3.11.2.
        archive.extractall(place / "eras")
    paths = [path for pattern in RECORDINGS for path in sorted(data.glob(pattern))]
    for path in paths + sorted((place / "eras").rglob("*.xplane.pb")):
        name = "/".join(path.parts[-3:])
        source = path
        if path.suffix == ".xz":
            source = place / f"{len(runs)}-{path.stem}"
            source.write_bytes(lzma.decompress(path.read_bytes()))
        database = place / f"{len(runs)}.db"
        try:
            run([program, "import", str(source), "-o", str(database)])
            runs[name] = database
        except Failed as failed:
            print(f"left out: {name}: {str(failed).splitlines()[-1]}")
    return runs


def ops(row: Json, side: str) -> tuple[tuple[str, int], ...]:
    # Work without an instruction has no handle; its time identifies it.
    return tuple(sorted((op["handle"] or "", op["ns"]) for op in row[side]))


def check(condition: bool, what: str) -> None:
    if not condition:
        raise Failed(what)


def judge(there: Json, back: Json) -> None:
    for answer in (there, back):
        for key, side in (("base_ns", "base"), ("new_ns", "new")):
            for table in ("rows", "groups"):
                total = sum(row[key] for row in answer[table])
                check(total == answer[side]["device_ns"], f"{table} sum to {total} of {side}")
    for key in ("same_recording", "comparable", "steady"):
        check(there[key] == back[key], key)
    check(len(there["refusals"]) == len(back["refusals"]), "refusals")
    forth = collections.Counter(
        (ops(row, "base"), ops(row, "new"), row["base_ns"], row["new_ns"], row["level"])
        for row in there["rows"])  # fmt: skip
    turned = collections.Counter(
        (ops(row, "new"), ops(row, "base"), row["new_ns"], row["base_ns"], row["level"])
        for row in back["rows"])  # fmt: skip
    check(forth == turned, f"rows: {next(iter(forth - turned), None)}")
    check(sorted((g["base_ns"], g["new_ns"]) for g in there["groups"])
          == sorted((g["new_ns"], g["base_ns"]) for g in back["groups"]), "groups")  # fmt: skip
    changes = [sorted(sign * change["change_ns"] for change in answer["changes"])
               for sign, answer in ((1, there), (-1, back))]  # fmt: skip
    check(changes[0] == changes[1], f"changes: {changes[0]} and {changes[1]}")


def judge_itself(answer: Json) -> None:
    if len(answer["refusals"]) == 2 and answer["base"]["device_ns"] == 0:
        return  # Recordings without device time cannot be distinguished.
    check(answer["same_recording"] is True, "same_recording is false")
    check(all(row["change_ns"] == 0 for row in answer["rows"]), "a difference")
    check(answer["changes"] == [], "a change")


def judge_dumps(there: Json, back: Json) -> None:
    def modules(answer: Json, ours: str, theirs: str) -> list[Any]:
        return sorted((module["similarity"], sorted((sorted(group[ours]), sorted(group[theirs]))
                                                    for group in module["groups"]))
                      for module in answer["modules"])  # fmt: skip

    check(modules(there, "base", "new") == modules(back, "new", "base"), "groups of instructions")


def dump_folders(data: pathlib.Path, place: pathlib.Path) -> list[tuple[pathlib.Path, pathlib.Path]]:
    by_program: dict[str, list[pathlib.Path]] = collections.defaultdict(list)
    for archive_path in sorted(data.glob("own/jax-eras/*-dumps.tar.xz")):
        with tarfile.open(archive_path) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Not in 3.11.2.
            archive.extractall(place / archive_path.name)
        for folder in sorted((place / archive_path.name).glob("*/*")):
            by_program[folder.name].append(folder)
    return [pair for folders in by_program.values() for pair in itertools.combinations(folders, 2)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xlatrace", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=shared_data.FOLDER)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    data = args.data
    if not data or not (data / "xplane").is_dir():
        print(f"skipped: {shared_data.reason('xplane')}")
        return 77
    program = str(pathlib.Path(args.xlatrace).resolve())

    def diff(a: pathlib.Path, b: pathlib.Path, *options: str) -> Json:
        answer: Json = json.loads(run([program, "diff", str(a), str(b), "--format", "json", *options]))
        return answer

    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        runs = imported(program, data, place)
        pairs = list(itertools.combinations(runs, 2))
        dumps = dump_folders(data, place)

        def compare(job: tuple[int, tuple[str, str]]) -> str | None:
            number, (a, b) = job
            by = ("--by", BY[number % len(BY)])
            try:
                judge(diff(runs[a], runs[b], *by), diff(runs[b], runs[a], *by))
            except (Failed, subprocess.TimeoutExpired) as failed:
                return f"FOUND {a} and {b}: {failed}"
            return None

        def compare_itself(name: str) -> str | None:
            try:
                judge_itself(diff(runs[name], runs[name]))
            except (Failed, subprocess.TimeoutExpired) as failed:
                return f"FOUND {name} and itself: {failed}"
            return None

        def compare_dumps(pair: tuple[pathlib.Path, pathlib.Path]) -> str | None:
            try:
                judge_dumps(diff(*pair), diff(pair[1], pair[0]))
            except (Failed, subprocess.TimeoutExpired) as failed:
                return f"FOUND {pair[0]} and {pair[1]}: {failed}"
            return None

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            found = [text for results in (
                pool.map(compare, enumerate(pairs)), pool.map(compare_itself, runs), pool.map(compare_dumps, dumps))
                for text in results if text]  # fmt: skip
        for text in found:
            print(text)
        # scripts/long reads the number of comparisons from the first number of the last line.
        print(f"{len(pairs) + len(dumps) + len(runs)} comparisons: {len(runs)} recordings with themselves, {len(pairs)} pairs of them and {len(dumps)} of dumps"
              f" both ways, {len(found)} not turned")  # fmt: skip
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
