# SPDX-License-Identifier: Apache-2.0
"""Cases that need another interpreter than the one ctest runs: one that has Playwright."""

import os
import shutil
import subprocess


def run(test, *names):
    """Runs modules, classes or cases of this folder with XLATRACE_TEST_PYTHON_BROWSER; skips `test` and
    says why when it cannot. What they print is printed, so that what they skip is counted, too."""
    python = os.environ.get("XLATRACE_TEST_PYTHON_BROWSER")
    if not python:
        test.skipTest("XLATRACE_TEST_PYTHON_BROWSER is not set")
    if not shutil.which("chromium") and not shutil.which("chromium-browser"):
        test.skipTest("no chromium")
    result = subprocess.run(
        [python, "-m", "unittest", "-v", *names],
        cwd=os.path.dirname(os.path.abspath(__file__)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=1700,
    )
    print("\n" + result.stdout.decode("utf-8", "replace"), flush=True)
    test.assertEqual(result.returncode, 0, "what failed is above")
