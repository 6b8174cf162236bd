#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/same_results finds what two programs do differently. Programs here are scripts that stand for xlatrace."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "same_results"
PROGRAM = """#!{python}
import pathlib, sqlite3, sys
command, arguments = sys.argv[1], sys.argv[2:]
if command == "import":
    if "{refuses}" in pathlib.Path(arguments[0]).read_text():
        sys.exit("{refusal}")
    with sqlite3.connect(arguments[2]) as db:
        db.execute("CREATE TABLE x(a)")
        db.executemany("INSERT INTO x VALUES (?)", {rows})
        db.execute("CREATE VIEW op AS SELECT a FROM x")
elif command == "report":
    pathlib.Path(arguments[2]).write_text("{page} of " + arguments[0])
else:
    print(command, "{words}")
"""


class SameResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "trace.json"
        self.trace.write_text("a trace")

    def program(self, name, rows="[(1,), (2,)]", page="page", words="12 ms", refuses="nothing", refusal="no"):
        path = self.folder / name
        path.write_text(
            PROGRAM.format(
                python=sys.executable, rows=rows, page=page, words=words, refuses=refuses, refusal=refusal
            )
        )
        path.chmod(0o755)
        return path

    def compare(self, base, now, *options):
        done = subprocess.run(
            [sys.executable, SCRIPT, base, now, self.trace, *options], capture_output=True, text=True
        )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_equal_programs_are_equal_though_the_page_names_its_folder(self):
        status, said = self.compare(self.program("base"), self.program("now"))
        self.assertEqual(status, 0, said)
        self.assertIn(" 7 equal, 0 different", said)

    def test_ignored_column_is_not_compared(self):
        base, now = self.program("base", rows="[(1,)]"), self.program("now", rows="[(2,)]")
        self.assertEqual(self.compare(base, now)[0], 1)
        self.assertEqual(self.compare(base, now, "--ignore", "op.a")[0], 0)

    def test_ignored_output_is_not_compared(self):
        base, now = self.program("base", page="one"), self.program("now", page="two")
        self.assertEqual(self.compare(base, now)[0], 1)
        self.assertEqual(self.compare(base, now, "--ignore", "summary,page")[0], 0)

    def test_differing_rows_pages_and_texts_are_named(self):
        base = self.program("base")
        for change, names in (
            ({"rows": "[(1,), (3,)]"}, ["view op"]),
            ({"rows": "[(2,), (1,)]"}, ["view op"]),
            ({"page": "another page"}, ["page"]),
            ({"words": "13 ms"}, ["diff", "summary", "summary --json"]),
        ):
            status, said = self.compare(base, self.program("now", **change))
            self.assertEqual(status, 1, change)
            self.assertEqual([line for line in said.splitlines()[1:]], [f"  different  {n}" for n in names])

    def test_input_rejected_by_one_program_is_a_difference(self):
        refusing = self.program("base", refuses="trace")
        self.assertEqual(self.compare(refusing, self.program("now"))[0], 1)
        status, said = self.compare(refusing, self.program("now", refuses="trace"))
        self.assertEqual(status, 0)
        self.assertIn("which base refuses", said)
        self.assertEqual(self.compare(refusing, self.program("now", refuses="trace", refusal="never"))[0], 1)

    def test_keep_leaves_the_files_of_both_sides(self):
        kept = self.folder / "kept"
        self.compare(self.program("base"), self.program("now"), "--keep", kept)
        self.assertTrue((kept / "0" / "base" / "run.db").exists())
        self.assertTrue((kept / "0" / "now" / "run.html").exists())


if __name__ == "__main__":
    unittest.main()
