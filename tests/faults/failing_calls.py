#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every call that writes fails once, the N-th of each command: an error in a sentence, no half output.

    tests/faults/failing_calls.py [--most 60] [--only REGEX]

Our own library is preloaded (failing_calls.c). It counts calls that write to a file or change
a folder. Call N fails: once with EIO, or with ENOSPC from then on (a full disk). N is each of the first 20
and the last 20, and evenly chosen numbers between, at most --most in all. Columns, per command:

  calls    that write, when none fails
  runs     in which one failed
  failed   runs that said so (exit status 1 and a line with `error: `)
  whole    runs that got by without it: the output is what it is when nothing fails
  bad      half an output, an old output that is gone, a temporary file left, a crash, silence: must be 0

Exit status 1 unless bad is 0; 77 without a C compiler. Environment: XLATRACE_BIN.
"""

import argparse
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = str(pathlib.Path(os.environ.get("XLATRACE_BIN", "build/release/bin/xlatrace")).resolve())
HANG_S = 120
# Command -> (arguments after the program, its output).
COMMANDS = {
    "import": (["import", "t.json", "-o", "out", "--force"], "out"),
    "import --modules": (["import", "t.json", "--modules", "m.txt", "-o", "out", "--force"], "out"),
    "report": (["report", "run.db", "-o", "out", "--force"], "out"),
    "export perfetto": (["export", "run.db", "--to", "perfetto", "-o", "out", "--force"], "out"),
    "export kineto": (["export", "run.db", "--to", "kineto", "-o", "out", "--force"], "out"),
    "export xplane": (["export", "run.db", "--to", "xplane", "-o", "out", "--force"], "out"),
    "export parquet": (["export", "run.db", "--to", "parquet", "--view", "launch", "-o", "out", "--force"],
                       "out"),
}
MODULE = """HloModule jit_f, is_scheduled=true

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %add.1 = f32[8]{0} add(%x, %x), metadata={op_name="jit(f)/add"}
}
"""


def preload(folder):
    library = folder / "failing_calls.so"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("no C compiler")
        sys.exit(77)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, HERE / "failing_calls.c", "-ldl"],
                   check=True)
    return library


def prepare(folder, kernels=4000):
    events = [{"ph": "X", "cat": "kernel", "name": f"add_{i % 50}", "pid": 0, "tid": 7, "ts": i * 10.0,
               "dur": 5.0, "args": {"stream": 7, "device": 0, "correlation": i}} for i in range(kernels)]
    (folder / "t.json").write_text(json.dumps({"traceEvents": events}))
    (folder / "m.txt").write_text(MODULE)
    done = run(folder, ["import", "t.json", "--modules", "m.txt", "-o", "run.db"], {})
    if done.returncode != 0:
        sys.exit(f"the trace of this test is refused: {done.stderr}")


def run(folder, arguments, environment):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, env={**os.environ, **environment},
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                          timeout=HANG_S, check=False)


def digest(path):
    """Size of a file, or of all files below a folder; for a run.db its figures, because it contains the time
    of writing."""
    if path.is_dir():
        parts = [(str(p.relative_to(path)), p.read_bytes()) for p in sorted(path.rglob("*")) if p.is_file()]
        return hashlib.sha256(repr(parts).encode()).hexdigest()
    if not path.exists():
        return None
    data = path.read_bytes()
    if data.startswith(b"SQLite format 3"):
        done = subprocess.run([PROGRAM, "summary", path, "--format", "json"], capture_output=True, check=False)
        return hashlib.sha256(done.stdout).hexdigest() if done.returncode == 0 else "unreadable"
    return hashlib.sha256(data).hexdigest()


def chosen(calls, most):
    edge = min(20, most // 3)
    numbers = set(range(1, min(calls, edge) + 1)) | set(range(max(1, calls - edge + 1), calls + 1))
    between = max(0, most - len(numbers))
    numbers |= {1 + i * calls // between for i in range(between)} if between else set()
    return sorted(n for n in numbers if n <= calls)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()


def check(folder, library, name, most):
    arguments, output = COMMANDS[name]
    place = folder / output
    quiet = {"LD_PRELOAD": str(library), "FAIL_COUNT": str(folder.parent / "count")}
    remove(place)
    done = run(folder, arguments, quiet)
    if done.returncode != 0:
        sys.exit(f"{name}: fails without any fault: {done.stderr}")
    good = digest(place)
    calls = int((folder.parent / "count").read_text())
    before = {p.name for p in folder.iterdir()} - {output}
    bads, failed, whole, runs = [], 0, 0, 0
    for number in chosen(calls, most):
        for error, always in ((errno.EIO, "0"), (errno.ENOSPC, "1")):
            remove(place)
            runs += 1
            try:
                done = run(folder, arguments, {"LD_PRELOAD": str(library), "FAIL_AT": str(number),
                                               "FAIL_ERRNO": str(error), "FAIL_ALWAYS": always})
            except subprocess.TimeoutExpired:
                bads.append((number, error, "hangs"))
                continue
            now = digest(place)
            problem = ""
            if done.returncode == 0:
                whole += 1
                problem = "" if now == good else "exit status 0, and another output"
            elif done.returncode == 1 and "error: " in done.stderr:
                failed += 1
                problem = "" if now is None else "an output in spite of the error"
            else:
                problem = f"exit status {done.returncode}: {done.stderr[-200:]}"
            left = {p.name for p in folder.iterdir()} - before - {output}
            for one in left:
                remove(folder / one)
            if left:
                problem += f" left: {sorted(left)}"
            if problem:
                bads.append((number, error, problem))
    return calls, runs, failed, whole, bads


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    found = []
    total = 0
    with tempfile.TemporaryDirectory(prefix="xlatrace-faults-") as root:
        library = preload(pathlib.Path(root))
        print(f"{'command':20}{'calls':>8}{'runs':>8}{'failed':>8}{'whole':>8}{'bad':>8}")
        for name in COMMANDS:
            if not re.search(options.only, name):
                continue
            folder = pathlib.Path(root) / "work"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            prepare(folder)
            calls, runs, failed, whole, bads = check(folder, library, name, options.most)
            total += runs
            print(f"{name:20}{calls:8,}{runs:8,}{failed:8,}{whole:8,}{len(bads):8,}", flush=True)
            found += [(name, *bad) for bad in bads]
    for name, number, error, problem in found[:20]:
        print(f"FOUND: {name}: call {number} fails with {errno.errorcode[error]}: {problem}")
    print(f"{total} runs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
