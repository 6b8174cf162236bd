# SPDX-License-Identifier: Apache-2.0
"""Real JAX on the fake GPU under the collector: doors, forked loaders, own flags, steps and marks.

Environment: as test_jax_on_fake_gpu.py.
"""

import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import support

sys.path.insert(0, str(support.REPOSITORY / "tests" / "fake_gpu" / "jax"))

import rig

PRELOAD = os.environ.get("XLATRACE_PRELOAD")


class Doors(support.GoldenText, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.rig = rig.Rig()
        except rig.Missing as missing:
            raise unittest.SkipTest(str(missing)) from None
        if not PRELOAD:
            raise unittest.SkipTest("XLATRACE_PRELOAD is not set")
        support.require_program()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-doors-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    def steps_of(self, *arguments, status=0, cache="cache", **more):
        """Runs, folds; (step, launches, exact ones) of the training step, and the place."""
        place = self.folder / f"run{len(list(self.folder.iterdir()))}"
        place.mkdir()
        done = self.rig.run(
            "doors.py",
            *arguments,
            tap=False,
            preload=PRELOAD,
            cwd=place,
            cache=self.folder / cache,  # the first run compiles; the others find it
            more=more,
        )
        self.assertEqual((done.returncode, done.stdout), (status, "trained\n"), done.stderr[-3000:])
        folded = support.run("summary", "run.db", cwd=place)
        self.assertEqual(folded.code, 0, folded)
        with sqlite3.connect(place / "run.db") as database:
            lost = database.execute(
                "SELECT * FROM run_stat WHERE severity IN ('data_loss', 'error')"
            ).fetchall()
            self.assertEqual(lost, [])
            rows = database.execute(
                "SELECT step, count(*), sum(confidence = 'exact') FROM launch "
                "WHERE module = 'jit_step' GROUP BY 1 ORDER BY 1"
            ).fetchall()
        for _, launches, exact in rows:
            self.assertEqual(launches, exact)
        self.assertEqual(len({launches for _, launches, _ in rows}), 1, rows)
        return [step for step, _, _ in rows], place

    def query(self, place, sql):
        with sqlite3.connect(place / "run.db") as database:
            return database.execute(sql).fetchall()

    def test_every_door_leaves_all_steps(self):
        for door, status in (
            ("return", 0),
            ("exit", 3),
            ("_exit", 4),
            ("raise", 1),
            ("int", -2),
            ("term", -15),
        ):
            with self.subTest(door=door):
                steps, _ = self.steps_of("--leave", door, status=status)
                self.assertEqual(steps, [0, 1, 2, 3])

    def test_forked_data_loaders_keep_all_steps(self):
        steps, place = self.steps_of("--fork")
        self.assertEqual(steps, [0, 1, 2, 3])
        self.assertEqual(len(list((place / "run.rec").glob("*.rec"))), 1)

    def test_light_mode_gives_the_reason_for_inexact_labels(self):
        place = self.folder / "light"
        place.mkdir()
        done = self.rig.run(
            "rich_step.py",
            tap=False,
            preload=PRELOAD,
            cwd=place,
            cache=self.folder / "cache-light",
            more={"XLATRACE_MODE": "light", "XLATRACE_DUMP": "on"},
        )
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertEqual(support.run("summary", "run.db", cwd=place).code, 0)
        execution, exact, inferred = self.query(
            place,
            "SELECT execution_id, sum(confidence = 'exact'), sum(confidence = 'inferred') FROM"
            " activity WHERE module = 'jit_train_step' AND evidence = 'thunk_order' GROUP BY 1"
            " ORDER BY 3 DESC, 1 LIMIT 1",
        )[0]
        shown = support.run(
            "show", "jit_train_step", "run.db", "--sequence", "--why", "--execution", execution,
            cwd=place,
        )  # fmt: skip
        self.assertEqual(shown.code, 0, shown)
        lines = shown.stdout.splitlines()
        self.assertEqual(sum(line.endswith("thunk_order, exact") for line in lines), exact)
        self.assertEqual(sum(line.endswith("thunk_order, inferred") for line in lines), inferred)
        for line, below in zip(lines, lines[1:] + [""]):
            self.assertEqual(
                below.startswith("    why: "), line.endswith("thunk_order, inferred"), line
            )
        # Nothing of the step follows the last copies of a graph, so they stay ambiguous.
        self.assertGreater(inferred, 0)
        plain = support.run("show", "jit_train_step", "run.db", "--sequence", cwd=place)
        self.assertNotIn("why:", plain.stdout)

    def test_flags_that_the_script_sets_itself(self):
        steps, _ = self.steps_of("--flags=--xla_gpu_enable_command_buffer=")
        self.assertEqual(steps, [0, 1, 2, 3])

    def test_found_in_the_persistent_cache(self):
        """XLA registers the strings of an executable that it did not compile, too."""
        compiled = []
        for _ in range(2):
            steps, place = self.steps_of(cache="own")
            self.assertEqual(steps, [0, 1, 2, 3])
            (count,) = self.query(
                place,
                "SELECT count(*) FROM compile LEFT JOIN module USING (module_id) "
                "WHERE module.name = 'jit_step' OR compile.name LIKE '%jit_step%'",
            )[0]
            compiled.append(count)
            sources = self.query(
                place, "SELECT DISTINCT source FROM module WHERE name = 'jit_step'"
            )
            self.assertEqual(sources, [("nvtx",)])
        self.assertGreater(compiled[0], 10)  # the passes, too
        self.assertEqual(compiled[1], 0)

    def test_the_program_s_own_profiler(self):
        """Below CUDA 13.3 one of the two gets CUPTI: us. The program goes on, its profile is there."""
        steps, place = self.steps_of("--profile")
        self.assertEqual(steps, [0, 1, 2, 3])
        self.assertEqual(len(list((place / "profile").rglob("*.xplane.pb"))), 1)
        # The run reports that this profile has no GPU in it.
        ((advice,),) = self.query(place, "SELECT advice FROM run_stat WHERE name = 'own_profile_without_gpu'")
        summary = support.run("summary", "run.db", cwd=place)
        self.assertIn(advice.split(";")[0][:40], " ".join(summary.stdout.split()))
        self.assert_golden_text(advice)

    def test_two_processes_of_one_job(self):
        self.steps_of()  # compiles, unless another test has
        place = self.folder / "two"
        place.mkdir()
        environment = self.rig.environment(
            tap=False, preload=PRELOAD, cache=self.folder / "cache", more={"XLATRACE_JOB": "two"}
        )
        command = [str(self.rig.python), str(support.REPOSITORY / "tests/fake_gpu/jax/doors.py")]
        processes = [
            subprocess.Popen(
                command,
                cwd=place,
                env={**environment, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for rank in range(2)
        ]
        for process in processes:
            out, err = process.communicate(timeout=support.HANG_S)
            self.assertEqual((process.returncode, out), (0, b"trained\n"), err[-3000:])
        folded = support.run("summary", "run.db", cwd=place)
        self.assertEqual(folded.code, 0, folded)
        rows = self.query(
            place,
            "SELECT p.rank, l.step, count(*), sum(l.confidence = 'exact') FROM launch l "
            "JOIN process p USING (process_id) WHERE l.module = 'jit_step' GROUP BY 1, 2 ORDER BY 1, 2",
        )
        self.assertEqual([row[:2] for row in rows], [(r, s) for r in range(2) for s in range(4)])
        self.assertEqual({row[2:] for row in rows}, {(rows[0][2], rows[0][2])})

    def test_window_of_steps_is_recorded(self):
        steps, _ = self.steps_of("--steps", 8, XLATRACE_STEPS="3:5")
        self.assertEqual(steps, [3, 4])

    def test_marked_steps(self):
        steps, _ = self.steps_of("--mark")
        self.assertEqual(steps, [1000, 1001, 1002, 1003])


if __name__ == "__main__":
    unittest.main()
