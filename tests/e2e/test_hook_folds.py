# SPDX-License-Identifier: Apache-2.0
"""Recordings of the Python hook that `record` did not finish: the script still runs, or all was killed."""

import json
import os
import unittest

import support

DEAD_PID = 2**22 + 1  # More than any pid.


class HookFolds(support.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()

    def process(self, pid, sessions):
        """A folder as python/xlatrace_hook leaves it, with one profile per number of executions."""
        folder = self.folder / "run.rec" / f"{pid}-0"
        folder.mkdir(parents=True, exist_ok=True)
        profiles = []
        for number, executions in enumerate(sessions):
            name = f"part{number}.xplane.pb"
            start = 5_000_000 + number * 1_000_000_000
            (folder / name).write_bytes(support.xspace("jit_step", support.OPS, executions, at_ns=start))
            profiles.append({"xplane": name, "stop_reason": "duration"})
        status = {"pid": pid, "framework": "jax", "framework_version": "0.10.2", "started": True}
        status |= {"sessions": profiles, "argv": ["train.py"]}
        (folder / "status.json").write_text(json.dumps(status))

    def summary(self, name):
        return support.run("summary", name, cwd=self.folder)

    def activities(self):
        with support.open_database(self.folder / "run.db") as connection:
            (count,) = connection.execute("SELECT count(*) FROM activity").fetchone()
        connection.close()
        return count

    def test_killed_recording_is_folded_from_its_saved_profiles(self):
        self.process(DEAD_PID, [3])
        for name in ("run.db", "run.rec", "run.db"):
            result = self.summary(name)
            self.assertEqual(result.code, 0, result)
            self.assertEqual(self.activities(), 3 * len(support.OPS))
        self.assertEqual(len(list(self.folder.glob("run*.db"))), 1)

    def test_recording_in_progress_is_folded_again_when_it_grew(self):
        self.process(os.getpid(), [3])
        self.assertIn(str(os.getpid()), self.summary("run.rec").stderr)
        os.utime(self.folder / "run.db", (1, 1))
        self.process(os.getpid(), [3, 2])
        self.assertEqual(self.summary("run.rec").code, 0)
        self.assertEqual(self.activities(), 5 * len(support.OPS))

    def test_recording_without_a_saved_profile_is_an_error(self):
        self.process(os.getpid(), [])
        live = self.summary("run.rec")
        self.assertEqual((live.code, len(live.errors), len(live.hints)), (1, 1, 1), live)
        self.assertIn(str(os.getpid()), live.errors[0])
        self.assertIn("run.rec status", live.hints[0])


if __name__ == "__main__":
    unittest.main()
