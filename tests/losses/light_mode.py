#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Light mode on real JAX programs on the fake GPU: executions and steps as exact mode has them, or withheld.

    tests/losses/light_mode.py [--only REGEX] [--keep DIR] [--generated N]

--generated N adds N random programs (tests/fake_gpu/jax/generated_steps.py, seeds 1 to N). Every program runs three times: exact (the truth: XLA's own ranges), light with XLATRACE_DUMP=on
(what a plain preload does by itself), light without any dump (XLATRACE_DUMP=off). An execution is
right when the same module ran on the same device, in the same order, with as many kernels. Copies
before a program's first run, which XLA makes once, do not count: only ranges attribute them. Modules
are the same when name and number of instructions agree, because programs share names. Columns:

  executions  in exact mode
  same        of light mode's those that are right
  other       of light mode's those that are not: must be 0
  withheld    executions that light mode does not claim
  steps       in exact mode; light: in light mode (0: it claims none)
  reason      why activities have no instruction, most frequent; never `not_xla` for work of XLA
  hint        what the run says to do about it (run stat modules_unknown names the dump)

Environment: XLATRACE_BIN, XLATRACE_FAKE_GPU, XLATRACE_TEST_PYTHON_JAX_CUDA. Exit status 1 when an
execution or a step is another, or XLA's work is called not XLA's.
"""

import argparse
import collections
import difflib
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "tests" / "fake_gpu" / "jax")]

import gpu_support  # noqa: E402
import gpu_truth  # noqa: E402
import rig  # noqa: E402
import support  # noqa: E402

# In these programs, data of the device ends the loops and selects the branches. Without a seed they read
# random memory, and need not end. The same seed is used in every run.
LOOPS_ON_DATA = ("branching_step", "recurrent_step")
PROGRAMS = [  # Name, devices, CUDA graphs, arguments.
    ("plain_step", 1, True, []), ("plain_step", 1, False, []), ("rich_step", 1, True, []),
    ("rich_step", 1, False, []), ("data_parallel", 2, True, []), ("recurrent_step", 1, True, []),
    ("table_step", 1, True, []), ("alternating_steps", 1, True, []), ("sharded_step", 2, True, []),
    ("recurrent_step", 1, False, []), ("branching_step", 1, True, []),
    ("branching_step", 1, False, []),
]  # fmt: skip
COLUMNS = ["executions", "same", "other", "withheld", "steps", "light"]


class Run:
    def __init__(self, folder, machine, program, devices, graphs, arguments, **more):
        folder.mkdir(parents=True)
        if program in LOOPS_ON_DATA:
            more["FAKE_GPU_PREDICATES"] = "7"
        result = machine.run(
            f"{program}.py", *arguments, cwd=folder, devices=devices, graphs=graphs,
            preload=gpu_support.preload_library(), cache=None, timeout=600,
            more={"XLATRACE_REC": str(folder / "run.rec"), "XLATRACE_QUIET": "1", **more},
        )  # fmt: skip
        if result.returncode != 0:
            raise SystemExit(f"light_mode: {program}: {result.stderr[-600:]}")
        self.database = folder / "run.db"
        summary = support.run("summary", self.database)
        if summary.code != 0:
            raise SystemExit(f"light_mode: {program}: {summary}")

    def rows(self, sql):
        return gpu_truth.rows_of(self.database, sql)

    def executions(self):
        """By device and module: how many kernels each has, in order."""
        found = collections.defaultdict(list)
        for row in self.rows(
            "SELECT ordinal, m.name || ' ' || m.instruction_count AS module, count(*) AS n FROM execution e "
            "JOIN module m USING (module_id) JOIN device USING (device_id) "
            "JOIN activity a USING (execution_id) WHERE a.kind = 'kernel' "
            "GROUP BY execution_id ORDER BY e.start_ns"
        ):
            found[row["ordinal"], row["module"]].append(row["n"])
        return found

    def steps(self):
        rows = self.rows("SELECT device_id, count(*) AS n FROM step GROUP BY 1")
        return max((row["n"] for row in rows), default=0)


def compare(exact, light):
    truth, found = exact.executions(), light.executions()
    same = other = 0
    for key, sizes in found.items():
        blocks = difflib.SequenceMatcher(None, truth.get(key, []), sizes, False)
        right = sum(block.size for block in blocks.get_matching_blocks())
        same += right
        other += len(sizes) - right
    total = sum(map(len, truth.values()))
    reasons = light.rows(
        "SELECT unattributed_reason AS reason, count(*) AS n FROM activity "
        "WHERE unattributed_reason IS NOT NULL AND kind = 'kernel' GROUP BY 1 ORDER BY n DESC"
    )
    hint = light.rows("SELECT advice FROM run_stat WHERE name = 'modules_unknown'")
    # Kernels that exact mode leads to an instruction are XLA's.
    labelled = exact.rows(
        "SELECT count(*) AS n FROM activity WHERE kind = 'kernel' AND confidence <> 'none'"
    )[0]["n"]
    kernels = light.rows("SELECT count(*) AS n FROM activity WHERE kind = 'kernel'")[0]["n"]
    foreign = sum(row["n"] for row in reasons if row["reason"] == "not_xla")
    return {
        "executions": total, "same": same, "other": other, "withheld": max(0, total - same - other),
        "steps": exact.steps(), "light": light.steps(),
        "reason": reasons[0]["reason"] if reasons else "-",
        "hint": "dump" if hint and "DUMP" in hint[0]["advice"].upper() else "-",
        "false_reason": foreign > kernels - labelled,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="programs that this pattern finds")
    parser.add_argument("--generated", type=int, default=0, help="number of random programs")
    parser.add_argument("--keep", help="folder that keeps the recordings")
    options = parser.parse_args()
    try:
        gpu_support.require_gpu()
        machine = rig.Rig()
    except Exception as missing:  # unittest.SkipTest, rig.Missing
        print(f"skipped: {missing}")
        return 77
    print(f"{'program':<27}{'dump':<6}" + "".join(f"{c:>12}" for c in COLUMNS)
          + "  reason, hint", flush=True)  # fmt: skip
    bad = False
    with tempfile.TemporaryDirectory(prefix="xlatrace-light-") as root:
        root = pathlib.Path(options.keep or root)
        generated = [
            ("generated_steps", 1, seed % 3 != 0, [str(seed)])
            for seed in range(1, options.generated + 1)
        ]
        for program, devices, graphs, arguments in PROGRAMS + generated:
            name = " ".join([program, *arguments]) + ("" if graphs else ", no graphs")
            if not re.search(options.only, name):
                continue
            about = (machine, program, devices, graphs, arguments)
            place = root / re.sub(r"\W+", "-", name)
            exact = Run(place / "exact", *about)
            for dump in ("on", "off"):
                light = Run(place / dump, *about, XLATRACE_MODE="light", XLATRACE_DUMP=dump)
                row = compare(exact, light)
                wrong = row["other"] > 0 or row["light"] not in (0, row["steps"])
                bad |= wrong or row["false_reason"]
                marks = "  WRONG" * wrong + "  FALSE REASON" * row["false_reason"]
                print(f"{name:<27}{dump:<6}" + "".join(f"{row[c]:>12,}" for c in COLUMNS)
                      + f"  {row['reason']}, {row['hint']}{marks}", flush=True)  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
