# SPDX-License-Identifier: Apache-2.0
"""`diff` on planted changes on the fake GPU: the verdict is about the change.

The real CUDA plugin compiles. The scenario gives times to kernels by their names, so the changes of
time are known: a slower kernel, a longer collective, graphs switched off.

Environment: XLATRACE_TEST_PYTHON_JAX_CUDA, XLATRACE_FAKE_GPU (see tests/fake_gpu/jax/rig.py).
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import planted_changes
import support

RIG_FOLDER = support.REPOSITORY / "tests" / "fake_gpu" / "jax"
sys.path.insert(0, str(RIG_FOLDER))

import rig

TRAIN = pathlib.Path(__file__).with_name("planted_train.py")
PARALLEL = RIG_FOLDER / "data_parallel.py"

# The planted change, and a change that the verdict must name (planted_changes.verdict_has).
PLANTED = {
    "op": [(None, r"sort")],
    "split": [(None, r"layer_1")],
    "layout": [(None, r"layer_1.*(transpos|copy|layout|down)"), ("split", r"layer_1"), ("merged", r"layer_1"),
               ("regrouped", r"layer_1")],
    "remat": [("recompute", "")],
    "layer": [("layers", r"\b1\b.*layer_3")],
    "batch": [(None, r"f32\[64,128\] -> f32\[128,128\]")],
    "dtype": [(None, r"bf16")],
    "iterations": [("executions", r"smooth.*\b12 .*\b4\b")],
    "metrics": [(None, r"metrics")],
    "stall": [("idle", "")],
    "graphs": [("graphs", "")],
    # Slower by a factor, and by the same kernel.
    "slow": [("time", r"\b[2-4]\.\d+x\b.*\bkernel\b")],
    "collective": [("exposed_collective", ""), ("time", r"all-?reduce")],
}


class PlantedOnFakeGpu(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.rig = rig.Rig()
        except rig.Missing as missing:
            raise unittest.SkipTest(str(missing)) from None
        keep = os.environ.get("XLATRACE_KEEP_PLANTED")
        cls.place = pathlib.Path(keep or tempfile.mkdtemp(prefix="xlatrace-planted-gpu-"))
        if not keep:
            cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.record("base")
        cls.record("parallel")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(cls.record, ["again", *(c for c in PLANTED if c != "slow")]))
        # The largest kernel of an op of the program.
        cls.kernel = support.run(
            "query", "--format", "csv", cls.place / "base.db",
            "SELECT kernel_symbol FROM launch WHERE instruction IS NOT NULL AND op_kind LIKE '%fusion'"
            " GROUP BY 1 ORDER BY sum(self_ns) DESC LIMIT 1").stdout.splitlines()[1]
        cls.record("slow")

    @classmethod
    def record(cls, change):
        database = cls.place / f"{change}.db"
        if database.exists():
            return
        more = {"XLATRACE_FORCE_COLLECTOR": "1"}
        scenario = {"slow": lambda: f"kernel {cls.kernel} times 3\n",
                    "collective": lambda: "kernel _Z39ncclDevKernel* times 400\n"}.get(change)
        if scenario:
            file = cls.place / f"{change}.scenario"
            file.write_text(scenario())
            more["FAKE_GPU_SCENARIO"] = str(file)
        parallel = change in ("parallel", "collective")
        command = [PARALLEL, "--steps", "24"] if parallel else [TRAIN, "base" if change in ("again", "graphs", "slow") else change]
        result = support.run(
            "record", "-o", database, "--", cls.rig.python, *command, cwd=cls.place,
            env=cls.rig.environment(tap=False, graphs=change != "graphs", devices=2 if parallel else 1,
                                    cache=cls.place / "cache", more=more))
        if result.code != 0:
            raise AssertionError(f"{change}: {result}")

    def verdict(self, change):
        base = "parallel" if change == "collective" else "base"
        result = support.run("diff", self.place / f"{base}.db", self.place / f"{change}.db", "--format", "json")
        self.assertEqual(result.code, 0, str(result))
        return json.loads(result.stdout)

    def test_verdict_is_about_what_was_planted(self):
        planted_changes.check_planted(self, PLANTED, at_least=len(PLANTED) - 1)
        graphs = self.verdict("graphs")["facts"]["graph_share"]
        self.assertLess(graphs["new"], graphs["base"])

    def test_the_same_program_has_no_certain_change(self):
        comparison = self.verdict("again")
        self.assertEqual([change for change in comparison["changes"] if change["certain"]], [])

    def test_flags_are_the_possible_reason_of_graphs_that_are_gone(self):
        change = next(c for c in self.verdict("graphs")["changes"] if c["id"] == "graphs")
        self.assertIn("--xla_gpu_enable_command_buffer=", change["because"])


if __name__ == "__main__":
    unittest.main()
