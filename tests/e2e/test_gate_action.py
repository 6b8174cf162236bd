# SPDX-License-Identifier: Apache-2.0
"""The composite GitHub Action: scripts/gate_action with the real `gate`, and the inputs of action.yml."""

import json
import os
import re
import subprocess

import support
import test_readme

SCRIPT = support.REPOSITORY / "scripts" / "gate_action"


class GateAction(support.TestCase):
    def setUp(self):
        super().setUp()
        support.require_program()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "xlatrace").symlink_to(support.PROGRAM)
        self.record("run.db", test_readme.OPS)

    def record(self, name, ops):
        profile = self.folder / "trace.xplane.pb"
        profile.write_bytes(support.xspace("jit_train_step", ops, executions=30))
        self.assertEqual(support.run("import", profile, "-o", name, cwd=self.folder).code, 0)

    def act(self, event="push", **inputs):
        """(exit status, outcome, job summary, error output) of one run of the step."""
        files = {name: self.folder / name.lower() for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        for file in files.values():
            file.unlink(missing_ok=True)
        variables = {f"GATE_{name}": value for name, value in inputs.items()}
        done = subprocess.run(
            [SCRIPT], cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, **variables, **{name: str(file) for name, file in files.items()},
                 "GITHUB_EVENT_NAME": event, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        outcome = files["GITHUB_OUTPUT"].read_text().strip().removeprefix("outcome=")
        return done.returncode, outcome, files["GITHUB_STEP_SUMMARY"].read_text(), done.stderr

    def labels(self):
        file = self.folder / "perf" / "baseline.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line)["label"] for line in lines]

    def test_push_adds_the_run_and_writes_the_summary(self):
        status, outcome, summary, _ = self.act(LABEL="abc", JUNIT="gate.xml")
        self.assertEqual((status, outcome), (0, "not_established"))
        self.assertRegex(summary, r"\A\*\*.+\*\*\n\n\| ")
        self.assertEqual(self.labels(), ["abc"])
        self.assertIn("<testsuite", (self.folder / "gate.xml").read_text())

    def test_pull_request_leaves_the_baseline_unchanged(self):
        self.act(event="pull_request", LABEL="topic")
        self.assertEqual(self.labels(), [])
        self.act(event="push", READ_ONLY="true", LABEL="topic")
        self.assertEqual(self.labels(), [])

    def test_noise_fails_the_step_only_if_wanted(self):
        self.assertEqual(self.act(STRICT_NOISE="true")[:2], (5, "not_established"))

    def test_more_launches_than_the_baseline_fail_the_step(self):
        self.act(LABEL="base")
        self.record("more.db", [*test_readme.OPS, ("tanh.9", "tanh", "jit(train_step)/jvp(mlp)/tanh", "model.py", 9)])
        status, outcome, summary, _ = self.act(event="pull_request", RUN="more.db")
        self.assertEqual((status, outcome), (3, "regressed"), summary)

    def test_missing_run_fails_the_step_with_a_summary(self):
        status, outcome, summary, error = self.act(RUN="nothing.db")
        self.assertEqual(outcome, "failed")
        self.assertNotEqual(status, 0)
        self.assertTrue(summary.strip())
        self.assertIn("nothing.db", error)

    def test_inputs_in_the_documentation_are_inputs_of_the_action(self):
        page = (support.REPOSITORY / "docs/how-to/ci.md").read_text()
        used = re.findall(r"^          ([\w-]+): ", page[page.index("uses: ./xlatrace") : page.index("## GitLab")], re.M)
        action = (support.REPOSITORY / "action.yml").read_text()
        self.assertTrue(used)
        self.assertEqual([name for name in used if f"\n  {name}:\n" not in action], [])

    def test_action_passes_each_input_to_the_script(self):
        text = (support.REPOSITORY / "action.yml").read_text()
        inputs = set(re.findall(r"^  ([\w-]+):$", text[text.index("inputs:") : text.index("outputs:")], re.M))
        passed = dict(re.findall(r"(GATE_\w+): \$\{\{ inputs\.([\w-]+) \}\}", text))
        self.assertEqual(set(passed.values()), inputs)
        self.assertEqual(set(passed), set(re.findall(r"\bGATE_[A-Z_]+(?=[:}])", SCRIPT.read_text())))
