#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo, recorded by its framework's profiler beside busy loops: all of it, or words for what is not there.

    tests/losses/loaded_demo.py [--runs N] [--loops N] [--short N]

Kinds of runs. The first is the demo beside --loops loops. `unroll` is the demo without jax.checkpoint and
with its scan unrolled, beside one more loop; its step compiles for longer than all earlier work. `parts`
is that run with a window of a second, so that its recording has several parts and ends early. `between` is
a program that continues without a recording until a larger one is compiled. The executed work is known.
The demo has 28,116 activities in 30 steps, `unroll` has 30 steps, and `between` prints its number of runs.
Per run:

  activities  in run.db
  steps       executions of jit_train_step in run.db, of `ran`
  parts       windows of the recording
  said        what the first screen says is lost
  told        steps that the run says it does not hold (run stats executions_between_parts, _missing)
  merged      executions that span the end of a window or hold instructions twice; must be 0
  unsaid      1 when steps or activities are missing and the run says nothing, or another number of
              steps; must be 0

Environment: XLATRACE_BIN, XLATRACE_TEST_PYTHON_JAX. Exit status 1 unless merged and unsaid are 0.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import support  # noqa: E402

DEMO_ACTIVITIES = 28_116
STEPS = 30
COLUMNS = ["activities", "ran", "steps", "parts", "told", "merged", "unsaid"]


BETWEEN = """
import time
import jax, jax.numpy as jnp

@jax.jit
def train_step(x):
    return jnp.tanh(x @ x.T) + x

@jax.jit
def larger(x):
    for k in range(150):
        x = jnp.sin(x) * k + jnp.cos(x @ x)
    return x

x = jnp.ones((64, 64))
ran = 0
until = time.time() + 5
while time.time() < until:
    x = train_step(x); x.block_until_ready(); ran += 1; time.sleep(0.02)
larger(x).block_until_ready()
for k in range(10):
    x = train_step(x); x.block_until_ready(); ran += 1
print("ran", ran)
"""


def variant():
    """The demo without recomputation, its layers unrolled."""
    text = (ROOT / "examples" / "demo" / "train.py").read_text()
    changed = text.replace("jax.checkpoint(block)(", "block(")
    changed = changed.replace('params["layers"])\n', 'params["layers"], unroll=2)\n')
    if changed.count("unroll=2") != 1 or "jax.checkpoint(" in changed:
        raise SystemExit("loaded_demo: the demo has changed; mend variant()")
    return changed


class Loops:
    """Busy processes beside the one that is recorded."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        for _ in range(self.count):
            self.processes.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def record(folder, script, *options):
    result = support.run(
        "record", "-o", folder / "run.db", *options, "--", support.require_jax(), script,
        cwd=folder, timeout=1200,
    )  # fmt: skip
    if result.code != 0:
        raise SystemExit(f"loaded_demo: {result}")
    ran = re.search(r"^ran (\d+)$", result.stdout, re.M)
    return support.open_database(folder / "run.db"), int(ran.group(1)) if ran else STEPS


def judge(database, path, whole, ran):
    def one(sql):
        return database.execute(sql).fetchone()[0]

    steps = one(
        "SELECT count(*) FROM execution JOIN module USING (module_id) WHERE name = 'jit_train_step'"
    )
    summary = json.loads(support.run("summary", path, "--format", "json").stdout)
    text = support.run("summary", path).stdout
    said = re.search(r"lost ([^\n]*?)(?:  |\n)", text).group(1)
    told = one(
        "SELECT coalesce(sum(value), 0) FROM run_stat WHERE source = 'jit_train_step' "
        "AND name IN ('executions_between_parts', 'executions_missing')"
    )
    spanning = one(
        "SELECT count(*) FROM execution e WHERE NOT EXISTS (SELECT 1 FROM window w "
        "WHERE w.start_ns <= e.start_ns AND e.end_ns <= w.end_ns)"
    )
    # Work that runs once in a step is there once in each of its executions.
    twice = one(
        "WITH often AS (SELECT a.execution_id, a.instruction, count(*) AS n FROM activity a "
        "JOIN execution e USING (execution_id) JOIN module m ON m.module_id = e.module_id "
        "WHERE m.name = 'jit_train_step' GROUP BY 1, 2), "
        "least AS (SELECT instruction, min(n) AS once FROM often GROUP BY 1) "
        "SELECT count(*) FROM often JOIN least USING (instruction) WHERE once = 1 AND n > 1"
    )
    activities = one("SELECT count(*) FROM activity")
    lacks = steps < ran or (whole is not None and activities < whole)
    speaks = summary["lost"] > 0 or summary["lost_at_least"]
    # Steps before the first part and after the last one: the limit that ended it is reported.
    asked = one("SELECT count(*) FROM window WHERE why_ended IN ('limit', 'asked')") > 0
    # Behind the last part nothing can be counted; between two every run is.
    ended = database.execute("SELECT why_ended FROM window ORDER BY start_ns DESC").fetchone()[0]
    miscounted = steps + told != ran if ended == "end" else steps + told > ran
    return {
        "activities": activities, "ran": ran, "steps": steps, "parts": one("SELECT count(*) FROM window"),
        "said": said, "told": told, "merged": spanning + twice,
        "unsaid": int((lacks and not speaks and not asked) or miscounted),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="of the demo")
    parser.add_argument("--unroll", type=int, default=3, help="of the other")
    parser.add_argument("--parts", type=int, default=2, help="of the other in parts")
    parser.add_argument("--loops", type=int, default=2, help="beside the demo")
    options = parser.parse_args()
    try:
        support.require_program()
        support.require_jax()
    except Exception as missing:  # unittest.SkipTest
        print(f"skipped: {missing}")
        return 77
    print(f"{'run':<12}" + "".join(f"{c:>12}" for c in COLUMNS) + "  said", flush=True)
    bad = False
    with tempfile.TemporaryDirectory(prefix="xlatrace-demo-") as root:
        root = pathlib.Path(root)
        (root / "unrolled.py").write_text(variant())
        (root / "between.py").write_text(BETWEEN)
        demo = ROOT / "examples" / "demo" / "train.py"
        kinds = [
            ("demo", options.runs, options.loops, demo, DEMO_ACTIVITIES, []),
            ("unroll", options.unroll, options.loops + 1, root / "unrolled.py", None, []),
            ("parts", options.parts, options.loops + 1, root / "unrolled.py", None,
             ["--duration", "1"]),
            ("between", options.parts, 0, root / "between.py", None, ["--duration", "1"]),
        ]  # fmt: skip
        for kind, runs, loops, script, whole, more in kinds:
            for k in range(runs):
                folder = root / f"{kind}-{k}"
                folder.mkdir()
                with Loops(loops):
                    database, ran = record(folder, script, *more)
                row = judge(database, folder / "run.db", whole, ran)
                database.close()
                bad |= row["merged"] > 0 or row["unsaid"] > 0
                print(f"{kind:<12}" + "".join(f"{row[c]:>12,}" for c in COLUMNS)
                      + f"  {row['said']}", flush=True)  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
