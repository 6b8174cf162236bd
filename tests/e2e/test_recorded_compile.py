# SPDX-License-Identifier: Apache-2.0
"""Compilations of a recorded JAX program: stages, causes, agreement with JAX's own log, a killed process."""

import collections
import json
import re
import signal
import unittest

import support

SCRIPT = """
import sys
import numpy as np
import jax, jax.numpy as jnp

@jax.jit
def train_step(params, batch):
    return jax.tree.map(lambda p: p - 0.1 * jnp.mean(jnp.tanh(batch["x"] @ p)), params)

params = {"kernel": jnp.ones((16, 16))}
for rows in (8, 8, 9, 8, 10, 8, 8, 8, 8, 8):
    params = train_step(params, {"x": np.ones((rows, 16), np.float32)})
jax.block_until_ready(params)
"""
CALL_LINE = 12
# JAX_LOG_COMPILES: "Finished XLA compilation of jit(f) in 0.12 sec".
LOGGED = re.compile(r"Finished XLA compilation of (?:jit\()?([\w<>]+)\)? in ([\d.]+) sec")


class RecordedCompilations(support.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        cls.python = support.require_jax()

    def record(self, script, **environment):
        (self.folder / "train.py").write_text(script)
        return support.run(
            "record",
            "-o",
            "run.db",
            "--",
            self.python,
            "train.py",
            cwd=self.folder,
            env=support.environment(**environment),
        )

    def test_functions_stages_and_causes_agree_with_jax(self):
        result = self.record(SCRIPT, JAX_LOG_COMPILES="1")
        self.assertEqual(result.code, 0, result)
        logged = collections.Counter()
        logged_ns = collections.Counter()
        for name, seconds in LOGGED.findall(result.stderr):
            logged[name] += 1
            logged_ns[name] += float(seconds) * 1e9
        run = support.run("summary", "run.db", "--by", "compile", "--format", "json", cwd=self.folder)
        report = json.loads(run.stdout)
        counts = collections.Counter()
        for function in report["functions"]:
            counts[function["name"]] += function["compilations"]
        self.assertEqual(counts, logged)
        self.assertEqual(report["compilations"], sum(logged.values()))
        (step,) = [f for f in report["functions"] if f["name"] == "train_step"]
        self.assertEqual((step["compilations"], step["compiled_again"]), (3, 2))
        self.assertEqual(step["source_line"], CALL_LINE)
        self.assertTrue(step["source_file"].endswith("train.py"), step)
        compiled_ns = sum(ns for stage, ns in step["stage_ns"].items() if stage not in ("trace", "lower"))
        # Both measure the same calls; the log rounds nothing at this size.
        self.assertLess(abs(compiled_ns - logged_ns["train_step"]), max(0.02 * compiled_ns, 4e6))
        (again,) = report["recompilations"]
        self.assertEqual((again["name"], again["cause"], again["argument"]), ("train_step", "shape", "batch['x']"))
        self.assertEqual(again["compilations"], 2)
        rows = support.query(
            self.folder / "run.db",
            "SELECT DISTINCT before, after FROM compile_detail WHERE kind = 'shape' ORDER BY after",
        )
        self.assertEqual([row["after"] for row in rows], ["float32[10,16]", "float32[9,16]"])
        self.check_tree()

    def check_tree(self):
        """Children sum to their parent, and the tree begins with the process."""
        rows = support.query(
            self.folder / "run.db",
            "SELECT node_id, parent_id, kind, name, ns FROM time_tree WHERE process_id IS NULL",
        )
        sums = collections.Counter()
        for row in rows:
            sums[row["parent_id"]] += row["ns"]
        for row in rows:
            if row["node_id"] in sums:
                self.assertEqual(row["ns"], sums[row["node_id"]], row)
        kinds = {row["kind"] for row in rows}
        self.assertLessEqual({"import", "compile", "trace", "lower", "codegen"}, kinds)
        names = {(row["kind"], row["name"]) for row in rows}
        self.assertIn(("import", "jax"), names)
        self.assertIn(("compile", "train_step"), names)
        (started,) = support.query(self.folder / "run.db", "SELECT recorded_from_ns FROM process")
        self.assertLess(started["recorded_from_ns"], 0)

    def test_process_that_is_killed_while_it_compiles_is_explained(self):
        killed = self.record(
            "import os, jax, numpy as np\n"
            "from jax._src import monitoring\n"
            "def kill(event, value, **names):\n"
            "    if 'backend_compile' in event and 'slow' in names['fun_name']: os.kill(os.getpid(), 9)\n"
            "monitoring.register_scalar_listener(kill)\n"
            "def slow(x): return x + 1\n"
            "jax.jit(slow)(np.ones(3))\n"
        )
        self.assertEqual(killed.code, 128 + signal.SIGKILL)
        for part in ("slow", "train.py:7", "compiled"):
            self.assertIn(part, killed.stderr)


if __name__ == "__main__":
    unittest.main()
