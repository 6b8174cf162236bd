# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the page in a browser (page_*.py) in another interpreter than the one of ctest: one that
has Playwright. All tests of one process share one browser."""

import os
import pathlib
import shutil
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent
# Seconds of CPU of each module (2026-11-30, 2 cores), to divide them evenly; of a module without an entry 10.
COST_S = {
    "page_browser": 41, "page_controls": 39, "page_leads": 38, "page_figures": 29, "page_clear": 25, "page_ranks": 25,
    "page_axe": 19, "page_filters": 17, "page_bare": 14,
}


def modules():
    """Modules with tests, those that take longest first."""
    # Some make their tests in a loop.
    names = [path.stem for path in FOLDER.glob("page_*.py") if "test_" in path.read_text(encoding="utf-8")]
    return sorted(names, key=lambda name: (-COST_S.get(name, 10), name))


def part(number, parts):
    """The modules of part `number` of `parts`; each module is in one part."""
    sums, divided = [0] * parts, [[] for _ in range(parts)]
    for name in modules():
        least = sums.index(min(sums))
        sums[least] += COST_S.get(name, 10)
        divided[least].append(name)
    return divided[number - 1]


def run(test, number, parts):
    """Runs a part of the modules with XLATRACE_TEST_PYTHON_BROWSER; skips `test` with a reason where that is
    not possible. The output is printed, so that skipped cases in it are counted."""
    python = os.environ.get("XLATRACE_TEST_PYTHON_BROWSER")
    if not python:
        test.skipTest("XLATRACE_TEST_PYTHON_BROWSER is not set")
    if not shutil.which("chromium") and not shutil.which("chromium-browser"):
        test.skipTest("no chromium")
    result = subprocess.run(
        [python, "-m", "unittest", "-v", *part(number, parts)],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=1700,
    )
    print("\n" + result.stdout.decode("utf-8", "replace"), flush=True)
    test.assertEqual(result.returncode, 0, "failures are listed above")


if __name__ == "__main__":
    print(*modules())
