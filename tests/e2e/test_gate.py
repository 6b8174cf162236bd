# SPDX-License-Identifier: Apache-2.0
"""`gate` as a CI job uses it: the commands of docs/how-to/ci.md, on runs of JAX on the CPU."""

import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import support
import tiers
from planted_changes import verdict_has

PROGRAM = """
import sys
import jax, jax.numpy as jnp

def loss(w, x):
    y = jnp.tanh(x @ w)
    for _ in range(int(sys.argv[1])):
        y = jnp.sort(y, axis=0)
    return (y ** 2).sum()

@jax.jit
def train_step(w, x):
    return w - 0.01 * jax.grad(loss)(w, x)

size = int(sys.argv[3])
w = jnp.ones((size, size))
x = jnp.ones((size // 2, size))
for _ in range(int(sys.argv[2])):
    w = train_step(w, x)
w.block_until_ready()
"""


REASON = "larger_vocabulary"
HISTORY_ROW = re.compile(r"^ *\d+ 20\d\d-\d\d-\d\d", re.M)  # Number and date.


def ok(*arguments, code=0, **options):
    result = support.run(*arguments, **options)
    if result.code != code:
        raise AssertionError(str(result))
    return result.stdout


class Gate(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        python = support.require_jax()
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-gate-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        (cls.place / "train.py").write_text(PROGRAM)
        cls.runs = [cls.record(python, f"{i}.db", 0) for i in range(2)]
        cls.heavier, cls.as_heavy = cls.record(python, "heavier.db", 3), cls.record(python, "as_heavy.db", 3)
        cls.steady = cls.record(python, "steady.db", 0, size=768)
        cls.without_steps = cls.record(python, "short.db", 0, calls=2, size=768)

    @classmethod
    def record(cls, python, name, sorts, calls=30, size=64):
        # As docs/how-to/ci.md has it.
        ok("record", "-o", cls.place / name, "--", python, cls.place / "train.py", str(sorts), str(calls), str(size),
           env=support.environment(JAX_PLATFORMS="cpu"))
        return cls.place / name

    def outcome(self, *arguments, code=0):
        return json.loads(ok("gate", *arguments, "--format", "json", code=code, cwd=self.folder))["outcome"]

    def test_first_runs_of_a_baseline_are_not_established_and_pass(self):
        outcome = self.outcome(self.runs[0], "--baseline", "perf", "--label", "abc123", "--junit", "gate.xml")
        self.assertEqual(outcome, "not_established")
        ok("gate", self.runs[1], "--baseline", "perf", "--label", "def456", cwd=self.folder)
        ok("gate", self.runs[1], "--baseline", "perf", "--strict-noise", code=5, cwd=self.folder)
        lines = (self.folder / "perf/baseline.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["label"] for line in lines], ["abc123", "def456"])
        self.assertLess(max(map(len, lines)), 20_000)
        suite = xml.etree.ElementTree.parse(self.folder / "gate.xml").getroot()
        self.assertEqual(suite.get("failures"), "0")
        history = ok("gate", "--history", "perf", cwd=self.folder)
        self.assertIn("abc123", history)
        self.assertIn("def456", history)
        self.assertEqual(len(HISTORY_ROW.findall(history)), 2, history)

    def test_fusions_before_the_first_step_are_not_counted(self):
        # Only a run without steady steps holds it; two runs of one program may differ in that.
        def fusions(run):
            ok("gate", run, "--baseline", run.stem, cwd=self.folder)
            return json.loads((self.folder / run.stem / "baseline.jsonl").read_text())["facts"]["fusions"]
        self.assertEqual(fusions(self.without_steps), fusions(self.steady))

    def test_all_runs_that_are_accepted_at_once_are_the_base(self):
        ok("gate", self.runs[0], "--baseline", "perf", cwd=self.folder)
        ok("gate", self.heavier, self.as_heavy, "--baseline", "perf", "--accept", REASON, cwd=self.folder)
        lines = [json.loads(line) for line in (self.folder / "perf/baseline.jsonl").read_text().splitlines()]
        # The base begins with the last accepted line.
        self.assertEqual([line.get("accepted", "") for line in lines], ["", REASON, ""])

    def test_concurrent_gates_keep_all_baseline_runs(self):
        def job(i):
            return support.run("gate", self.runs[i % 2], "--baseline", "perf", "--label", f"job{i}", cwd=self.folder)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(job, range(16)))
        self.assertEqual({result.code for result in results}, {0})
        lines = (self.folder / "perf/baseline.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 2)  # Two recordings, each once.
        for line in lines:
            json.loads(line)

    def test_truncated_line_of_the_baseline_is_skipped_with_a_warning(self):
        ok("gate", self.runs[0], "--baseline", "perf", cwd=self.folder)
        file = self.folder / "perf/baseline.jsonl"
        file.write_bytes(file.read_bytes()[:-40])
        result = support.run("gate", self.runs[1], "--baseline", "perf", cwd=self.folder)
        self.assertEqual(result.code, 0, str(result))
        self.assert_golden_text(result.stderr)
        history = ok("gate", "--history", "perf", cwd=self.folder)
        self.assertEqual(len(HISTORY_ROW.findall(history)), 1, history)

    def test_diff_names_the_added_operation(self):
        comparison = json.loads(ok("diff", self.runs[0], self.heavier, "--format", "json"))
        self.assertFalse(comparison["same_program"])
        self.assertTrue(verdict_has(comparison, [(None, r"\bsort\b")]), comparison["verdict"])
        self.assertTrue(json.loads(ok("diff", self.runs[0], self.runs[0], "--format", "json"))["same_recording"])


class Recipes(support.TestCase):
    """docs/how-to/ci.md as a CI job runs it: each of its scripts, word for word, in one folder after the other."""

    def setUp(self):
        super().setUp()
        support.require_program()
        python = support.require_jax()
        self.text = (support.REPOSITORY / "docs/how-to/ci.md").read_text()
        tools = self.folder / "tools"
        tools.mkdir()
        for name, target in (("xlatrace", support.PROGRAM), ("python", python)):
            # No link: both look for their libraries where they lie.
            (tools / name).write_text(f'#!/bin/sh\nexec "{target}" "$@"\n')
            (tools / name).chmod(0o755)
        small = PROGRAM.replace("sys.argv[1]", "0").replace("sys.argv[2]", "30").replace("sys.argv[3]", "64")
        (self.folder / "train.py").write_text(small)
        self.environment = support.environment(
            JAX_PLATFORMS="cpu", COMMIT="abc123", GITHUB_SHA="def456", GITHUB_STEP_SUMMARY="summary.md",
            CI_COMMIT_BRANCH="main", CI_DEFAULT_BRANCH="main", CI_COMMIT_SHORT_SHA="0123456")
        self.environment["PATH"] = f"{tools}:{self.environment['PATH']}"

    def shell(self, script, **variables):
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=self.folder, capture_output=True,
                              text=True, env={**self.environment, **variables}, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def blocks(self, language):
        return re.findall(rf"^```{language}\n(.*?)^```", self.text, re.M | re.S)

    def labels(self):
        lines = (self.folder / "perf/baseline.jsonl").read_text().splitlines()
        return [json.loads(line)["label"] for line in lines]

    def assert_outcome_not_established(self, markdown):
        """A bold sentence and a table are in the file, and the same command as JSON has the outcome."""
        text = (self.folder / markdown).read_text()
        self.assertTrue(text.startswith("**") and "\n|" in text, text)
        outcome = json.loads(self.shell("xlatrace gate run.db --baseline perf --read-only --format json"))["outcome"]
        self.assertEqual(outcome, "not_established")

    def test_every_script_of_the_page_runs(self):
        by_hand, accept, several = self.blocks("bash")
        github, _, gitlab = self.blocks("yaml")  # test_gate_action.py tests the second one
        self.assertIn("abc123", self.shell(by_hand))
        self.assert_outcome_not_established("gate.md")

        # Steps of the job: one line, or a block.
        steps = re.findall(r"^( +)(?:- )?run: (?:\|\n((?:\1 +.*\n)+)|(.+)\n)", github, re.M)
        scripts = [block or line for _, block, line in steps]
        self.assertEqual(len(scripts), 3)
        for script in scripts:
            self.shell("\n".join(line.strip() for line in script.splitlines()))
        self.assert_outcome_not_established("summary.md")
        self.assertEqual(self.labels(), ["abc123", "def456"])
        if not tiers.IS_LONG:
            return

        record, branches = re.search(r"script:\n    - (.+)\n    - \|\n((?:      .*\n)+)", gitlab).groups()
        self.shell(f"{record}\n{branches}")
        self.shell(branches, CI_COMMIT_BRANCH="topic")
        self.assertEqual(self.labels(), ["abc123", "def456", "0123456"])

        self.shell(accept)  # Nothing is worse here, so nothing is written down as accepted.
        reason = re.search(r'--accept "([^"]+)"', accept)[1]
        self.assertNotIn(reason, self.shell("xlatrace gate --history perf"))

        for name in re.findall(r"\b[bn]\d\.db", several):
            self.shell(f"xlatrace record -o {name} -- python train.py")
        # Times of so short runs differ by chance; the command must come to a judgement.
        self.shell(f"{several.strip()} || [ $? -eq 3 ]")


if __name__ == "__main__":
    unittest.main()
