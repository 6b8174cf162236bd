# SPDX-License-Identifier: Apache-2.0
"""Stack samples of a recorded program, in the views and in `summary --by host`."""

import json
import unittest

import support

# The device waits for `read_shard`, which sleeps, and for `count_words`, which computes.
SCRIPT = """
import time
import jax, jax.numpy as jnp

def read_shard():
    time.sleep(0.04)

def count_words(until):
    while time.thread_time() < until:
        pass

@jax.jit
def step(x):
    return jnp.tanh(x @ x)

def train():
    x = jnp.ones((64, 64))
    for _ in range(25):
        read_shard()
        count_words(time.thread_time() + 0.02)
        x = step(x)
        x.block_until_ready()

train()
"""


class HostSamples(support.TestCase):
    def setUp(self):
        super().setUp()
        self.python = support.require_jax()
        (self.folder / "script.py").write_text(SCRIPT.lstrip("\n"))

    def record(self, **changes):
        result = self.run_program(
            "record", "-o", "run.db", "--", self.python, "script.py", env=support.environment(**changes)
        )
        self.assertEqual(result.code, 0, result)
        return self.folder / "run.db"

    def test_functions_that_the_device_waits_for_have_their_line(self):
        run = self.record()
        rows = json.loads(self.run_program("summary", run, "--by", "host", "--format", "json").stdout)["rows"]
        places = {row["function"]: row for row in rows if row["function"] in ("read_shard", "count_words")}
        self.assertEqual(places["read_shard"]["source_line"], 5)
        self.assertIn(places["count_words"]["source_line"], (8, 9))
        self.assertEqual(places["read_shard"]["kind"], "sleep")
        # 25 sleeps of 40 ms each, less the slept time before the first program.
        self.assertAlmostEqual(places["read_shard"]["ns"], 1_000_000_000, delta=300_000_000)
        idle = support.query(run, "SELECT sum(ns) AS ns FROM gap_stack WHERE part = 'step'")
        tree = support.query(run, "SELECT ns FROM time_tree WHERE kind = 'idle' AND device_id IS NOT NULL")
        self.assertLessEqual(idle[0]["ns"], tree[0]["ns"])
        frames = support.query(
            run,
            "SELECT DISTINCT f.function, f.is_user FROM host_sample s JOIN host_frame f USING (stack_id)"
            " WHERE s.function = 'read_shard' ORDER BY f.depth",
        )
        self.assertEqual([frame["function"] for frame in frames][:2], ["read_shard", "train"])

    def test_ranges_and_samples_of_a_thread_have_the_same_number(self):
        run = self.record()
        rows = support.query(
            run,
            "SELECT count(*) AS n FROM range r JOIN host_sample s ON s.process_id = r.process_id"
            " AND s.thread_id = r.thread_id WHERE r.text LIKE 'PjitFunction%'",
        )
        self.assertGreater(rows[0]["n"], 0)

    def test_stacks_off_leaves_no_samples(self):
        run = self.record(XLATRACE_STACKS="0")
        self.assertEqual(support.query(run, "SELECT count(*) AS n FROM host_sample")[0]["n"], 0)


if __name__ == "__main__":
    unittest.main()
