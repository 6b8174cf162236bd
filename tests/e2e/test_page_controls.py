# SPDX-License-Identifier: Apache-2.0
"""Runs page_controls.py, which uses every control of the page, with an interpreter that has
Playwright (XLATRACE_TEST_PYTHON_BROWSER); says why when it cannot."""

import os
import shutil
import subprocess
import unittest


class PageControls(unittest.TestCase):
    def test_all(self):
        python = os.environ.get("XLATRACE_TEST_PYTHON_BROWSER")
        if not python:
            self.skipTest("XLATRACE_TEST_PYTHON_BROWSER is not set")
        if not shutil.which("chromium") and not shutil.which("chromium-browser"):
            self.skipTest("no chromium")
        result = subprocess.run(
            [python, "-m", "unittest", "-v", "page_controls.Controls", "page_controls.Ranks"],
            cwd=os.path.dirname(os.path.abspath(__file__)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=1700,
        )
        self.assertEqual(result.returncode, 0, result.stdout.decode("utf-8", "replace"))


if __name__ == "__main__":
    unittest.main()
