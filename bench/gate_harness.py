#!/usr/bin/env python3
"""How often `xlatrace gate` is wrong on runs of one program, and how often it finds a planted change.

usage: bench/gate_harness.py PROGRAM FOLDER [--processes 40] [--comparisons 300] -- COMMAND...

COMMAND is recorded in that many processes of its own (FOLDER/run-N.db; those that are there are
used again). Then, `--comparisons` times: 8 runs drawn at random are a baseline, one of the others is
judged by it. Draws overlap: with 40 processes only 4 of such comparisons share no run, and how many
are disjoint is printed beside the rest. A planted change is made in the aggregates: a baseline whose
times are 1/1.03 of what they were, judged with --max-regress 1%.
"""

import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys

BASELINE = 8


def gate(program, run, folder, limit):
    command = [program, "gate", run, "--baseline", folder, "--read-only", "--max-regress", limit,
               "--format", "json"]
    for fact in ("launches", "fusions", "bytes", "flops", "compilations", "peak_memory_bytes",
                 "exposed_collective_bytes", "attributed"):
        command += ["--ignore", fact]
    result = subprocess.run([str(c) for c in command], capture_output=True, check=False)
    if result.returncode not in (0, 3):
        sys.exit(result.stderr.decode())
    return json.loads(result.stdout)["outcome"]


def scaled(line, factor):
    record = json.loads(line)
    record["steps"] = [round(step * factor) for step in record["steps"]]
    return json.dumps(record)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--processes", type=int, default=40)
    parser.add_argument("--comparisons", type=int, default=300)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = [c for c in args.command if c != "--"]
    args.folder.mkdir(parents=True, exist_ok=True)
    runs = []
    for i in range(args.processes):
        run = args.folder / f"run-{i}.db"
        if not run.exists():
            subprocess.run([args.program, "record", "-o", run, "--", *command], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs.append(run)
    lines = []
    for i, run in enumerate(runs):
        place = args.folder / "one"
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([args.program, "gate", run, "--baseline", place], check=True,
                       stdout=subprocess.DEVNULL)
        lines.append((place / "baseline.jsonl").read_text().splitlines()[0])
    means = [sum(json.loads(line)["steps"]) / max(1, len(json.loads(line)["steps"])) for line in lines]
    spread = (max(means) / min(means) - 1) * 100
    print(f"{len(runs)} processes, step {min(means) / 1e6:.3f} to {max(means) / 1e6:.3f} ms"
          f" ({spread:.1f} % apart)")
    rng = random.Random(1)
    same, planted = collections.Counter(), collections.Counter()
    place = args.folder / "drawn"
    for _ in range(args.comparisons):
        drawn = rng.sample(range(len(runs)), BASELINE + 1)
        for counter, factor, limit in ((same, 1, "3%"), (planted, 1 / 1.03, "1%")):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            (place / "baseline.jsonl").write_text(
                "".join(scaled(lines[i], factor) + "\n" for i in drawn[1:]))
            counter[gate(args.program, runs[drawn[0]], place, limit)] += 1
    disjoint = len(runs) // (BASELINE + 1)
    print(f"same program: {same['regression']} false alarms in {args.comparisons} comparisons"
          f" ({disjoint} of them can be disjoint), {dict(same)}")
    print(f"planted 3 %: found {planted['regression']} of {args.comparisons}, {dict(planted)}")


if __name__ == "__main__":
    main()
