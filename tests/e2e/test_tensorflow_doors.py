# SPDX-License-Identifier: Apache-2.0
"""TensorFlow on the fake GPU through other doors: README's quick start, and profiles of TensorFlow's own
profiler. What the tests need: tensorflow_case.py.
"""

import collections
import re
import shutil
import subprocess
import unittest

import support
from tensorflow_case import (
    MORE,
    PROGRAMS,
    TensorFlowCase,
    recorded,
    rig,
    rows,
    setUpModule,
    start,
    tearDownModule,
)

__all__ = ["setUpModule", "tearDownModule"]

PROFILED = ("graph", "transformer", "control_flow", "clusters")
KERNELS = (
    "SELECT op_name, op_type, instruction, count(*) AS count, sum(self_ns) AS ns FROM activity"
    " WHERE kind = 'kernel' AND op_name IS NOT NULL GROUP BY 1, 2, 3"
)


def profiled(program):
    name, *arguments = PROGRAMS[program]
    return start(
        f"{program}-profile",
        ("profiled.py", "profile", str(rig.HERE / name), *arguments),
        more=tuple(MORE.get(program, {}).items()),
    )


class Profiles(TensorFlowCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in PROFILED:
            recorded(program)
            profiled(program)

    def check_profile(self, program):
        place = self.finished(profiled(program))
        files = list(place.glob("profile/**/*.xplane.pb"))
        self.assertEqual(len(files), 1)
        done = support.run("import", files[0], "-o", "run.db", cwd=place)
        self.assertEqual(done.code, 0, done.stderr)
        counts = [collections.Counter(), collections.Counter()]
        for counter, folder in zip(counts, (self.finished(recorded(program)), place)):
            for row in rows(folder, KERNELS):
                counter[row["op_name"], row["op_type"], row["instruction"]] += row["count"]
        own, imported = counts
        self.assertGreater(sum(own.values()), 100)
        self.assertEqual(own - imported, collections.Counter(), "not in the profile")
        self.assertEqual(imported - own, collections.Counter(), "only in the profile")

    def test_the_same_kernels_under_the_same_ops(self):
        for program in PROFILED:
            with self.subTest(program=program):
                self.check_profile(program)


class QuickStart(TensorFlowCase):
    def test_as_the_readme_says(self):
        text = (support.REPOSITORY / "README.md").read_text()
        block = re.search(r"^## Quick start\n.*?^```sh\n(.*?)^```", text, re.M | re.S).group(1)
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
        self.assertIn("Compile this part with XLA", done.stdout)
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
