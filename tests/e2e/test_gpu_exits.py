# SPDX-License-Identifier: Apache-2.0
"""A traced program ends as without tracing, for every kind of exit, and its recording can be imported."""

import os
import random
import signal
import time
import unittest

import gpu_support
import support
import tiers

PYTHON = "# python\nimport os, signal, subprocess, sys, threading, time\nfrom tiny_gpu import *\n"
DONE = "launch('k', 50); sync(); print('worked', flush=True)\n"

# name -> program; all that it launched is in the recording. The expected status and output are
# those of the program without the preload.
NOTHING_LOST = {
    "return": "launch k x 50; copy dtod 9; sync; print worked",
    "exit": "launch k x 50; sync; print worked; exit 3",
    "underscore_exit": "launch k x 50; sync; print worked; _exit 4",
    "quick_exit": "launch k x 50; sync; print worked; quick_exit 5",
    "kill_self_term": "launch k x 50; sync; print worked; kill 15",
    "kill_self_int": "launch k x 50; sync; print worked; kill 2",
    "kill_self_kill": "launch k x 50; sync; print worked; kill 9",
    "kill_self_hup": "launch k x 50; sync; print worked; kill 1",
    "exec_fails_and_goes_on": "launch k x 50; sync; exec /does/not/exist; launch l x 7; sync",
    "exec_fails_then_underscore_exit": "launch k x 50; exec /does/not; launch l; sync; _exit 1",
    "vfork_children_whose_exec_fails": "launch k x 50; failed-execs 20; launch k x 9; sync; exit 2",
    "system": 'launch k x 50; system "exit 3"; system "kill -9 $$"; launch k x 9; sync',
    "python_end": PYTHON + DONE,
    "python_sys_exit": PYTHON + DONE + "sys.exit(3)",
    "python_exception": PYTHON + DONE + "raise SystemExit('sorry')",
    "python_os_exit": PYTHON + DONE + "os._exit(7)",
    "python_os_exit_in_thread": PYTHON
    + DONE
    + "t = threading.Thread(target=lambda: os._exit(6)); t.start(); t.join(60)",
    "python_ctrl_c": PYTHON + DONE + "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
    "python_sigterm": PYTHON + DONE + "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "python_own_handler": PYTHON
    + "signal.signal(signal.SIGTERM, lambda *a: (print('mine'), sys.exit(9)))\n"
    + DONE
    + "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "python_ignored_signal": PYTHON
    + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    + DONE
    + "os.kill(os.getpid(), signal.SIGTERM); launch('after', 3); sync(); print('alive')",
    "python_blocked_signal": PYTHON
    + "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    + DONE
    + "os.kill(os.getpid(), signal.SIGTERM); launch('after', 3); sync(); print('alive')",
    "python_signal_zero": PYTHON + DONE + "os.kill(os.getpid(), 0); launch('after'); sync()",
    "python_atexit": PYTHON
    + "import atexit; atexit.register(lambda: print('last words'))\n"
    + DONE,
    "python_launch_in_atexit": PYTHON
    + "import atexit; atexit.register(lambda: (launch('late', 9), sync(), print('late')))\n"
    + DONE,
    "python_vfork_exec_fails": PYTHON
    + DONE
    + "for _ in range(3):\n"
    + "    try: subprocess.run(['/does/not/exist'])\n"
    + "    except FileNotFoundError: launch('after', 11)\n"
    + "sync(); print('went on')",
    "python_execl": PYTHON
    + DONE
    + "ctypes.CDLL(None).execl(b'/bin/echo', b'echo', b'another program', None)",
    # A raw system call: no handler of pthread_atfork runs. Only the pid identifies the child.
    "python_fork_past_libc": PYTHON
    + DONE
    + "pid = ctypes.CDLL(None).syscall({'x86_64': 57}.get(os.uname().machine, 39))\n"
    + "if pid == 0: sys.exit(8)\n"
    + "if pid > 0 and os.uname().machine == 'x86_64': os.waitpid(pid, 0)\n"
    + "launch('after', 5); sync()",
    "python_children": PYTHON
    + DONE
    + "print(subprocess.run(['true']).returncode, subprocess.run(['false']).returncode)\n"
    + "launch('after', 5); sync()",
    "python_popen_shell": PYTHON + DONE + "print(os.system('exit 3'), os.popen('echo x').read())",
    "fork_before_cuda": "fork { launch child x 9; sync }; launch k x 50; sync; print worked",
    "fork_after_cuda": "launch k x 50; sync; fork { print child }; launch k x 9; sync",
    "fork_after_cuda_leaves": "launch k; fork leaves _exit { print child }; launch k x 9; sync",
    "fork_after_cuda_aborts": "launch k x 50; fork { abort }; launch k x 9; sync; print worked",
    "fork_after_cuda_killed": "launch k x 50; fork { kill 15 }; launch k x 9; sync; print worked",
    "fork_after_cuda_exec": "launch k x 50; fork { exec /bin/echo hello }; launch k x 9; sync",
    "python_fork_falls_off": PYTHON
    + DONE
    + "pid = os.fork()\nif pid == 0: sys.exit(8)\n"
    + "print(os.waitpid(pid, 0)[1] >> 8); launch('after', 5); sync()",
    "python_multiprocessing_fork": PYTHON
    + "import multiprocessing as m\n"
    + DONE
    + "p = m.get_context('fork').Process(target=print, args=('in child',)); p.start(); p.join()\n"
    + "print(p.exitcode); launch('after', 5); sync()",
}

# Ends that no code of the process can detect: at most a flush period is lost.
SOME_LOST = {
    "abort": "launch k x 50; sync; print worked; abort",
    "segv": "launch k x 50; sync; print worked; segv",
    "python_abort": PYTHON + DONE + "os.abort()",
    "python_segv": PYTHON + DONE + "ctypes.string_at(0)",
}


class Exits(gpu_support.GpuTestCase):
    def check(self, script, lossless):
        alone = self.alone(script)
        traced = self.preloaded(script)
        self.assert_unharmed(traced, alone)
        files = gpu_support.recording_files(self.work / "run.rec")
        if not lossless and not any(gpu_support.rows_in(f, gpu_support.FACTS) for f in files):
            # Killed before the writer's first block.
            return [row for rows in self.truths().values() for row in rows]
        self.assertTrue((self.work / "run.rec").exists(), traced)
        database = self.fold()
        if lossless:
            self.assert_equals_truth(database)
            self.assertEqual(
                gpu_support.loss(database), 0, gpu_support.run_stats(database, "data_loss")
            )
        missing, invented = gpu_support.compare_sets(database, self.truths())
        self.assertEqual(invented, [])
        return missing

    def test_thread_waits_for_an_exit_that_another_began(self):
        # The second thread leaves while the first one's flush is under way.
        traced = self.preloaded(
            "launch k x 50; sync; threads 2 { meet 2; _exit 4 }",
            scenario="delay cuptiActivityFlushAll 400\n",
        )
        self.assertEqual((traced.code, len(gpu_support.split_stderr(traced.stderr)[0])), (4, 1), traced)
        self.assert_equals_truth(self.fold())

    def test_exit_with_blocked_signals_loses_no_record(self):
        # A flush for a signal that may end the program is under way when another thread leaves.
        script = PYTHON + (
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
            "launch('k', 50); sync()\n"
            # With ctypes, so that the other thread runs meanwhile.
            "kill = ctypes.CDLL(None).kill\n"
            "threading.Thread(target=kill, args=(os.getpid(), signal.SIGUSR1)).start()\n"
            "time.sleep(0.2); launch('after', 9); sync(); os._exit(6)"
        )
        traced = self.preloaded(script, scenario="delay cuptiActivityFlushAll 800\n")
        self.assertEqual((traced.code, len(gpu_support.split_stderr(traced.stderr)[0])), (6, 1), traced)
        self.assert_equals_truth(self.fold())

    def test_exit_during_launches_of_a_daemon_thread_is_clean(self):
        script = PYTHON + (
            "start()\n"
            "def work():\n"
            "    start()\n"
            "    while True: launch('daemon', 20)\n"
            "launch('daemon')\n"
            "threading.Thread(target=work, daemon=True).start()\n"
            "time.sleep(0.3); launch('main', 50); sync(); print(time.time_ns()); sys.exit(2)"
        )
        traced = self.preloaded(script)
        self.assertEqual(
            (traced.code, len(gpu_support.split_stderr(traced.stderr)[1])), (2, 0), traced
        )
        end = int(traced.stdout)
        missing, invented = gpu_support.compare_sets(self.fold(), self.truths())
        self.assertEqual(invented, [])
        self.assertEqual([row for row in missing if int(row["end_ns"]) < end], [])

    def test_exec_keeps_records_of_both_programs(self):
        """Records before exec stay; those of the new program are recorded too."""
        second = self.truth_folder / "second"
        other = " ".join(
            f'"{part}"' for part in self.command("launch second x 30; sync; print second; exit 6")
        )
        script = f"launch first x 40; sync; print first; setenv FAKE_GPU_LOG {second}; exec {other}"
        alone = self.alone(script)
        for log in self.truth_folder.iterdir():
            log.unlink()
        self.assert_unharmed(self.preloaded(script), alone)
        self.assertEqual(len(self.truths()), 1)  # one process, two programs
        self.assert_equals_truth(self.fold())

    def test_exec_of_a_program_without_cuda_keeps_the_records(self):
        script = "launch first x 40; sync; exec /bin/echo hello"
        self.check(script, lossless=True)

    def test_only_unfinished_work_is_lost_at_exit(self):
        """A kernel takes 10 ms here: most are not done when the program leaves."""
        self.check("launch quick; sync", lossless=True)
        traced = self.preloaded(
            PYTHON + "launch('k', 200); time.sleep(0.1); print(time.time_ns()); sys.exit(3)",
            FAKE_GPU_TIME_SCALE="1000",
        )
        self.assertEqual(traced.code, 3, traced)
        end = int(traced.stdout)
        database = self.fold()
        truths = self.truths()
        done = {
            (int(row["start_ns"]), int(row["end_ns"]))
            for rows in truths.values()
            for row in rows
            if row["name"] == "k" and int(row["end_ns"]) < end
        }
        self.assertTrue(done)
        have = {(row["start"], row["end"]) for row in gpu_support.recorded_rows(database)}
        self.assertEqual(done - have, set())

    def outside(self, script, number, **environment):
        """Starts, waits for its word, sends a signal; status and when it was sent."""
        process = self.started(script, **environment)
        self.assertEqual(process.stdout.readline(), b"go\n")
        time.sleep(0.7)
        sent = time.time_ns()
        os.kill(process.pid, number)
        process.communicate(timeout=support.HANG_S)
        return process.returncode, sent

    FOREVER = "launch k; sync; print go; rate 5000; forever { launch k x 8; copy dtod 64; set 9 }"

    def missing_before(self, database, moment):
        missing, invented = gpu_support.compare_sets(database, self.truths())
        self.assertEqual(invented, [])
        return [row for row in missing if int(row["end_ns"]) < moment]

    # Buffers of a program with this rate and flush period have at most 32 KB. A record of CUDA 13.0 has
    # at least 88 bytes, and most of these are of kernels, with 216.
    WITHHELD_RECORDS = (32 << 10) // 208 + 1

    def missing_of_flushed(self, place):
        """Activities that had ended before the last flush that is in the file, and the run lacks.

        A flush returns no buffer that holds an unfinished record. So the last buffer of the thread may
        be missing, if the run reports that time as not recorded. Nothing else may be.
        """
        database = self.fold(cwd=place)
        (recording,) = gpu_support.recording_files(place / "run.rec")
        missing = self.missing_before(database, gpu_support.flushed_until(recording))
        reported_from = gpu_support.scalar(
            database,
            "SELECT unrecorded_from_ns + (SELECT value FROM run_info WHERE key = 'start_unix_ns')"
            " FROM process",
        )
        if len(missing) <= self.WITHHELD_RECORDS:
            missing = [row for row in missing if int(row["end_ns"]) < reported_from]
        return missing

    def test_external_sigterm_keeps_the_records(self):
        process = self.started(self.FOREVER, XLATRACE_FLUSH_MS="100")
        self.wait_for_flushes(self.work / "run.rec", 3)
        process.terminate()
        process.communicate(timeout=support.HANG_S)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual(self.missing_of_flushed(self.work), [])

    def test_external_ctrl_c_keeps_the_records(self):
        script = (
            PYTHON
            + "launch('k'); sync(); print('go', flush=True)\nwhile True: launch('k', 5); sync()"
        )
        status, sent = self.outside(script, signal.SIGINT)
        self.assertEqual(status, -signal.SIGINT)
        self.assertEqual(self.missing_before(self.fold(), sent), [])

    def test_kill_at_any_moment_leaves_a_readable_recording(self):
        """Flushed records are never lost, none is there twice, and every recording can be imported.

        `scripts/collector_soak kill` measures the age of the oldest lost work on a machine without load:
        no test may depend on it."""
        chance = random.Random(4)
        for attempt in range(20 if tiers.IS_LONG else 4):
            place = self.folder / f"kill{attempt}"
            place.mkdir()
            self.truth_folder = self.folder / f"truth{attempt}"
            self.truth_folder.mkdir()
            process = self.started(self.FOREVER, cwd=place, XLATRACE_FLUSH_MS="100")
            self.assertEqual(process.stdout.readline(), b"go\n")
            time.sleep(chance.uniform(0, 0.8))
            process.kill()
            process.communicate(timeout=support.HANG_S)
            if not list(place.glob("*.rec")):
                continue  # On a machine that is held up: killed before the first file was made.
            with self.subTest(attempt=attempt):
                self.assertEqual(self.missing_of_flushed(place), [])

    def test_process_killed_at_once_leaves_a_readable_recording(self):
        """Before the first flush: no activity, but who it was, when, and that it was killed."""
        process = self.started(
            "launch k x 50; sync; print go; sleep 60000", XLATRACE_FLUSH_MS="60000"
        )
        self.assertEqual(process.stdout.readline(), b"go\n")
        self.wait_for_rows(1, gpu_support.FACTS)
        process.kill()
        process.communicate(timeout=support.HANG_S)
        database = self.fold()
        (row,) = gpu_support.rows_of(database, "SELECT * FROM process")
        self.assertEqual((row["pid"], row["host"]), (process.pid, os.uname().nodename))
        self.assertIn("fake_workload", row["command"] or "")
        info = {
            r["key"]: r["value"] for r in gpu_support.rows_of(database, "SELECT * FROM run_info")
        }
        self.assertLess(abs(int(info["start_unix_ns"]) - time.time_ns()), 3600e9)
        self.assertNotEqual(gpu_support.run_stats(database, "notice", "data_loss"), [])

    def test_kill_with_the_default_period(self):
        process = self.started(self.FOREVER)
        self.wait_for_flushes(self.work / "run.rec", 2)
        process.kill()
        process.communicate(timeout=support.HANG_S)
        self.assertEqual(self.missing_of_flushed(self.work), [])


class Surroundings(gpu_support.GpuTestCase):
    """The properties of the process that a program can read are unchanged."""

    LOOK = PYTHON + (
        "import locale, resource\n"
        "def look():\n"
        "    status = open('/proc/self/status').read().splitlines()\n"
        "    for l in status:\n"
        "        name, value = l.split(':', 1)\n"
        "        if name == 'Umask': print(l)\n"
        "        if name in ('SigBlk', 'SigIgn', 'SigCgt'):\n"
        "            print(name, hex(int(value, 16) & ~(3 << 31)))  # 32 and 33 are glibc's own\n"
        "    libc = ctypes.CDLL(None); libc.setlocale.restype = ctypes.c_char_p\n"
        "    print(libc.setlocale(6, None), os.getcwd(), resource.getrlimit(0))\n"
        "    print(signal.getitimer(signal.ITIMER_REAL), os.getpriority(os.PRIO_PROCESS, 0))\n"
        "    try: print(os.waitpid(-1, os.WNOHANG))\n"
        "    except ChildProcessError as e: print(e)\n"
        "look(); launch('k', 20); sync(); look(); time.sleep(0.2); launch('k'); sync(); look()\n"
    )

    def test_signals_locale_and_limits_are_unchanged(self):
        for name in ("C", "C.UTF-8"):
            alone = self.alone(self.LOOK, LC_ALL=name)
            self.assertEqual(alone.code, 0, alone)
            self.assert_unharmed(self.preloaded(self.LOOK, LC_ALL=name), alone)

    def test_signal_of_the_program_reaches_its_handler(self):
        script = PYTHON + (
            "hits = []\n"
            "signal.signal(signal.SIGALRM, lambda *a: hits.append(threading.get_native_id()))\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)\n"
            "launch('k'); end = time.time() + 1\n"
            "while time.time() < end: launch('k', 10)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0); sync()\n"
            "print(len(hits) > 0, len(set(hits)))\n"
        )
        self.assert_unharmed(self.preloaded(script), self.alone(script))
        self.assert_equals_truth(self.fold())

    def test_children_inherit_no_descriptor(self):
        script = PYTHON + (
            "launch('k', 5); sync()\n"
            "r = subprocess.run(['ls', '/proc/self/fd'], close_fds=False, capture_output=True)\n"
            "print(len(r.stdout.split()))\n"
            "os.set_inheritable(0, True)\n"
            "os.execv('/bin/ls', ['ls', '/proc/self/fd'])\n"
        )
        self.assert_unharmed(self.preloaded(script), self.alone(script))

    def test_recording_survives_closed_descriptors(self):
        """As daemons do. Its next file has the number that ours had, and holds only its own."""
        script = PYTHON + (
            "launch('k', 50); sync(); os.closerange(3, 4096)\n"
            "mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND\n"
            "files = [os.open(f'mine{i}', mode) for i in range(40)]\n"
            "for f in files: os.write(f, b'mine')\n"
            "launch('k', 5000); sync(); time.sleep(0.5); launch('k', 50); sync(); print('worked')\n"
        )
        # No truth log: the fake's would be closed, and its number given away, too.
        traced = self.preloaded(script, XLATRACE_FLUSH_MS="50", FAKE_GPU_LOG=None)
        self.assert_unharmed(traced, self.alone(script))
        for number in range(40):
            self.assertEqual((self.work / f"mine{number}").read_bytes(), b"mine" * 2)
        database = self.fold()
        if gpu_support.scalar(database, "SELECT count(*) FROM launch") != 5100:
            self.assertGreater(gpu_support.loss(database), 0, "a loss that is not told")

    def test_program_without_standard_descriptors_is_recorded(self):
        inner = " ".join(f"'{part}'" for part in self.command("launch k x 500; sync; exit 3"))
        traced = self.preloaded(["sh", "-c", f"exec {inner} <&- >&- 2>&-"])
        self.assertEqual((traced.code, traced.stdout, traced.stderr), (3, "", ""))
        self.assert_equals_truth(self.fold())

    def test_stderr_of_the_script_is_unchanged(self):
        script = PYTHON + DONE + "print('no newline', end='', file=sys.stderr)"
        traced = self.preloaded(script)
        self.assertTrue(traced.stderr.startswith("no newline"), traced)


def add(name, script, lossless):
    def test(self):
        missing = self.check(script, lossless)
        if not lossless:  # the program lived for less than a flush period
            self.assertLessEqual(len(missing), 50)

    setattr(Exits, "test_" + name, test)


for exit_name, exit_script in NOTHING_LOST.items():
    add(exit_name, exit_script, True)
for exit_name, exit_script in SOME_LOST.items():
    add(exit_name, exit_script, False)

if __name__ == "__main__":
    unittest.main()
