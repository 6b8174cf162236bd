# SPDX-License-Identifier: Apache-2.0
"""The cache of runs that tests share: kept_runs.py."""

import os
import pathlib
import subprocess
import sys

import support

PLAIN = """
import kept_runs, pathlib, sys
def make(folder):
    pathlib.Path("made").open("a").write("x")
    (folder / "file").write_text("content")
print(kept_runs.made("entry", sys.argv[1], make) / "file")
"""


class KeptRuns(support.TestCase):
    def start(self, key, program=None, **variables):
        """A process that requests entry `key` of the cache in self.folder."""
        environment = dict(os.environ, XLATRACE_TEST_CACHE=str(self.folder / "cache"), **variables)
        environment["PYTHONPATH"] = str(pathlib.Path(__file__).parent)
        environment["XLATRACE_BIN"] = str(program or support.PROGRAM)
        return subprocess.Popen(
            [sys.executable, "-c", PLAIN, key], cwd=self.folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def finish(self, process):
        out, err = process.communicate(timeout=support.HANG_S)
        return out.strip(), err

    def times_made(self):
        return len((self.folder / "made").read_text())

    def test_processes_that_start_together_make_an_entry_once(self):
        paths = {self.finish(process)[0] for process in [self.start("a") for _ in range(4)]}
        self.assertEqual(len(paths), 1)
        self.assertEqual(pathlib.Path(paths.pop()).read_text(), "content")
        self.assertEqual(self.times_made(), 1)

    def test_another_key_makes_another_entry(self):
        first, second = (self.finish(self.start(key))[0] for key in "ab")
        self.assertNotEqual(first, second)
        self.assertEqual(self.times_made(), 2)
        self.assertTrue(pathlib.Path(first).exists())

    def test_changed_file_fails_the_next_test_that_uses_it(self):
        path, _ = self.finish(self.start("a"))
        pathlib.Path(path).write_text("changed")
        path, error = self.finish(self.start("a"))
        self.assertEqual(path, "")
        self.assertIn("AssertionError", error)

    def test_entries_of_an_unused_program_are_removed(self):
        path, _ = self.finish(self.start("a"))
        other = self.folder / "other" / "bin" / "xlatrace"
        other.parent.mkdir(parents=True)
        other.write_bytes(b"another program")
        newer, _ = self.finish(self.start("a", other))
        self.assertTrue(pathlib.Path(newer).exists())
        self.assertFalse(pathlib.Path(path).exists())
        self.assertEqual(len(list((self.folder / "cache").glob("*.used"))), 1)

    def test_planted_fault_has_no_part_in_the_cache(self):
        self.finish(self.start("a"))
        path, _ = self.finish(self.start("a", XLATRACE_MUTANT="1"))
        self.assertEqual(self.times_made(), 2)
        self.assertNotIn(str(self.folder), path)
        self.assertFalse(pathlib.Path(path).exists())  # Removed when its process ended.
