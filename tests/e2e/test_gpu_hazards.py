# SPDX-License-Identifier: Apache-2.0
"""Behaviour that has harmed programs under other profilers does no harm here (docs/development/hazards.md)."""

import os
import shlex
import shutil
import subprocess
import threading
import unittest

import gpu_support
import support

PYTHON = "# python\nimport os, subprocess, sys, threading, time\nfrom tiny_gpu import *\n"


class Hazards(gpu_support.GpuTestCase):
    def check(self, script, lines=1, **environment):
        traced = self.preloaded(script, **environment)
        fakes = {name: value for name, value in environment.items() if name.startswith("FAKE_")}
        self.assert_unharmed(
            traced, self.alone(script, scenario=environment.get("scenario"), **fakes), lines
        )
        return traced

    def test_ten_thousand_failed_execs_do_no_harm(self):
        """vfork's children run in the parent's memory until exec, which fails; then they _exit."""
        self.check("launch k x 50; sync; failed-execs 10000; launch k x 9; sync; exit 2")
        self.assert_equals_truth(self.fold())

    def test_a_shim_with_fifty_helper_processes(self):
        """As pyenv's: bash, readlink, basename... before the program; no trace of any of them."""
        program = shlex.join(self.command("launch k x 5; sync; print done"))
        helpers = (
            "for i in $(seq 14); do d=$(dirname $(readlink -f /bin/sh)); basename $d; true; done"
        )
        script = self.folder / "shim"
        script.write_text(f"#!/bin/bash\n{helpers} >/dev/null\nexec {program}\n")
        script.chmod(0o755)
        self.check([script])
        names = [p.name for p in (self.work / "run.rec").iterdir()]
        self.assertEqual(len([n for n in names if n.endswith((".rec", ".note"))]), 1, names)
        self.assert_equals_truth(self.fold())

    def test_stub_driver_does_no_harm(self):
        """CUDA's stub library answers every call with 34 and injects nothing."""
        script = "init"
        traced = self.check(script, scenario="driver no injection\nfail cu* error 34 times 0")
        self.assertNotEqual(traced.code, 0)
        self.assertEqual(list(self.work.glob("run.rec/*.rec")), [])

    def test_nvtx_long_before_cuda(self):
        """CUPTI 13.0 crashed there; and names that were registered then are known later."""
        script = "executable jit_f 3 { op a.1 }\nrange setup { module jit_f 3 { thunk a.1 { sleep 1 } } }\n"
        script += "module jit_f 3 { thunk a.1 { launch k x 5 } }\nsync"
        self.check(script)
        rows = gpu_support.recorded_rows(self.fold())
        self.assertEqual([row["instruction"] for row in rows], ["a.1"] * 5)

    def test_fork_with_nvtx_before_cuda_and_cuda_in_both(self):
        script = "executable jit_f 3 { op a.1 }\n"
        body = "module jit_f 3 { thunk a.1 { launch %s x 5 } }; sync"
        script += "fork { " + body % "child" + " }\n" + (body % "parent").replace("; ", "\n")
        self.check(script)
        rows = gpu_support.recorded_rows(self.fold())
        self.assertEqual(len(rows), 10)
        self.assertEqual({row["instruction"] for row in rows}, {"a.1"})

    def test_a_forked_child_has_all_descriptors(self):
        """For any descriptor number of the recording in the writer's own table, the child's number is its
        own."""
        body = (
            "def look(): return [os.fstat(n).st_ino for n in (0, 1, 2, *files)]\n"
            "files = [os.open('/dev/null', os.O_RDONLY) for _ in range(20)]\n"
            "launch('k', 9); sync(); time.sleep(.05)\n"
            "before = look()\n"
            "pid = os.fork()\n"
            "if pid == 0: os._exit(0 if look() == before else 9)\n"
            "print(os.waitpid(pid, 0)[1]); launch('k', 9); sync()\n"
        )
        self.assertEqual(self.check(PYTHON + body, XLATRACE_FLUSH_MS="10").stdout, "0\n")
        self.assert_equals_truth(self.fold())

    def test_buffer_requests_inside_our_calls_do_not_deadlock(self):
        """A lock of ours that is held while CUPTI is called would never be given back."""
        script = (
            "name stream s1 Compute\ngraph G { launch g; copy dtod 8 }\n"
            "threads 4 { repeat 5 { launch k x 20 on s%t; run G; sync; sleep 5 } }\n"
            "exec /does/not/exist\nlaunch k x 9; sync; exit 3"
        )
        self.check(script, scenario="cupti reenter", XLATRACE_FLUSH_MS="10")
        self.assert_equals_truth(self.fold())

    def test_no_flush_before_there_is_a_context(self):
        """It has hung there (HPCToolkit #295): a program that starts CUDA and uses none of it."""
        for script in ("init; print started; exit 3", "init; _exit 4", "init; sleep 300; launch k; sync"):
            with self.subTest(script=script):
                self.setUp()
                self.check(script, scenario="cupti flush needs context", XLATRACE_FLUSH_MS="20")

    def test_each_error_of_a_start_is_named(self):
        """No privilege, MIG, confidential computing, WSL and others: the program runs, the line names the
        reason."""
        for error in (1, 2, 12, 15, 26, 27, 33, 35, 40, 41, 42, 43, 44, 45, 999):
            with self.subTest(error=error):
                self.setUp()
                scenario = f"fail cuptiSubscribe error {error} times 0"
                traced = self.check("launch k x 9; sync; exit 3", scenario=scenario)
                self.assertRegex(traced.stderr, rf"cuptiSubscribe: {error}\b")
        for error in (15, 999):
            with self.subTest(everything=error):
                self.setUp()
                traced = self.check(
                    "launch k x 9; sync; exit 3", scenario=f"fail cupti* error {error} times 0"
                )
                self.assertRegex(traced.stderr, rf"cuptiGetVersion: {error}\b")

    def test_refused_cupti_beside_a_debugger_is_reported(self):
        """CUPTI does not work there: its refusal is reported."""
        script = PYTHON + "assert ctypes.CDLL(None).ptrace(0, 0, None, None) == 0\nlaunch('k'); sync()"
        traced = self.check(script, scenario="fail cuptiSubscribe error 999")
        self.assert_golden_text("\n".join(gpu_support.split_stderr(traced.stderr)[0]))

    def test_definitions_that_come_while_rows_are_written(self):
        """All definitions of a row are in the file with it, for any time of registration.

        The first record is slow to read. Meanwhile another thread registers an executable and fills a
        buffer with launches of it, which are read and written next. Then SIGKILL."""
        for _ in range(5):  # A process killed before its first write leaves no information.
            self.setUp()
            rows = self.rows_of_a_late_executable()
            self.assertEqual([row for row in rows if row["n"] != row["labelled"]], [])
            if rows:
                return
        self.fail("never was anything written")

    def rows_of_a_late_executable(self):
        executable = 'executable late%t 1%t { op a%t.1 hlo "a%t.1 = f32[8]{0} parameter(0)" }\n'
        script = (
            "launch k x 9; sync\nthreads 2 {\nsleep %t00\n"
            + executable
            + "module late%t 1%t { thunk a%t.1 { launch late x 25000 } }\n"
            + "exec /does/not/exist\n}\nprint go\nsleep 60000\n"
        )
        process = self.started(
            script,
            scenario="delay cuptiActivityGetNextRecord 1500 call 1",
            XLATRACE_FLUSH_MS="60000",
            FAKE_GPU_TIME_SCALE="0.001",
        )
        while process.stdout.readline() not in (b"go\n", b""):
            pass
        process.kill()
        process.communicate(timeout=support.HANG_S)
        database = self.fold()
        return gpu_support.rows_of(
            database,
            "SELECT name, count(*) n, count(instruction) labelled FROM activity "
            "WHERE api_call_id IS NOT NULL AND name = 'late' GROUP BY 1",
        )

    def test_a_thousand_threads_within_the_limit(self):
        """Each with a buffer of its own, as CUPTI 13 has it: less than 256 MB for us."""
        body = (
            "import resource\nthreading.stack_size(64 << 10)\nlaunch('k')\n"
            "def work():\n    start(); launch('k', 4); barrier.wait()\n"
            "barrier = threading.Barrier(1000)\n"
            "threads = [threading.Thread(target=work) for _ in range(1000)]\n"
            "[t.start() for t in threads]; [t.join() for t in threads]; sync()\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=open('peak', 'w'))\n"
        )
        peaks = []
        for run in (self.alone, self.preloaded):
            result = run(PYTHON + body)
            self.assertEqual(result.code, 0, result)
            peaks.append(int((self.work / "peak").read_text()))
        self.assertLess(peaks[1] - peaks[0], 256 * 1024)
        self.assert_equals_truth(self.fold())

    def test_full_disk_does_no_harm(self):
        """A file system of 3 MB; the program continues, and the run reports lost records."""
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)], capture_output=True
        )
        if mounted.returncode != 0:
            self.skipTest("this user may not mount a file system")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        script = "repeat 300 { launch kernel x 1000 }; sync; print done; exit 3"
        traced = self.preloaded(
            script,
            cwd=disk,
            XLATRACE_FLUSH_MS="20",
            FAKE_GPU_TIME_SCALE="0.001",
            FAKE_GPU_LOG=None,
        )
        self.assertEqual((traced.code, traced.stdout), (3, "done\n"), traced)
        self.assertLessEqual(len(traced.stderr.splitlines()), 1, traced)
        self.assertIn("No space left", traced.stderr)
        moved = self.work / "run.rec"
        shutil.copytree(disk / "run.rec", moved)
        database = self.fold()
        recorded = gpu_support.scalar(database, "SELECT count(*) FROM activity")
        self.assertGreater(recorded, 1000)
        # Launches are counted, not rows of all kinds.
        self.assertEqual(gpu_support.loss(database), 300_000 - recorded)
        ends = gpu_support.rows_of(database, "SELECT why_ended FROM window")
        self.assertEqual([row["why_ended"] for row in ends], ["limit"])

    def test_a_place_that_hangs_does_not_hold_the_program(self):
        """A network file system that is away, as a FIFO in the place of the job file."""
        (self.work / "run.rec").mkdir()
        os.mkfifo(self.work / "run.rec" / "job")
        traced = self.preloaded("launch k x 9; sync; print done")
        self.assertEqual((traced.code, traced.stdout), (0, "done\n"), traced)
        self.assertLessEqual(len(traced.stderr.splitlines()), 1, traced)

    def test_links_in_the_recording_folder_are_not_followed(self):
        """run.rec, its job and the order of `control` as links to something of the user's."""
        precious = self.folder / "precious"
        precious.write_text("stop 1\n")
        (self.work / "run.rec").mkdir()
        for name in ("job", "control"):
            (self.work / "run.rec" / name).symlink_to(precious)
        self.check("launch k x 9; sync")
        self.assertEqual(precious.read_text(), "stop 1\n")

    def test_many_control_commands_may_run_at_once(self):
        """`xlatrace control` and reports, while the program runs."""
        process = self.started(
            "launch k; sync; print go; rate 20000; repeat 30000 { launch k }; sync",
            XLATRACE_FLUSH_MS="10",
        )
        self.wait_until_recording(process)
        codes = []

        def ask(verb):
            codes.append(self.xlatrace("control", "run.rec", verb, "--timeout", "20").code)

        threads = [threading.Thread(target=ask, args=(v,)) for v in ("stop", "start", "status") * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        out, err = process.communicate(timeout=support.HANG_S)
        self.assertEqual((process.returncode, out), (0, b""), err)
        self.assertLessEqual(len(err.splitlines()), 1)
        database = self.fold()
        self.assertEqual(gpu_support.compare_sets(database, self.truths())[1], [])
        self.assertEqual(gpu_support.run_stats(database, "data_loss", "error"), [])


class TwoHosts(gpu_support.GpuTestCase):
    def test_tasks_of_two_hosts_make_one_run(self):
        """Eight tasks of one SLURM step, on hosts that share a folder and nothing else."""
        if subprocess.run(["unshare", "-u", "true"], capture_output=True).returncode != 0:
            self.skipTest("this user may not pretend to be another host")
        processes = []
        for rank in range(8):
            host = f"node{rank // 4}"
            command = shlex.join(self.command(f"launch task{rank} x {40 + rank}; sync"))
            processes.append(
                self.started(
                    ["unshare", "-u", "sh", "-c", f"hostname {host} && exec {command}"],
                    SLURM_JOB_ID="5",
                    SLURM_STEP_ID="1",
                    SLURM_PROCID=rank,
                    SLURM_LOCALID=rank % 4,
                    FAKE_GPU_LOG=self.truth_folder / f"t{rank}",
                )
            )
        for process in processes:
            out, err = process.communicate(timeout=support.HANG_S)
            self.assertEqual((process.returncode, out), (0, b""), err)
        self.assertEqual([p.name for p in self.work.iterdir()], ["run.rec"])
        database = self.fold()
        self.assert_equals_truth(database)
        rows = gpu_support.rows_of(database, "SELECT host, rank FROM process ORDER BY rank")
        self.assertEqual(
            [(row["host"], row["rank"]) for row in rows], [(f"node{n // 4}", n) for n in range(8)]
        )


if __name__ == "__main__":
    unittest.main()
