# SPDX-License-Identifier: Apache-2.0
"""Two real pipeline jobs whose causes and slowdowns were published (ByteDance-Seed/StragglerAnalysis,
arXiv 2505.05713): the program's own analysis of them, through balance_tool.

  XLATRACE_SHARED_DATA         has stragglers/
  XLATRACE_TEST_PYTHON_TABLES  an interpreter with pyarrow
  XLATRACE_FLEET_BALANCE       the built balance_tool
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components

DATA = shared_data.find("stragglers")
PYTHON_TABLES = os.environ.get("XLATRACE_TEST_PYTHON_TABLES", "")
BALANCE = os.environ.get("XLATRACE_FLEET_BALANCE", "")

# Mean time of one micro-batch's computation per pipeline (dp_rank), stage and direction: ranks that
# share both (tensor parallel) do the same work together.
READ_TRACE = """
import collections, sys
import pyarrow.parquet as parquet
rows = parquet.read_table(sys.argv[1]).to_pydict()
times = collections.defaultdict(list)
batches = collections.Counter()
for dp, stage, rank, step, op, took in zip(*(rows[name] for name in (
        "dp_rank", "stage", "rank", "step", "optype", "duration"))):
    if op in ("forward-compute", "backward-compute"):
        times[dp, stage, op].append(took)
        batches[rank, step, op] += 1
pipelines = 1 + max(key[0] for key in times)
stages = 1 + max(key[1] for key in times)
assert len(set(batches.values())) == 1
print(next(iter(batches.values())), pipelines, stages)
for dp in range(pipelines):
    for stage in range(stages):
        for op in ("forward-compute", "backward-compute"):
            took = times[dp, stage, op]
            print(1e9 * sum(took) / len(took), end=" ")
print()
"""


@unittest.skipUnless(DATA, shared_data.reason("stragglers"))
@unittest.skipUnless(PYTHON_TABLES, "XLATRACE_TEST_PYTHON_TABLES is not set")
@unittest.skipUnless(BALANCE, "XLATRACE_FLEET_BALANCE is not set")
class StragglersTest(unittest.TestCase):
    def balance(self, trace: str) -> tuple[list[float], float]:
        """The result of the program, and the published slowdown."""
        published = json.loads((DATA / f"result-{trace}.json").read_text(encoding="utf-8"))
        steps = published["step_t_nodelay"].values()
        step_ns = 1e9 * sum(steps) / len(steps)
        read = subprocess.run([PYTHON_TABLES, "-c", READ_TRACE, DATA / f"trace-{trace}.parquet"],
                              check=True, capture_output=True, text=True).stdout.split()
        told = " ".join([read[0], f"{step_ns}", *read[1:]])
        said = subprocess.run([BALANCE], input=told, check=True, capture_output=True, text=True)
        return [float(word) for word in said.stdout.split()], published["blocking_slowdown"]

    def test_one_slow_worker(self) -> None:
        (slowdown, pipeline, stage, against_peers, against_stages), published = self.balance("AR")
        self.assertEqual((pipeline, stage), (0, 0))
        # data/stragglers/README.md: 2.34 times as long as its like.
        self.assertAlmostEqual(against_peers, 2.336, delta=0.05 * 2.336)
        self.assertAlmostEqual(against_stages, 1, delta=0.05)
        self.assertAlmostEqual(slowdown, published, delta=0.05 * published)

    def test_a_long_last_stage(self) -> None:
        (slowdown, _, stage, against_peers, against_stages), published = self.balance("ST")
        self.assertEqual(stage, 3)
        self.assertAlmostEqual(against_peers, 1, delta=0.05)
        self.assertGreater(against_stages, 1.5)
        self.assertAlmostEqual(slowdown, published, delta=0.05 * published)


if __name__ == "__main__":
    unittest.main()
