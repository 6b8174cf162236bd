# SPDX-License-Identifier: Apache-2.0
"""Several processes, several jobs: one run.db per job; programs without a GPU leave no trace."""

import pathlib
import shlex
import shutil
import sys
import unittest

import gpu_support
import support


class Jobs(gpu_support.GpuTestCase):
    def setUp(self):
        super().setUp()
        # A command for a program that must live until another one has ended.
        self.waits = f'system "while [ ! -e {self.folder}/go-on ]; do sleep 0.05; done"'

    def assert_one_run(self, processes, folder=None):
        """All processes of the truth are in run.db, exactly once, with all they did."""
        database = self.fold(cwd=folder)
        self.assert_equals_truth(database)
        self.assertEqual(gpu_support.scalar(database, "SELECT count(*) FROM process"), processes)
        return database

    def test_processes_of_one_parent_share_a_recording(self):
        one = shlex.join(self.command("launch a x 40; sync"))
        two = shlex.join(self.command("launch b x 60 on s1; copy dtod 9; sync"))
        result = self.preloaded(["sh", "-c", f"{one} & {two} & wait"])
        self.assertEqual(result.code, 0, result)
        self.assert_one_run(2)

    def test_consecutive_processes_share_a_recording(self):
        one = shlex.join(self.command("launch a x 40; sync"))
        result = self.preloaded(["sh", "-c", f"{one}; {one}; {one}"])
        self.assertEqual(result.code, 0, result)
        self.assert_one_run(3)

    def without_common_parent(self, first, second):
        """Two processes of one launcher, each started by another parent, at the same time."""
        processes = [
            self.started(f"launch a x 40; sync; print go; {self.waits}; launch a; sync", **first),
            self.started(f"launch b x 60; sync; print go; {self.waits}", **second),
        ]
        # Each lives until both have launched: who is alone on the machine first hangs on its load.
        for process in processes:
            self.assertEqual(process.stdout.readline(), b"go\n")
        (self.folder / "go-on").touch()
        for process in processes:
            out, err = process.communicate(timeout=support.HANG_S)
            self.assertEqual((process.returncode, out), (0, b"system 0\n"), err)
        self.assertEqual([p.name for p in self.work.iterdir()], ["run.rec"])
        return self.assert_one_run(2)

    def ranks(self, database):
        rows = gpu_support.rows_of(database, "SELECT rank, local_rank FROM process ORDER BY rank")
        return [(row["rank"], row["local_rank"]) for row in rows]

    def test_slurm_variables_give_the_ranks(self):
        job = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2"}
        database = self.without_common_parent(
            {**job, "SLURM_PROCID": "0", "SLURM_LOCALID": "0"},
            {**job, "SLURM_PROCID": "1", "SLURM_LOCALID": "1"},
        )
        self.assertEqual(self.ranks(database), [(0, 0), (1, 1)])

    def test_open_mpi_variables_give_the_ranks(self):
        job = {"PMIX_NAMESPACE": "prterun-vm-123@1", "OMPI_COMM_WORLD_SIZE": "2"}
        ranks = [
            {"PMIX_RANK": n, "OMPI_COMM_WORLD_RANK": n, "OMPI_COMM_WORLD_LOCAL_RANK": n}
            for n in "01"
        ]
        database = self.without_common_parent({**job, **ranks[0]}, {**job, **ranks[1]})
        self.assertEqual(self.ranks(database), [(0, 0), (1, 1)])

    def test_torchelastic_variables_give_the_ranks(self):
        job = {"TORCHELASTIC_RUN_ID": "none-such", "WORLD_SIZE": "2", "MASTER_PORT": "29500"}
        database = self.without_common_parent(
            {**job, "RANK": "0", "LOCAL_RANK": "0"}, {**job, "RANK": "1", "LOCAL_RANK": "1"}
        )
        self.assertEqual(self.ranks(database), [(0, 0), (1, 1)])

    def test_given_token_joins_processes(self):
        self.without_common_parent({"XLATRACE_JOB": "mine"}, {"XLATRACE_JOB": "mine"})
        self.assertEqual((self.work / "run.rec" / "job").read_text().split()[0], "mine")

    def test_hostile_token_stays_within_the_folder(self):
        """For any token, no file is made outside of the recording."""
        for number, token in enumerate(
            ("../../up", "a/b", "/etc/x", "..", ".", "x" * 4000, "a\nb", "", "-rf", "%s%n", "\xff")
        ):
            folder = self.folder / f"hostile{number}" / "work"
            folder.mkdir(parents=True)
            before = support.snapshot(self.temporary)
            result = self.preloaded("launch k x 9; sync; print ok", cwd=folder, XLATRACE_JOB=token)
            self.assertEqual((result.code, result.stdout), (0, "ok\n"), (token, result))
            self.assertEqual([p.name for p in folder.parent.iterdir()], ["work"], token)
            self.assertEqual([p.name for p in folder.iterdir()], ["run.rec"], token)
            self.assertTrue(all(p.is_file() for p in (folder / "run.rec").iterdir()), token)
            self.assertEqual(support.snapshot(self.temporary), before, token)
            database = self.fold(cwd=folder)
            self.assertEqual(gpu_support.scalar(database, "SELECT count(*) FROM launch"), 9, token)

    def test_second_live_job_has_its_own_recording(self):
        first = self.started(f"launch a x 40; sync; print go; {self.waits}; launch a; sync")
        self.wait_until_recording(first)
        second = self.preloaded("launch b x 60; sync")
        (self.folder / "go-on").touch()
        self.assertIn("run.2.rec", second.stderr)
        self.assertIn("run.2.db", second.stderr)
        self.assertEqual(first.wait(support.HANG_S), 0)
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["run.2.rec", "run.rec"])
        truths = self.truths()
        mine = {first.pid: truths.pop(first.pid)}
        self.assert_equals_truth(self.fold("run.db"), mine)
        self.assert_equals_truth(self.fold("run.2.db"), truths)

    def test_other_slurm_step_is_another_job(self):
        first = self.started(
            f"launch a; sync; print go; {self.waits}", SLURM_JOB_ID="77", SLURM_STEP_ID="0"
        )
        self.wait_until_recording(first)
        self.preloaded("launch b; sync", SLURM_JOB_ID="77", SLURM_STEP_ID="1")
        (self.folder / "go-on").touch()
        self.assertEqual(first.wait(support.HANG_S), 0)
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["run.2.rec", "run.rec"])

    def test_earlier_run_becomes_old(self):
        self.preloaded("launch a x 40; sync")
        first = self.truths()
        earlier = self.fold().read_bytes()
        self.preloaded("launch b x 60; sync")
        second = {pid: rows for pid, rows in self.truths().items() if pid not in first}
        self.assert_equals_truth(self.fold(), second)
        self.assertEqual((self.work / "run.old.db").read_bytes(), earlier)

    def test_earlier_unfolded_recording_is_kept(self):
        self.preloaded("launch a x 40; sync")
        self.preloaded("launch b x 60; sync")
        self.fold()
        counts = []
        for recording in sorted(self.work.glob("run*.rec")):
            database = self.fold(recording.name.removesuffix(".rec") + ".db")
            counts.append(gpu_support.scalar(database, "SELECT count(*) FROM launch"))
        self.assertEqual(sorted(counts), [40, 60])

    def test_many_short_processes_share_a_recording(self):
        one = shlex.join(self.command("launch a x 3; sync"))
        result = self.preloaded(["sh", "-c", f"for i in $(seq 40); do {one} & done; wait"])
        self.assertEqual(result.code, 0, result)
        self.assertEqual(len(result.stderr.splitlines()), 1, result)
        self.assert_one_run(40)

    def test_python_children_of_all_kinds_are_recorded(self):
        script = (
            "# python\nimport multiprocessing as m, os, subprocess, sys\nfrom tiny_gpu import *\n"
            "def work(n): launch('child', n); sync(); print('child', n, flush=True)\n"
            "if __name__ == '__main__':\n"
            "    if len(sys.argv) > 1: work(int(sys.argv[1])); sys.exit(0)\n"
            "    for n, how in enumerate(('fork', 'spawn', 'forkserver'), 10):\n"
            "        p = m.get_context(how).Process(target=work, args=(n,)); p.start(); p.join()\n"
            "        print(how, p.exitcode, flush=True)\n"
            "    subprocess.run([sys.executable, __file__, '20'], check=True)\n"
            "    env = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}\n"
            "    subprocess.run([sys.executable, __file__, '30'], check=True, env=env)\n"
            "    launch('parent', 7); sync()\n"
        )
        alone = self.alone(script)
        self.assertEqual(alone.code, 0, alone)
        traced = self.preloaded(script)
        self.assert_unharmed(traced, alone)
        self.assert_one_run(6)


class NoTrace(gpu_support.GpuTestCase):
    """Programs that have nothing to do with a GPU."""

    def assert_no_trace(self, command, **environment):
        before = support.snapshot(self.folder)
        alone = self.alone(command, **environment)
        traced = self.preloaded(command, **environment)
        self.assertEqual(
            (traced.code, traced.stdout, traced.stderr), (alone.code, alone.stdout, alone.stderr)
        )
        self.assertEqual(support.snapshot(self.folder), before)

    def test_ls_leaves_no_trace(self):
        (self.work / "file").write_text("x")
        self.assert_no_trace(["ls", "-a"])
        self.assert_no_trace(["ls", "/does/not/exist"])

    def test_shell_pipeline_leaves_no_trace(self):
        self.assert_no_trace(["sh", "-c", "ls / | sort | tail -n 2; exit 5"])

    def test_python_without_gpu_leaves_no_trace(self):
        self.assert_no_trace(
            [sys.executable, "-c", "import os; print(os.getpid() > 1); os._exit(3)"]
        )

    def test_process_that_kills_itself_leaves_no_trace(self):
        self.assert_no_trace(["sh", "-c", "kill -TERM $$"])

    def test_unused_cuda_library_leaves_no_trace(self):
        """Looking for a GPU is not using one: at most a note is left, with the true reason."""
        script = "# python\nimport ctypes; ctypes.CDLL('libcuda.so.1'); print('loaded')"
        traced = self.preloaded(script)
        self.assert_unharmed(traced, self.alone(script), lines=0)
        self.assert_only_notes()

    def test_initialisation_without_launches_leaves_no_trace(self):
        script = "init; print ready"
        traced = self.preloaded(script)
        self.assert_unharmed(traced, self.alone(script))
        if (self.work / "run.rec").exists():
            result = self.xlatrace("report", "run.db")
            self.assertEqual(result.code, 0, result)

    def test_xla_without_a_driver_leaves_a_note_that_explains(self):
        """A process with XLA's plugin in memory, on a machine without the driver."""
        libraries = [
            line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
        ]
        some = next(
            path for path in libraries if ".so" in path and "ctypes" not in path and "/lib" in path
        )
        shutil.copy(some, self.folder / "xla_cuda_plugin.so")
        script = (
            f"# python\nimport ctypes\nctypes.CDLL('{self.folder}/xla_cuda_plugin.so')\n"
            "try: ctypes.CDLL('libcuda.so.1')\nexcept OSError: print('no driver')"
        )
        empty = {"LD_LIBRARY_PATH": None}
        traced = self.preloaded(script, **empty)
        (line,) = self.assert_unharmed(traced, self.alone(script, **empty))
        self.assertIn("driver", line)
        self.assert_only_notes(1)
        result = self.xlatrace("report", "run.db")
        self.assertIn("driver", result.stdout + result.stderr)
        self.assertEqual(result.code, 1, result)
        self.assertIn("xlatrace record", "".join(result.hints))

    def test_failed_script_is_the_reason_of_an_empty_recording(self):
        script = "# python\nimport sys\nsys.exit(7)\n"
        recorded = self.xlatrace("record", "--", *self.command(script), env=self.environment(False))
        self.assertEqual((recorded.code, len(recorded.errors), len(recorded.hints)), (7, 1, 1), recorded)
        self.assertIn(" 7 ", recorded.errors[0])
        self.assertNotIn("driver", recorded.errors[0])

    def assert_only_notes(self, at_least=0):
        files = [p for p in self.work.rglob("*") if p.is_file() and p.name != "job"]
        self.assertEqual([p for p in files if p.suffix != ".note"], [])
        self.assertGreaterEqual(len(files), at_least)


if __name__ == "__main__":
    unittest.main()
