# SPDX-License-Identifier: Apache-2.0
"""`diff` on changes that were planted: the first sentence says what was done.

Each program is trained and recorded in a process of its own (JAX on the CPU). Times of such runs
move by themselves, so what is asked for is what the program does, and that nothing is claimed of
time with one run a side.
"""

import concurrent.futures
import json
import pathlib
import re
import shutil
import tempfile
import unittest

import support

# What was planted, and what the first sentence has to say.
PLANTED = {
    "op": r"sort",
    "split": r"layer_1/act",
    "layout": r"layer_1/down.*(transposed|copy|layout)",
    "remat": r"recomputation \(remat\) appeared",
    "layer": r"1 layer more: .*layer_3",
    "batch": r"other arguments \(f32\[64,128\] -> f32\[128,128\]",
    "dtype": r"bf16",
    "iterations": r"smooth.*(12 executions a step instead of 4|360 executions instead of 120)",
    "wider": r"other arguments \(f32\[\d+,\d+\] -> f32\[\d+,\d+\]|layer_1",
    "metrics": r"metrics",
    "stall": r"the device waits longer",
}


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
            for change, result in pool.map(record, ["base", "again", *PLANTED]):
                if result.code != 0:
                    raise AssertionError(f"{change}: {result}")

    def verdict(self, change):
        result = support.run("diff", self.place / "base.db", self.place / f"{change}.db", "--format", "json")
        self.assertEqual(result.code, 0, str(result))
        return json.loads(result.stdout)

    def test_the_first_sentence_names_what_was_planted(self):
        named = {}
        for change, pattern in PLANTED.items():
            comparison = self.verdict(change)
            named[change] = bool(re.search(pattern, comparison["verdict"]))
            print(f"{change:<11}{'' if named[change] else 'NOT NAMED '}{comparison['verdict']}")
            self.assertFalse(comparison["established"])
        # What a slow moment of the machine can outweigh (a stall, more iterations) may be missed on a
        # busy one; what the program itself tells is found whatever the clock says.
        self.assertGreaterEqual(sum(named.values()), len(PLANTED) - 3, named)

    def test_the_same_program_has_no_certain_change(self):
        comparison = self.verdict("again")
        certain = [change for change in comparison["changes"] if change["certain"]]
        self.assertEqual(certain, [])
        self.assertFalse(comparison["same_recording"])

    def test_the_other_way_round_turns_the_signs(self):
        for change in ("remat", "layer", "dtype"):
            there = self.verdict(change)
            result = support.run("diff", self.place / f"{change}.db", self.place / "base.db", "--format", "json")
            back = json.loads(result.stdout)
            self.assertEqual(
                sorted((row["base_ns"], row["new_ns"]) for row in there["rows"]),
                sorted((row["new_ns"], row["base_ns"]) for row in back["rows"]))


if __name__ == "__main__":
    unittest.main()
