# SPDX-License-Identifier: Apache-2.0
"""`diff` on planted changes: the verdict is about the change.

Each program is trained and recorded in a process of its own (JAX on the CPU). Times of such runs vary,
so these tests require changes of the program.
"""

import concurrent.futures
import json
import pathlib
import shutil
import tempfile
import unittest

import planted_changes
import support
import tiers

# Planted change -> changes of which the verdict must name one (planted_changes.verdict_has).
PLANTED = {
    "op": [(None, r"\bsort\b")],
    "split": [(None, r"layer_1/act")],
    "layout": [("layout", r"layer_1/down"), ("layout_copy", r"layer_1/down"), (None, r"layer_1/down.*(copy|transpose)")],
    "remat": [("recompute", "")],
    "layer": [("layers", r"\b1\b.*layer_3")],
    "batch": [("inputs", r"f32\[64,128\] -> f32\[128,128\]")],
    "dtype": [(None, r"bf16")],
    "iterations": [("executions", r"smooth.*\b12 .*\b4\b"), ("executions", r"smooth.*\b360 .*\b120\b")],
    "wider": [("inputs", r"f32\[\d+,\d+\] -> f32\[\d+,\d+\]"), (None, r"layer_1")],
    "metrics": [(None, r"metrics")],
    "stall": [("idle", "")],
}


# Changes of the program that no slow moment of the machine outweighs.
FIRST_TIER = ("remat", "layer", "dtype")
CHANGES = {name: PLANTED[name] for name in (PLANTED if tiers.IS_LONG else FIRST_TIER)}


class Planted(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        python = support.require_jax()
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-planted-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        script = pathlib.Path(__file__).with_name("planted_train.py")

        def record(change):
            result = support.run(
                "record", "-o", cls.place / f"{change}.db", "--", python, script, change,
                env=support.environment(JAX_PLATFORMS="cpu"))
            return change, result

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            for change, result in pool.map(record, ["base", "again", *CHANGES]):
                if result.code != 0:
                    raise AssertionError(f"{change}: {result}")

    def verdict(self, change):
        result = support.run("diff", self.place / "base.db", self.place / f"{change}.db", "--format", "json")
        self.assertEqual(result.code, 0, str(result))
        return json.loads(result.stdout)

    def test_verdict_is_about_what_was_planted(self):
        # A slow moment of the machine can outweigh a stall or more iterations. Changes of the program
        # itself are found on every machine.
        planted_changes.check_planted(self, CHANGES, at_least=len(PLANTED) - 3 if tiers.IS_LONG else len(CHANGES))

    def test_the_same_program_has_no_certain_change(self):
        comparison = self.verdict("again")
        certain = [change for change in comparison["changes"] if change["certain"]]
        self.assertEqual(certain, [])
        self.assertFalse(comparison["same_recording"])

    def test_swapped_runs_swap_the_times_of_rows(self):
        for change in ("remat", "layer", "dtype"):
            there = self.verdict(change)
            result = support.run("diff", self.place / f"{change}.db", self.place / "base.db", "--format", "json")
            back = json.loads(result.stdout)
            self.assertEqual(
                sorted((row["base_ns"], row["new_ns"]) for row in there["rows"]),
                sorted((row["new_ns"], row["base_ns"]) for row in back["rows"]))


if __name__ == "__main__":
    unittest.main()
