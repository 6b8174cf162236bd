"""The table of skips sees what was skipped, and fails when a reason is not allowed."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/skips.py"

PYTHON = """test_a (test_x.X.test_a) ... ok
test_b (test_x.X.test_b) ... skipped 'no firefox'
test_c (test_x.X.test_c)
What it is about. ... skipped "it's not here: /opt/some/where"
setUpClass (test_x.Y) ... skipped 'no firefox'

----------------------------------------------------------------------
Ran 3 tests in 0.1s

OK (skipped=3)
"""
GOOGLE = "[ RUN      ] A.B\n/src/tests/a_test.cc:12: Skipped\nno recorded data at /x/y (set V)\n\n"


def result(cases):
    body = "".join(f'<testcase name="{name}">{skipped}<system-out><![CDATA[{output}]]></system-out>'
                   "</testcase>" for name, skipped, output in cases)
    return f"<testsuite>{body}</testsuite>"


class Skips(unittest.TestCase):
    def run_on(self, cases, allow, *options):
        with tempfile.TemporaryDirectory() as folder:
            results, allowed = Path(folder) / "r.xml", Path(folder) / "allowed"
            results.write_text(result(cases), encoding="utf-8")
            allowed.write_text(allow, encoding="utf-8")
            return subprocess.run([sys.executable, str(SCRIPT), "--allow", str(allowed), *options,
                                   str(results)], capture_output=True, text=True)

    def test_every_skip_of_both_frameworks_is_counted_with_its_reason(self):
        done = self.run_on([("e2e.x", "", PYTHON), ("hlo.A.B", "<skipped/>", GOOGLE)], "")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped: 4 cases for 3 reasons", done.stdout)
        self.assertIn("     2  no firefox", done.stdout)
        self.assertIn("it's not here: PATH", done.stdout)
        self.assertIn("no recorded data at PATH (set V)", done.stdout)

    def test_a_reason_that_is_not_on_the_list_fails(self):
        cases = [("e2e.x", "", PYTHON)]
        allow = "^no firefox$  # none in this distribution\n"
        done = self.run_on(cases, allow, "--enforce")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("PATH  NOT ALLOWED", done.stdout)
        self.assertNotIn("no firefox  NOT ALLOWED", done.stdout)
        done = self.run_on(cases, allow + "not here  # a test\n", "--enforce")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_skips_whose_reasons_were_cut_off_fail(self):
        done = self.run_on([("e2e.x", "", "Ran 9 tests in 1s\n\nOK (skipped=9)\n")], "", "--enforce")
        self.assertEqual(done.returncode, 1)
        self.assertIn("9 skipped, 0 reasons printed", done.stdout)

    def test_a_file_that_ran_nothing_fails(self):
        done = self.run_on([("e2e.x", "", "Ran 0 tests in 0s\n\nOK\n")], "", "--enforce")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ran no case", done.stdout)


if __name__ == "__main__":
    unittest.main()
