# SPDX-License-Identifier: Apache-2.0
"""One place defines where the recordings are, and one sentence states why a test without them is skipped."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
PLACES = {"shared_data.h", "shared_data.py", pathlib.Path(__file__).name}
ASK = "import shared_data; print(shared_data.FOLDER, shared_data.find('xplane'), shared_data.reason('xplane'))"


class SharedData(unittest.TestCase):
    def ask(self, tests, **variables):
        environment = {k: v for k, v in os.environ.items() if k != "XLATRACE_SHARED_DATA"}
        done = subprocess.run([sys.executable, "-c", ASK], cwd=tests, capture_output=True, text=True,
                              env={**environment, "PYTHONPATH": str(tests), **variables})
        self.assertEqual(done.returncode, 0, done.stderr)
        folder, found, reason = done.stdout.strip().split(" ", 2)
        self.assertEqual(reason, "no recordings: XLATRACE_SHARED_DATA has no xplane")
        return folder, found

    def test_variable_overrides_the_folder_beside_the_checkout(self):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place).resolve()
            tests = place / "checkout" / "tests"
            tests.mkdir(parents=True)
            (tests / "shared_data.py").write_bytes((TESTS / "shared_data.py").read_bytes())
            self.assertEqual(self.ask(tests), ("None", "None"))
            beside, named = place / "shared" / "data", place / "named"
            for folder in (beside, named):
                (folder / "xplane").mkdir(parents=True)
            self.assertEqual(self.ask(tests), (str(beside), str(beside / "xplane")))
            self.assertEqual(self.ask(tests, XLATRACE_SHARED_DATA=str(named)),
                             (str(named), str(named / "xplane")))
            for none in ("", str(place / "nothing")):
                self.assertEqual(self.ask(tests, XLATRACE_SHARED_DATA=none), ("None", "None"), none)

    def test_no_other_test_searches_recordings(self):
        wrong = []
        for path in TESTS.rglob("*"):
            if path.suffix not in (".cc", ".h", ".py", ".txt") or path.name in PLACES:
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                reads = re.search(r"(environ(\.get\(|\[)|getenv\()[\"']XLATRACE_SHARED_DATA", line)
                if reads or "../shared/data" in line:
                    wrong.append(f"{path.relative_to(TESTS)}:{number}: {line.strip()}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
