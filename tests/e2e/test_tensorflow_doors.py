# SPDX-License-Identifier: Apache-2.0
"""TensorFlow on the fake GPU as in README's quick start. Requirements: tensorflow_case.py."""

import re
import shutil
import subprocess
import unittest

import support
from tensorflow_case import TensorFlowCase, rig, rows, setUpModule, tearDownModule

__all__ = ["setUpModule", "tearDownModule"]


class QuickStart(TensorFlowCase):
    def test_commands_of_the_readme_record_tensorflow(self):
        text = (support.REPOSITORY / "README.md").read_text()
        block = re.search(r"^```sh\n(.*?)^```", text, re.M | re.S).group(1)
        self.assertIn("xlatrace record -- python train.py", block)
        own = rig.Rig()
        shutil.copy(rig.HERE / "graph_step.py", self.folder / "train.py")
        programs = self.folder / "bin"
        programs.mkdir()
        # A link to the interpreter would leave its environment.
        (programs / "python").write_text(f'#!/bin/sh\nexec "{own.python}" "$@"\n')
        (programs / "python").chmod(0o755)
        (programs / "xlatrace").symlink_to(support.PROGRAM)
        environment = own.environment()
        environment["PATH"] = f"{programs}:{environment['PATH']}"
        done = subprocess.run(
            ["bash", "-ec", block],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=support.HANG_S,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertIn("loss ()", done.stdout)
        self.assertRegex(done.stdout, r"step .* steady|step [\d.]+ [um]s")
        finding = rows(self.folder, "SELECT title FROM finding WHERE id = 'outside_xla'")
        self.assertEqual(len(finding), 1)
        self.assertIn(finding[0]["title"][:20], done.stdout)
        self.assertIn("dense_0/MatMul", (self.folder / "run.html").read_text() + done.stdout)
        steps = rows(self.folder, "SELECT * FROM step")
        self.assertEqual(len(steps), 8)
        named = rows(
            self.folder,
            "SELECT sum(self_ns) FILTER (WHERE evidence = 'op_range') * 1.0 / sum(self_ns)"
            " FROM activity WHERE kind = 'kernel' AND step IS NOT NULL",
        )
        self.assertGreater(named[0][0], 0.98)


if __name__ == "__main__":
    unittest.main()
