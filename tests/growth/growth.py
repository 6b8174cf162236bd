#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs of three sizes, each twice the one before: does time or memory grow faster than they do?

usage: growth.py [--scale 1] [--only REGEX] [--most 2.8]

Each kind of input grows in its own way (names, layers, streams, tables of a file, ...), and every command
that reads it is measured. The measures are processor time and the largest resident size of the process. A
command fails if twice the input costs more than --most times as much, and at least half a second more. Both
steps must exceed the limit. The factor of n log n is 2.1 to 2.3, that of n squared is 4. The exit status is then 1. `--scale`
multiplies the sizes; ctest runs 1, `scripts/long` 8."""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import sys
import tempfile

PROGRAM = os.environ.get("XLATRACE_BIN", "build/release/bin/xlatrace")
TRIES = 3
LIMIT_S = 300


def kineto(path, kernels, streams=None, devices=1):
    """A JSON trace: (name, number of its stream) after each other."""
    with open(path, "w") as out:
        out.write('{"traceEvents":[')
        for i, name in enumerate(kernels):
            event = {"ph": "X", "cat": "kernel", "name": name, "pid": i % devices, "ts": i * 10,
                     "tid": 7 if streams is None else i % streams, "dur": 5,
                     "args": {"device": i % devices, "correlation": i + 1,
                              "stream": 7 if streams is None else i % streams}}
            out.write(("," if i else "") + json.dumps(event))
        out.write("]}")


def module(path, instructions, metadata=lambda i: f'op_name="jit(f)/op_{i}"', shared=0, inner=None):
    """HLO text whose entry calls so many fusions; `shared`: all the one computation of that size."""
    with open(path, "w") as out:
        out.write("HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\n")
        out.write("%fused (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n")
        last = "p"
        for i in range(max(shared, 1)):
            root = "ROOT " if i == max(shared, 1) - 1 else ""
            out.write(f"  {root}%add.{i} = f32[8]{{0}} add(%{last}, %{last}), "
                      f"metadata={{{inner(i) if inner else metadata(0)}}}\n")
            last = f"add.{i}"
        out.write("}\n\nENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n")
        last = "x"
        for i in range(instructions):
            root = "ROOT " if i == instructions - 1 else ""
            out.write(f"  {root}%fusion.{i} = f32[8]{{0}} fusion(%{last}), kind=kLoop, calls=%fused, "
                      f"metadata={{{metadata(i)}}}\n")
            last = f"fusion.{i}"
        out.write("}\n")


def with_module(folder, n, **options):
    module(folder / "module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt", n, **options)
    kineto(folder / "t.json", [f"fusion_{i}" for _ in range(2) for i in range(n)])
    return ["import", "t.json", "--modules", "module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt"]


def kernel_names(folder, n):
    kineto(folder / "t.json", [f"kernel_of_a_long_name_{i}_f32" for i in range(n)])
    return ["import", "t.json"]


def repeated_kernel(folder, n):
    """Each launch is a step."""
    kineto(folder / "t.json", ["k"] * n)
    return ["import", "t.json"]


def streams(folder, n):
    kineto(folder / "t.json", [f"k{i % 10}" for i in range(n)], streams=n)
    return ["import", "t.json"]


def layers(folder, n):
    return with_module(folder, n, metadata=lambda i: f'op_name="jit(f)/net/layer_{i}/mlp/add"')


def one_computation(folder, n):
    return with_module(folder, n, shared=n)


def named_ops_of_one_computation(folder, n):
    """Each fusion divides its time over a hundred framework ops."""
    return with_module(folder, n, shared=100, inner=lambda i: f'op_name="jit(f)/layer_{i}/add"')


def source_paths(folder, n):
    long = "/a" * n
    return with_module(folder, 4, metadata=lambda i: f'op_name="jit(f)/a" source_file="{long}/b{i}.py"'
                       f" source_line={i + 1}")


def scope_depth(folder, n):
    return with_module(folder, 4, metadata=lambda i: f'op_name="jit(f){"/s" * n}/{i}"')


def devices(folder, n):
    module(folder / "module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt", n // 8)
    kineto(folder / "t.json", [f"fusion_{i // 8}" for i in range(n)], devices=8)
    return ["import", "t.json", "--modules", "module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt"]


def nsys_tables(folder, n):
    database = sqlite3.connect(folder / "t.sqlite")
    database.executescript(
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds VALUES(1, 'k');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, contextId INT,"
        " streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT,"
        " gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0,5,0,1,7,1,1,1,1,1,1,1,1,1,1);")
    with database:
        for i in range(n):
            database.execute(f"CREATE TABLE t{i}(a, b)")
    database.close()
    return ["import", "t.sqlite"]


# Kind of input: (how it is made, smallest size, commands after the import[, largest such size]).
KINDS = {
    "kernel names": (kernel_names, 10_000, (["summary"], ["report"])),
    "launches of one kernel": (repeated_kernel, 20_000, (["summary"], ["report"])),
    "streams": (streams, 10_000, (["summary"], ["report"])),
    "numbered layers": (layers, 2_500, (["summary"], ["summary", "--by", "layer"], ["report"])),
    "one computation in all fusions": (one_computation, 500, (["summary"],)),
    "named ops of one computation": (named_ops_of_one_computation, 1_000, (["summary"], ["report"])),
    "components of a source path": (source_paths, 10_000, (["summary"], ["report"])),
    "depth of scopes": (scope_depth, 2_500, (["summary"], ["report"])),
    "ops on eight devices": (devices, 10_000,
                             (["summary", "--by", "device"], ["summary", "--by", "rank"])),
    "tables of an nsys file": (nsys_tables, 1_200, (["summary"],), 1_200),  # 5,000 are too many.
    "module instructions": (with_module, 5_000, (["modules"], ["summary"])),
}


def measure(arguments, folder):
    """(seconds of processor time, largest resident MB)."""
    pid = os.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1):
                os.dup2(null, descriptor)
            os.dup2(os.open("error", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
            os.execv(PROGRAM, [PROGRAM, *arguments])
        finally:
            os._exit(127)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{arguments}: status {status}: {(folder / 'error').read_text()[:300]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def grow(make, smallest, commands):
    """Time and memory of each command for inputs of one, two and four times the size."""
    rows = {}
    for factor in (1, 2, 4):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-growth-"))
        try:
            first = make(folder, smallest * factor)
            for command in [first] + [[*c, "run.db"] for c in commands]:
                rows.setdefault(" ".join(command[:-1] if command != first else command[:1]),
                                []).append(measure(command, folder))
        finally:
            shutil.rmtree(folder)
    return rows


def too_fast(sizes, most):
    a, b, c = sizes
    return [what for what, small, i in (("time", 0.5, 0), ("memory", 200, 1))
            if c[i] > small and c[i] > most * b[i] and (b[i] > most * a[i] or b[i] < small)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=float, default=2.8)
    options = parser.parse_args()
    global PROGRAM
    PROGRAM = str(pathlib.Path(PROGRAM).resolve())
    failed = []
    print(f"{'input':32}{'command':22}{'n':>10}" + "".join(f"{x:>9}" for x in ("s", "2n s", "4n s")) +
          "".join(f"{x:>9}" for x in ("MB", "2n MB", "4n MB")))
    for kind, (make, smallest, commands, *most) in KINDS.items():
        if not re.search(options.only, kind):
            continue
        smallest = min([int(smallest * options.scale), *most])
        rows = {}
        # Beside other work a process takes longer, now this one, now that: what grows too fast only
        # once does not. The least of all tries counts.
        for _ in range(TRIES):
            for command, tried in grow(make, smallest, commands).items():
                before = rows.get(command, tried)
                rows[command] = [tuple(map(min, old, new)) for old, new in zip(before, tried)]
            found = [(kind, command, what) for command, sizes in rows.items()
                     for what in too_fast(sizes, options.most)]
            if not found:
                break
        failed += found
        for command, (a, b, c) in rows.items():
            bad = [what for _, of, what in found if of == command]
            print(f"{kind:32}{command:22}{smallest:>10,}" +
                  "".join(f"{x[0]:9.2f}" for x in (a, b, c)) +
                  "".join(f"{x[1]:9.0f}" for x in (a, b, c)) + ("  " + ", ".join(bad) if bad else ""),
                  flush=True)
    for kind, command, what in failed:
        print(f"FOUND: {kind}: {what} of {command} grows faster than the input")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
