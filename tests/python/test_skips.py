"""The table of skips sees what was skipped, and fails when a reason is not allowed."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SCRIPT = SCRIPTS / "skips.py"

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

    def test_what_scripts_print_is_counted_and_missing_recordings_are_one_reason(self):
        missing = "no recordings: XLATRACE_SHARED_DATA has no"
        done = self.run_on(
            [("damage", '<skipped message="SKIP_RETURN_CODE=77"/>', f"skipped: {missing} xplane\n"),
             ("answers", "", f"skip  h100: {missing} nsys/a.sqlite\npass  demo\nskip: not built: cuda\n"),
             # Words of the program under test are no skips.
             ("e2e.x", "", "skipped: host.pb\n" + PYTHON)], "")
        self.assertIn("skipped: 6 cases for 4 reasons", done.stdout)
        self.assertIn(f"     2  {missing} FILE", done.stdout)
        self.assertIn("     1  not built: cuda", done.stdout)
        self.assertNotIn("77", done.stdout)

    def test_steps_that_were_left_out_before_any_test_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder) / "notes"
            notes.write_text("page\tit needs node\n", encoding="utf-8")
            done = self.run_on([], "", "--enforce", "--notes", str(notes))
            self.assertEqual(done.returncode, 1)
            self.assertIn("     1  page: it needs node  NOT ALLOWED", done.stdout)

    def test_failures_come_first_and_fail(self):
        failed = '<failure message=""/>'
        done = self.run_on([("e2e.x", "", PYTHON), ("hlo.A.B", failed, "Failure\n")], "")
        self.assertEqual(done.returncode, 1)
        first, second, *_ = done.stdout.splitlines()
        self.assertEqual(first, "FAILED: 1 tests")
        self.assertTrue(second.endswith(": hlo.A.B"), second)
        self.assertIn("no firefox", done.stdout)


# Stands for ctest: what it is given of FAIL fails, the second time that of FAIL_ALONE.
CTEST = """#!/usr/bin/env python3
import os, sys
preset = sys.argv[sys.argv.index("--preset") + 1]
fails = os.environ["FAIL_ALONE" if "--rerun-failed" in sys.argv else "FAIL"].split()
tests = [name for name in ("release:a", "release:b", "asan:c", "tsan:d") if name.startswith(preset)]
with open(sys.argv[sys.argv.index("--output-junit") + 1], "w") as out:
    print("<testsuite>", *("<testcase name='%s'>%s<system-out>skipped: no %s here</system-out></testcase>" % (
        name, "<failure/>" if name in fails else "", preset) for name in tests), "</testsuite>", file=out)
sys.exit(8 if set(tests) & set(fails) else 0)
"""
RUN = """source scripts/setup.sh
rm -f build/skipped.txt
skipped page "it needs node"
for preset in release asan tsan; do mkdir -p build/$preset; run_tests $preset; done
report_tests release asan tsan
say "all tests passed"
"""


class Table(unittest.TestCase):
    """What `scripts/test` ends with, with a ctest of our own."""

    def run_tests(self, fail="", alone="", **variables):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "scripts").mkdir()
            (place / "bin").mkdir()
            for name in ("setup.sh", "skips.py", "skips_allowed.txt"):
                shutil.copy(SCRIPTS / name, place / "scripts")
            (place / "bin" / "ctest").write_text(CTEST, encoding="utf-8")
            (place / "bin" / "ctest").chmod(0o755)
            (place / "scripts" / "run").write_text(RUN, encoding="utf-8")
            environment = {k: v for k, v in os.environ.items() if k != "XLATRACE_ENFORCE_SKIPS"}
            environment |= {"PATH": f"{place / 'bin'}:{os.environ['PATH']}", "FAIL": fail,
                            "FAIL_ALONE": alone, **variables}
            return subprocess.run(["bash", "scripts/run"], cwd=place, env=environment,
                                  capture_output=True, text=True)

    def test_all_presets_are_in_it_and_notes(self):
        done = self.run_tests()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in ("2  no release here", "1  no asan here", "1  no tsan here", "1  page: it needs node"):
            self.assertIn(row, done.stdout)
        self.assertIn("all tests passed", done.stdout)

    def test_it_is_printed_when_tests_fail_with_the_failures_first(self):
        done = self.run_tests(fail="release:b asan:c", alone="asan:c")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("all tests passed", done.stdout)
        table = done.stdout[done.stdout.index("FAILED: 2 tests"):]
        for row in ("release: release:b, passed alone\n", "asan: asan:c\n", "1  no tsan here",
                    "tests failed: release: in company, and passed alone",
                    "tests failed: asan: in company and alone"):
            self.assertIn(row, table)
        self.assertLess(table.index("asan: asan:c"), table.index("skipped:"))

    def test_a_reason_that_is_not_allowed_fails_where_that_is_asked(self):
        done = self.run_tests(XLATRACE_ENFORCE_SKIPS="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no tsan here  NOT ALLOWED", done.stdout)


class Scripts(unittest.TestCase):
    def test_every_script_of_the_shell_is_one(self):
        checked = 0
        for path in [*SCRIPTS.iterdir(), *(SCRIPTS.parent / ".ci").iterdir()]:
            if path.suffix != ".sh" and (
                    not path.is_file() or not path.read_bytes().startswith(b"#!/usr/bin/env bash")):
                continue
            done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)
            checked += 1
        self.assertGreaterEqual(checked, 8)

    def test_a_page_that_cannot_be_built_is_noted(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "scripts").mkdir()
            (place / "bin").mkdir()
            for name in ("setup.sh", "page"):
                shutil.copy(SCRIPTS / name, place / "scripts")
            for name in ("bash", "dirname", "mkdir", "cat", "rm"):
                (place / "bin" / name).symlink_to(shutil.which(name))
            # No node, and no Python that could bring one.
            done = subprocess.run([place / "scripts" / "page"], capture_output=True, text=True, cwd=place,
                                  env={"PATH": str(place / "bin"), "XLATRACE_VENVS": str(place / "venvs")})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((place / "build" / "skipped.txt").read_text(),
                             "page\tit needs node 18 or newer and npm\n")


if __name__ == "__main__":
    unittest.main()
