# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/tutorials works as printed: scripts/tutorials runs each page in an empty folder."""

import os
import subprocess
import sys
import unittest

import support
import tiers

TUTORIALS = support.REPOSITORY / "docs" / "tutorials"


class Tutorials(support.TestCase):
    def run_page(self, name, require_python):
        support.require_program()
        require_python()
        done = subprocess.run(
            [sys.executable, support.REPOSITORY / "scripts" / "tutorials", TUTORIALS / name], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800, check=False,
            env={**os.environ, "XLATRACE_BIN": str(support.PROGRAM)})
        self.assertEqual((done.returncode, done.stdout), (0, f"tutorials: {name}: all commands ran\n"))

    def test_commands_of_the_jax_page_succeed(self):
        self.run_page("jax.md", support.require_jax)

    @tiers.long_tier
    def test_commands_of_the_tensorflow_page_succeed(self):
        self.run_page("tensorflow.md", support.require_tensorflow)

    @tiers.long_tier
    def test_commands_of_the_keras_page_succeed(self):
        self.run_page("keras.md", support.require_tensorflow)

    def test_failing_command_of_a_page_is_reported_with_its_line(self):
        page = self.folder / "page.md"
        page.write_text("# Page\n\n<!-- environment: self -->\n\n```sh\nfalse\n```\n")
        done = subprocess.run(
            [sys.executable, support.REPOSITORY / "scripts" / "tutorials", page], capture_output=True, text=True,
            env={**os.environ, "XLATRACE_TEST_PYTHON_SELF": sys.executable}, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("page.md:5: exit status 1", done.stderr)


if __name__ == "__main__":
    unittest.main()
