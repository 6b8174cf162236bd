# SPDX-License-Identifier: Apache-2.0
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


RULE, LINE = "=" * 70, "-" * 70
# Three failures of one file: of a subtest, one with too long a message, and of a class.
FAILED_PYTHON = f"""test_a (test_x.X.test_a) ... FAIL
test_ok (test_x.X.test_ok) ... ok

{RULE}
FAIL: test_a (test_x.X.test_a) (to='csv')
What it is about.
{LINE}
Traceback (most recent call last):
  File "/src/test_x.py", line 6, in test_a
    self.assertEqual(got, wanted)
AssertionError: 3 != 4

{RULE}
FAIL: test_b (test_x.X.test_b)
{LINE}
Traceback (most recent call last):
  File "/src/test_x.py", line 8, in test_b
    self.fail(said)
AssertionError: exit 70
{chr(10).join(f"said {line}" for line in range(1000))}

{RULE}
ERROR: setUpClass (test_x.Y)
{LINE}
Traceback (most recent call last):
  File "/src/test_x.py", line 16, in setUpClass
    raise OSError("no place")
OSError: no place

{LINE}
Ran 3 tests in 0.1s

FAILED (failures=2, errors=1)
left over of a thread
"""
FAILED_GOOGLE = """[ RUN      ] A.Good
[       OK ] A.Good (0 ms)
[ RUN      ] A.Bad
a word of the program under test
/src/g.cc:3: Failure
Expected equality of these values:
  1
  2
/src/g.cc:4: Failure
Value of: false
[  FAILED  ] A.Bad (0 ms)
[----------] 2 tests from A (0 ms total)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] A.Bad
"""
SANITIZER = """[ RUN      ] A.Crash
==80==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602
WRITE of size 4 at 0x602 thread T0
    #0 0x564 in A_Crash_Test::TestBody() /src/g.cc:5
SUMMARY: AddressSanitizer: heap-buffer-overflow /src/g.cc:5
Shadow bytes around the buggy address:
"""
FAILURE = '<failure message=""/>'


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

    def test_reason_is_found_if_the_folder_has_a_blank(self):
        odd = GOOGLE.replace("/src/", "/home/u/my Cöde/xlatrace/")
        done = self.run_on([("hlo.A.B", "<skipped/>", odd)], "^no recorded data\n", "--enforce")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("     1  no recorded data at PATH (set V)\n", done.stdout)

    def test_missing_recordings_are_allowed_on_request(self):
        cases = [("hlo.A.B", "<skipped/>", "a.cc:1: Skipped\nno recordings: XLATRACE_SHARED_DATA has no hlo\n")]
        self.assertEqual(self.run_on(cases, "", "--enforce").returncode, 1)
        done = self.run_on(cases, "", "--enforce", "--without-recordings")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.run_on([*cases, ("e2e.x", "", PYTHON)], "", "--enforce", "--without-recordings")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertNotIn("has no FILE  NOT ALLOWED", done.stdout)

    def test_skips_whose_reasons_were_cut_off_fail(self):
        done = self.run_on([("e2e.x", "", "Ran 9 tests in 1s\n\nOK (skipped=9)\n")], "", "--enforce")
        self.assertEqual(done.returncode, 1)
        self.assertIn("9 skipped, 0 reasons printed", done.stdout)

    def test_a_file_that_ran_nothing_fails(self):
        done = self.run_on([("e2e.x", "", "Ran 0 tests in 0s\n\nOK\n")], "", "--enforce")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ran no case", done.stdout)

    def test_skips_printed_by_scripts_are_counted(self):
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
        done = self.run_on([("e2e.x", "", PYTHON), ("hlo.A.B", FAILURE, "Failure\n")], "")
        self.assertEqual(done.returncode, 1)
        first, second, *_ = done.stdout.splitlines()
        self.assertEqual(first, "FAILED: 1 tests")
        self.assertTrue(second.endswith(": hlo.A.B"), second)
        self.assertIn("no firefox", done.stdout)

    def why(self, *cases):
        """The printed failures, their lines without indentation."""
        done = self.run_on(cases, "")
        self.assertEqual(done.returncode, 1, done.stderr)
        return [line.strip() for line in done.stdout.partition("\nskipped: ")[0].splitlines()]

    def test_failed_unittest_case_has_place_and_message(self):
        lines = self.why(("e2e.x", FAILURE, FAILED_PYTHON))
        self.assertNotIn("left over of a thread", lines)
        self.assertFalse([line for line in lines if "test_ok" in line])
        cases = [lines.index(title) for title in (
            "FAIL: test_a (test_x.X.test_a) (to='csv')", "FAIL: test_b (test_x.X.test_b)",
            "ERROR: setUpClass (test_x.Y)")]
        first, second, third = (lines[a:b] for a, b in zip(cases, [*cases[1:], None]))
        self.assertEqual(first[-1], "AssertionError: 3 != 4")
        self.assertEqual(second[1:4], ['File "/src/test_x.py", line 8, in test_b', "self.fail(said)",
                                       "AssertionError: exit 70"])
        self.assertEqual(second[4:], [f"said {line}" for line in range(978, 1000)])
        self.assertEqual(third[-1], "OSError: no place")

    def test_googletest_failure_ends_if_the_folder_has_a_blank(self):
        odd = FAILED_GOOGLE.replace("/src/", "/my Cöde/")
        odd = odd.replace("/my Cöde/g.cc:4: Failure", "/my Cöde/g.cc:4: Skipped")
        done = self.run_on([("hlo", FAILURE, odd)], "")
        self.assertIn("/my Cöde/g.cc:3: Failure", done.stdout)
        self.assertNotIn("        Value of: false", done.stdout)

    def test_failed_googletest_case_has_its_failures(self):
        lines = self.why(("hlo.A.Bad", FAILURE, FAILED_GOOGLE))
        start = lines.index("[  FAILED  ] A.Bad")
        self.assertEqual(lines[start + 1 :], [
            "/src/g.cc:3: Failure", "Expected equality of these values:", "1", "2",
            "/src/g.cc:4: Failure", "Value of: false"])

    def test_sanitizer_failure_has_the_cause_without_the_legend(self):
        lines = self.why(("hlo.A.Crash", FAILURE, SANITIZER))
        self.assertEqual(lines[-4:], [line.strip() for line in SANITIZER.splitlines()[1:5]])

    def test_failure_without_framework_shows_the_last_lines(self):
        lines = self.why(("growth", FAILURE, "".join(f"row {i}\n" for i in range(500)) + "bad\n"))
        self.assertEqual(lines[-25:], [*(f"row {i}" for i in range(476, 500)), "bad"])
        self.assertNotIn("row 475", lines)

    def test_report_has_fewer_than_200_lines(self):
        said = "".join(f"row {i}\n" for i in range(500))
        skips = [(f"e2e.s{i}", "", f"skipped: reason {'x' * i}\n") for i in range(1, 31)]
        for tests, most in ((3, 0), (20, 0), (600, 600)):
            with self.subTest(tests=tests):
                failed = [(f"e2e.t{i}", FAILURE, said) for i in range(tests)]
                done = self.run_on([*failed, *skips], "")
                lines = done.stdout.splitlines()
                self.assertLess(len(lines), 200)
                self.assertEqual(lines[0], f"FAILED: {tests} tests")
                self.assertGreaterEqual(lines.count("        row 499"), 3)
                self.assertEqual("more tests" in done.stdout, most > 0)
                self.assertIn("skipped: 30 cases for 30 reasons", lines)
        # One line alone fills no screen.
        lines = self.why(("e2e.t", FAILURE, "AssertionError: " + "x" * 5000 + " at last\n"))
        self.assertTrue(lines[-1].startswith("AssertionError: xx") and lines[-1].endswith(" at last"))
        self.assertLess(len(lines[-1]), 310)


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
    """The end of the output of `scripts/test`, with a substitute for ctest."""

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

    def test_table_has_all_presets_and_notes(self):
        done = self.run_tests()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in ("2  no release here", "1  no asan here", "1  no tsan here", "1  page: it needs node"):
            self.assertIn(row, done.stdout)
        self.assertIn("all tests passed", done.stdout)

    def test_table_is_printed_with_failures_first(self):
        done = self.run_tests(fail="release:b asan:c", alone="asan:c")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("all tests passed", done.stdout)
        table = done.stdout[done.stdout.index("FAILED: 2 tests"):]
        for row in ("release: release:b, passed alone\n", "asan: asan:c\n", "1  no tsan here",
                    "tests failed: release: in company, and passed alone",
                    "tests failed: asan: in company and alone"):
            self.assertIn(row, table)
        self.assertLess(table.index("asan: asan:c"), table.index("skipped:"))

    def test_disallowed_reason_fails_if_enforced(self):
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
                             "page\tit needs node 18.18 or newer and npm\n")


if __name__ == "__main__":
    unittest.main()
