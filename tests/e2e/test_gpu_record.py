# SPDX-License-Identifier: Apache-2.0
"""`xlatrace record` of a program on the GPU: its status and output, and one run.db."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import gpu_support
import support

PYTHON = "# python\nimport os, signal, subprocess, sys, time\nfrom tiny_gpu import *\n"


class Record(gpu_support.GpuTestCase):
    def record(self, script, *options, preload=False, **environment):
        return support.run(
            "record",
            *options,
            "--",
            *self.command(script),
            cwd=self.work,
            env=self.environment(preload=preload, **environment),
        )

    def test_command_that_drops_the_preload_is_recorded(self):
        """Set-uid programs, sudo and some containers drop LD_PRELOAD; the driver's own variable stays."""
        result = support.run(
            "record", "--", "env", "-u", "LD_PRELOAD", *self.command("launch a x 30; sync"),
            cwd=self.work, env=self.environment(preload=False),
        )  # fmt: skip
        self.assertEqual(result.code, 0, result)
        self.assert_only_the_run(result)

    def assert_only_the_run(self, result, others=()):
        """Complete and verified: the recording is gone, run.db is all that is left."""
        self.assertEqual(
            sorted(path.name for path in self.work.iterdir()), sorted(["run.db", *others]), result
        )
        self.assert_equals_truth(self.work / "run.db")
        self.assertRegex(result.stderr, r"xlatrace report \S*run\.db")

    def test_exit_status_of_the_command_is_returned(self):
        for script, status in (
            ("launch k x 9; sync; print worked; exit 3", 3),
            ("launch k x 9; sync; print worked; _exit 4", 4),
            ("launch k x 9; sync; print worked; kill 15", 128 + 15),
            ("launch k x 9; sync; print worked; kill 9", 128 + 9),
        ):
            with self.subTest(script=script):
                self.setUp()
                result = self.record(script)
                self.assertEqual((result.code, result.stdout), (status, "worked\n"), result)
                self.assert_only_the_run(result)

    def test_abort_gives_exit_status_134(self):
        result = self.record("launch k x 9; sync; print worked; abort")
        self.assertEqual((result.code, result.stdout), (128 + 6, "worked\n"), result)

    def test_command_that_cannot_run_has_the_shell_status(self):
        (self.work / "text").write_text("no program")
        for command, status in (
            (["/does/not/exist"], 127),
            (["no-such-command"], 127),
            (["./text"], 126),
        ):
            result = self.record(command)
            self.assertEqual(result.code, status, result)
            self.assertEqual([path.name for path in self.work.iterdir()], ["text"], result)

    def test_standard_input_and_arguments(self):
        script = PYTHON + "launch('k', 5); sync(); print(sys.stdin.read().upper(), sys.argv[1:])"
        result = subprocess.run(
            [support.PROGRAM, "record", "--", *self.command(script), "-o", "a b", "--", "x"],
            cwd=self.work,
            env=self.environment(preload=False),
            input=b"hello",
            capture_output=True,
            timeout=support.HANG_S,
            check=False,
        )
        self.assertEqual(result.stdout, b"HELLO ['-o', 'a b', '--', 'x']\n", result)

    def signalled(self, number, to_group, script=None):
        script = (
            script
            or PYTHON
            + "launch('k', 20); sync(); print('go', flush=True)\nwhile True: launch('k'); sync()"
        )
        process = subprocess.Popen(
            [support.PROGRAM, "record", "--", *self.command(script)],
            cwd=self.work,
            env=self.environment(preload=False),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.assertEqual(process.stdout.readline(), b"go\n")
        time.sleep(0.2)
        (os.killpg if to_group else os.kill)(process.pid, number)
        try:
            out, err = process.communicate(timeout=support.HANG_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
        return support.Result(process, out, err)

    def test_ctrl_c_keeps_the_recording(self):
        result = self.signalled(signal.SIGINT, to_group=True)
        self.assertEqual(result.code, 130, result)
        missing, invented = gpu_support.compare_sets(self.work / "run.db", self.truths())
        self.assertEqual((missing, invented), ([], []))

    def test_sigterm_to_xlatrace_only(self):
        """It reaches the program; the program's end is waited for."""
        script = PYTHON + (
            "signal.signal(signal.SIGTERM, lambda *a: (print('mine', flush=True), sys.exit(9)))\n"
            "launch('k', 20); sync(); print('go', flush=True)\nwhile True: launch('k'); sync()"
        )
        result = self.signalled(signal.SIGTERM, to_group=False, script=script)
        self.assertEqual((result.code, result.stdout), (9, "mine\n"), result)
        self.assert_equals_truth(self.work / "run.db")

    def test_several_processes_become_one_run(self):
        script = PYTHON + (
            "import multiprocessing as m\n"
            "def work(n): launch('child', n); sync()\n"
            "if __name__ == '__main__':\n"
            "    ps = [m.get_context('spawn').Process(target=work, args=(n,)) for n in (3, 4, 5)]\n"
            "    [p.start() for p in ps]; [p.join() for p in ps]; launch('parent'); sync()\n"
            "    print([p.exitcode for p in ps])"
        )
        result = self.record(script)
        self.assertEqual((result.code, result.stdout), (0, "[0, 0, 0]\n"), result)
        self.assert_only_the_run(result)
        self.assertEqual(
            gpu_support.scalar(self.work / "run.db", "SELECT count(*) FROM process"), 4
        )

    def test_child_that_outlives_the_command(self):
        """Its recording is not complete: no file is removed, and the output names the next command."""
        script = PYTHON + (
            "launch('k', 5); sync()\n"
            "if len(sys.argv) > 1:\n"
            "    import glob\n"  # both are being recorded
            "    while len(glob.glob('run.rec/*.rec')) < 2: time.sleep(.02)\n"
            "    print('up', flush=True)\n"
            f"    while not os.path.exists('{self.folder}/go-on'): time.sleep(.02)\n"
            "    launch('late', 3); sync(); sys.exit(0)\n"
            "child = subprocess.Popen([sys.executable, __file__, 'x'], stdout=subprocess.PIPE,\n"
            "                         stderr=subprocess.DEVNULL, start_new_session=True)\n"
            "child.stdout.readline()\n"
        )
        result = self.record(script)
        self.assertEqual(result.code, 0, result)
        self.assertTrue((self.work / "run.rec").is_dir(), result)
        self.assertIn("run.rec", result.stderr)
        (self.folder / "go-on").touch()
        self.wait_for_rows(2, gpu_support.FOOTER)  # both have ended
        self.assert_equals_truth(self.fold())

    def test_earlier_run_becomes_old(self):
        self.record("launch a x 5; sync")
        first = self.truths()
        earlier = (self.work / "run.db").read_bytes()
        result = self.record("launch b x 6; sync")
        self.assertEqual((self.work / "run.old.db").read_bytes(), earlier)
        second = {pid: rows for pid, rows in self.truths().items() if pid not in first}
        self.assert_equals_truth(self.work / "run.db", second)
        self.assertEqual(result.code, 0, result)

    def test_foreign_file_at_the_output_is_kept(self):
        (self.work / "run.db").write_text("precious")
        result = self.record("launch a x 5; sync; print ran")
        texts = [p.read_text(errors="replace") for p in self.work.iterdir() if p.is_file()]
        self.assertIn("precious", texts, result)

    def test_recording_of_an_earlier_job_is_kept(self):
        self.preloaded("launch a x 5; sync")
        self.assertEqual(self.record("launch b x 6; sync").code, 0)
        left = sorted(path.name for path in self.work.glob("run*.rec"))
        self.assertEqual(len(left), 1, "the earlier recording, never folded")
        database = self.fold(left[0].removesuffix(".rec") + ".db") if left[0] != "run.rec" else None
        if database:
            self.assertEqual(gpu_support.scalar(database, "SELECT count(*) FROM launch"), 5)

    def test_record_inside_record_loses_no_launch(self):
        """The inner one has a run of its own, or joins; nothing is lost, nothing hangs."""
        inner = [
            support.PROGRAM,
            "record",
            "-o",
            "inner.db",
            "--",
            *self.command("launch i x 7; sync"),
        ]
        result = self.record(inner)
        self.assertEqual(result.code, 0, result)
        total = 0
        for database in self.work.glob("*.db"):
            total += gpu_support.scalar(database, "SELECT count(*) FROM launch")
        self.assertEqual(total, 7, result)

    def test_user_s_own_preload_is_kept(self):
        library = "/lib/x86_64-linux-gnu/libm.so.6"
        if not os.path.exists(library):
            self.skipTest("no libm.so.6 to preload")
        own = self.folder / "libown.so"
        shutil.copy(library, own)
        script = (
            PYTHON + "launch('k', 5); sync(); print('libown.so' in open('/proc/self/maps').read())"
        )
        result = self.record(script, LD_PRELOAD=own)
        self.assertEqual((result.code, result.stdout), (0, "True\n"), result)
        self.assert_only_the_run(result)

    def test_program_without_cuda_leaves_no_run(self):
        """On a machine with a driver: no run, one sentence, the program's own status."""
        result = self.record([sys.executable, "-c", "print('plain'); raise SystemExit(5)"])
        self.assertEqual((result.code, result.stdout), (5, "plain\n"), result)
        self.assertFalse((self.work / "run.db").exists())
        self.assertEqual(len(result.errors), 1, result)

    def test_read_only_place_is_reported_before_the_program_runs(self):
        result = support.run(
            "record",
            "-o",
            "/proc/run.db",
            "--",
            *self.command("launch k; sync; print ran"),
            cwd=self.work,
            env=self.environment(preload=False),
        )
        self.assertEqual((result.code, result.stdout), (125, ""), result)


if __name__ == "__main__":
    unittest.main()
