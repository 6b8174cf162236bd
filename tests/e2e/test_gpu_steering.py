# SPDX-License-Identifier: Apache-2.0
"""A recording that is steered: steps, times, the program's own marks, `xlatrace control`, the ring."""

import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

import gpu_support
import support

PYTHON = "# python\nimport os, sys, threading, time\nfrom tiny_gpu import *\n"
XLATRACE_H = PYTHON + (
    "def xlatrace(name, *arguments):\n"
    "    function = getattr(ctypes.CDLL(None), 'xlatrace_' + name, None)\n"
    "    return function(*arguments) if function else None\n"
    "def mark(step): xlatrace('mark_step', ctypes.c_longlong(step))\n"
)


# A main module among helpers: an initialisation that is larger and runs once, a helper that runs
# more often and is smaller.
def executable(name, number, prefix, ops):
    """XLA registers every instruction, also of computations that are not thunks."""
    ops = "; ".join(f"op {prefix}.{n}" for n in range(1, ops + 1))
    return f"executable {name} {number} {{ {ops} }}\n"


TRAINING = (
    executable("jit_copy", 2, "c", 1)
    + """
repeat 5 { module jit_copy 2 { thunk c.1 { launch copy%r } } }
"""
    + executable("jit_init", 1, "i", 50)
    + executable("jit_step", 7, "a", 30)
    + """
module jit_init 1 { thunk i.1 { launch init }; thunk i.2 { launch init }; thunk i.3 { launch init } }
sync
repeat 20 {
  module jit_copy 2 { thunk c.1 { launch copy } }
  module jit_step 7 {
    thunk a.1 { launch a%r }; thunk a.2 { launch a%r grid 2x1x1 }; thunk a.3 { copy dtod 64 }
  }
}
sync
print trained
"""
)
LOST = ("data_loss", "error")
PATIENT = ("--timeout", "200")  # Options of `control`.


class Steering(gpu_support.GpuTestCase):
    def names(self, database):
        rows = gpu_support.rows_of(database, "SELECT kernel_symbol FROM launch")
        return sorted(row["kernel_symbol"] for row in rows)

    def recorded(self, script, **environment):
        traced = self.preloaded(script, **environment)
        fakes = {name: value for name, value in environment.items() if name.startswith("FAKE_")}
        self.assert_unharmed(traced, self.alone(script, **fakes))
        self.line = "".join(gpu_support.split_stderr(traced.stderr)[0])
        database = self.fold()
        self.assertEqual(gpu_support.run_stats(database, *LOST), [])
        missing, invented = gpu_support.compare_sets(database, self.truths())
        self.assertEqual(invented, [])
        self.missing = missing
        return database

    def test_a_window_of_steps_of_the_main_module(self):
        database = self.recorded(TRAINING, XLATRACE_STEPS="10:15")
        kernels = [name for name in self.names(database) if name.startswith("a")]
        self.assertEqual(kernels, sorted(f"a{n}" for n in range(10, 15) for _ in range(2)))
        copies = gpu_support.scalar(database, "SELECT count(*) FROM activity WHERE kind = 'memcpy'")
        self.assertEqual(copies, 5)
        # Work between the steps of the window belongs to it, other work does not.
        helpers = [name for name in self.names(database) if not name.startswith("a")]
        self.assertEqual(helpers, ["copy"] * 5)
        rows = gpu_support.rows_of(
            database, "SELECT DISTINCT step FROM activity WHERE module='jit_step'"
        )
        self.assertEqual(sorted(row["step"] for row in rows), [10, 11, 12, 13, 14])
        for row in gpu_support.rows_of(database, "SELECT * FROM launch WHERE module='jit_step'"):
            self.assertEqual(row["confidence"], "exact")

    def test_steps_from_the_beginning(self):
        """Compilation and the first execution are in it."""
        database = self.recorded(TRAINING, XLATRACE_STEPS="0:3")
        kernels = [name for name in self.names(database) if name.startswith("a")]
        self.assertEqual(kernels, ["a0", "a0", "a1", "a1", "a2", "a2"])
        self.assertIn("init", self.names(database))

    def test_steps_that_are_never_reached_are_reported(self):
        database = self.recorded(TRAINING, XLATRACE_STEPS="100:200")
        self.assertEqual(self.names(database), [])
        self.assertRegex(self.line, r"\b0 ")

    def test_steps_of_graphs(self):
        """A launch of a graph is in the window or not, with all its kernels."""
        script = "graph G { launch g1; launch g2; copy dtod 8 }\nexecutable jit_step 7 { op a.1 }\n"
        script += "repeat 12 { module jit_step 7 { thunk a.1 { run G } } }\nsync"
        database = self.recorded(script, XLATRACE_STEPS="4:7")
        self.assertEqual(self.names(database), ["g1"] * 3 + ["g2"] * 3)

    def test_each_device_has_its_steps(self):
        """Four threads drive four devices; each counts its own executions."""
        script = "executable jit_step 7 { op a.1 }\nthreads 4 { device %t; repeat 30 {\n"
        script += "module jit_step 7 { thunk a.1 { launch d%t x 2 } } }\nsync }"
        database = self.recorded(script, FAKE_GPU_DEVICES="4", XLATRACE_STEPS="10:14")
        expected = sorted(f"d{device}" for device in range(4) for _ in range(8))
        self.assertEqual(self.names(database), expected)

    def test_steps_of_many_threads_on_one_device(self):
        script = "executable jit_step 7 { op a.1 }\nthreads 6 { repeat 40 { module jit_step 7 {"
        script += " thunk a.1 { launch k x 3 on s%t } } } }; sync"
        database = self.recorded(script, XLATRACE_STEPS="10:15")
        self.assertEqual(self.names(database), ["k"] * 15)

    def test_step_before_a_window_that_never_comes_is_left_out(self):
        script = "executable jit_step 7 { op a.1 }\nrepeat 10 { module jit_step 7 { thunk a.1 { launch k } } }"
        self.assertEqual(self.names(self.recorded(script, XLATRACE_STEPS="10:15")), [])

    def test_steps_need_ranges(self):
        result = self.xlatrace("record", "--mode", "light", "--steps", "1:2", "--", "true")
        self.assertEqual((result.code, len(result.errors)), (2, 1), result)
        self.assertIn("--delay", result.stderr)
        for wrong in ("5", "5:5", "7:3", "-1:4", "a:b", "1:2:3"):
            self.assertEqual(self.xlatrace("record", "--steps", wrong, "--", "true").code, 2, wrong)
        traced = self.preloaded("launch k x 9; sync", XLATRACE_MODE="light", XLATRACE_STEPS="1:2")
        self.assertIn("XLATRACE_STEPS", traced.stderr)
        self.assertEqual(self.names(self.fold()), ["k"] * 9)

    def test_light_mode_leaves_nvtx_alone(self):
        traced = self.preloaded(
            TRAINING + 'system "echo [$NVTX_INJECTION64_PATH]"', XLATRACE_MODE="light"
        )
        self.assertIn("[]", traced.stdout)
        database = self.fold()
        self.assert_equals_truth(database)
        self.assertEqual(gpu_support.scalar(database, "SELECT count(*) FROM range"), 0)
        mode = gpu_support.scalar(database, "SELECT value FROM run_info WHERE key = 'mode'")
        self.assertEqual(mode, "light")

    # ---- the program's own words ----

    def test_marked_steps_are_the_steps(self):
        script = XLATRACE_H + "for n in range(6):\n    mark(100 + n); launch(f'k{n}', 3); sync()\n"
        database = self.recorded(script)
        self.assertEqual(len(self.missing), 0)
        marks = gpu_support.rows_of(database, "SELECT number FROM x_step_mark ORDER BY 1")
        self.assertEqual([row["number"] for row in marks], [100, 101, 102, 103, 104, 105])

    def test_a_window_of_marked_steps(self):
        script = XLATRACE_H + "for n in range(20):\n    mark(n); launch(f'k{n}', 3)\nsync()\n"
        database = self.recorded(script, XLATRACE_STEPS="7:9")
        self.assertEqual(self.names(database), ["k7"] * 3 + ["k8"] * 3)

    def test_pause_and_resume(self):
        script = XLATRACE_H + (
            "xlatrace('pause'); start(); launch('no', 9)\n"
            "assert xlatrace('is_recording') in (0, None)\n"
            "xlatrace('resume'); launch('yes', 50)\n"
            "assert xlatrace('is_recording') in (1, None)\n"
            "xlatrace('pause'); launch('no', 9); xlatrace('resume'); launch('again', 7); sync()\n"
        )
        database = self.recorded(script)
        self.assertEqual(self.names(database), ["again"] * 7 + ["yes"] * 50)
        self.assertEqual({row["name"] for row in self.missing}, {"no"})

    def test_pause_by_one_thread_while_others_launch(self):
        """Recorded work has its call, other work has none, for any event in between."""
        script = XLATRACE_H + (
            "start()\n"
            "rounds, over = [0] * 4, False\n"
            "def work(n):\n"
            "    start()\n"
            "    while not over: launch(f't{n}', 5); rounds[n] += 1\n"
            "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
            "[t.start() for t in threads]\n"
            "def a_whole_round():\n"
            "    before = list(rounds)\n"
            "    while max(now - was for now, was in zip(rounds, before)) < 2: time.sleep(.001)\n"
            "for _ in range(50): xlatrace('pause'); a_whole_round(); xlatrace('resume')\n"
            "over = True\n"
            "[t.join() for t in threads]; sync()\n"
        )
        database = self.recorded(script, XLATRACE_FLUSH_MS="10")
        without = gpu_support.scalar(
            database, "SELECT count(*) FROM activity WHERE api_call_id IS NULL"
        )
        self.assertEqual(without, 0)
        self.assertTrue(self.missing)

    def test_the_c_header(self):
        """Compiles as C and C++ with every warning; calls do nothing without xlatrace."""
        header = pathlib.Path(__file__).resolve().parents[2] / "include" / "xlatrace.h"
        source = (
            f'#include "{header}"\n#include <stdio.h>\n'
            "int main(void) { xlatrace_pause(); xlatrace_mark_step(3); xlatrace_resume();\n"
            '  printf("%d\\n", xlatrace_is_recording()); return 0; }\n'
        )
        for compiler, name in (("cc", "t.c"), ("c++", "t.cc")):
            (self.folder / name).write_text(source)
            command = [compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", name, "-o", "t"]
            try:
                subprocess.run([*command, "-ldl"], cwd=self.folder, check=True)
            except FileNotFoundError:
                self.skipTest(f"no {compiler}")
            self.assertEqual(self.alone([self.folder / "t"]).stdout, "0\n")
            traced = self.preloaded([self.folder / "t"])
            self.assertEqual((traced.code, traced.stdout, traced.stderr), (0, "0\n", ""))

    def test_the_python_example(self):
        example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mark_steps.py"
        self.assertEqual(self.preloaded(["python3", example]).code, 0)

    # ---- by the clock ----

    # Early work is within the first milliseconds if all of it ended before them. The window itself moves
    # until the collector's thread applies it, which the program can query.
    EARLY_AND_LATE = XLATRACE_H + (
        "begin = time.time()\n"
        "launch('early', 9); sync()\n"
        "fast = time.time() - begin < float(sys.argv[1])\n"
        "while xlatrace('is_recording') != int(sys.argv[2]): time.sleep(.01)\n"
        "launch('late', 5); sync()\n"
        "print('fast' if fast else 'slow')\n"
    )

    def early_and_late(self, seconds, recording, run):
        """Names in the run, from a try without a delay by the machine: each try gives the program twice the
        time of the previous one."""
        while seconds < support.HANG_S:
            self.setUp()
            (self.folder / "script.py").write_text(self.EARLY_AND_LATE)
            command = ["python3", self.folder / "script.py", str(seconds), str(recording)]
            result = run(command, seconds)
            self.assertEqual(result.code, 0, result)
            if "fast" in result.stdout:
                return self.names(self.fold())
            seconds *= 2
        self.fail("a process that launches nine kernels hangs")

    def test_delay_skips_early_launches(self):
        names = self.early_and_late(
            0.5, 1, lambda command, seconds: self.preloaded(
                command, XLATRACE_DELAY_MS=str(int(1000 * seconds)))
        )
        self.assertEqual(names, ["late"] * 5)

    def test_duration_skips_late_launches(self):
        names = self.early_and_late(
            0.4, 0, lambda command, seconds: self.preloaded(
                command, XLATRACE_DURATION_MS=str(int(1000 * seconds)))
        )
        self.assertEqual(names, ["early"] * 9)

    def test_record_passes_delay_and_duration_on(self):
        names = self.early_and_late(
            0.5,
            1,
            lambda command, seconds: self.xlatrace(
                "record", "--delay", str(seconds), "--", *command, env=self.environment(False)
            ),
        )
        self.assertEqual(names, ["late"] * 5)
        facts = gpu_support.rows_of(self.work / "run.db", "SELECT key, value FROM run_info")
        (delay,) = [row["value"] for row in facts if row["key"] == "recorded_delay_ms"]
        self.assertEqual(int(delay) % 500, 0)

    # ---- xlatrace control ----

    WAITS = XLATRACE_H + (
        "launch('before', 5); sync(); print('go', flush=True)\n"
        "for word in ('stopped', 'again'):\n"
        "    sys.stdin.readline(); launch(word, 4); sync(); print('did', flush=True)\n"
        "sys.stdin.readline()\n"
    )

    def start_interactive(self, script, **environment):
        process = subprocess.Popen(
            self.command(script),
            cwd=self.work,
            env=self.environment(**environment),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        self.assertEqual(process.stdout.readline(), "go\n")
        self.wait_for_rows(1, gpu_support.FACTS)  # the writer thread's first act
        return process

    def tell(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "did\n")

    def test_control_stops_and_starts_recording(self):
        process = self.start_interactive(self.WAITS, XLATRACE_FLUSH_MS="20")
        status = self.xlatrace("control", "run.rec", "status", *PATIENT)
        self.assertIn(f"process {process.pid} on", status.stdout)
        self.assertIn("recording", status.stdout)
        stopped = self.xlatrace("control", "run.rec", "stop", *PATIENT)
        self.assertEqual((stopped.code, "stopped" in stopped.stdout), (0, True), stopped)
        self.tell(process)
        started = self.xlatrace("control", "run.db", "start", "--format", "json", *PATIENT)
        (live,) = json.loads(started.stdout)["live"]
        self.assertEqual((live["pid"], live["state"]), (process.pid, "recording"))
        self.tell(process)
        out, _ = process.communicate("\n", timeout=support.HANG_S)
        self.assertEqual((process.returncode, out), (0, ""))
        self.assertEqual(self.names(self.fold()), ["again"] * 4 + ["before"] * 5)
        self.assertEqual(gpu_support.run_stats(self.work / "run.db", *LOST), [])
        ended = self.xlatrace("control", "run.rec", "stop")
        self.assertEqual((ended.code, len(ended.errors)), (1, 1), ended)
        status = json.loads(self.xlatrace("control", "run.rec", "status", "--format", "json").stdout)
        self.assertEqual((status["live"], status["ended"]), ([], 1))
        self.assert_golden_text(self.xlatrace("control", "run.rec", "status").stdout)

    def test_control_before_the_first_row(self):
        """The folder is there without a recording process: an order applies to the next process."""
        (self.work / "run.rec").mkdir()
        (self.work / "run.rec" / "job").write_text("mine\n")
        late = self.xlatrace("control", "run.rec", "stop", "--timeout", "0.1")
        self.assertEqual((late.code, len(late.errors)), (1, 1), late)
        self.assert_golden_text(late.stderr)
        control = subprocess.Popen(
            [support.PROGRAM, "control", "run.rec", "stop", *PATIENT],
            cwd=self.work,
            env=support.environment(),
            stdout=subprocess.PIPE,
        )
        self.addCleanup(lambda: (control.kill(), control.communicate()))
        process = self.start_interactive(self.WAITS, XLATRACE_FLUSH_MS="20", XLATRACE_JOB="mine")
        out, _ = control.communicate(timeout=support.HANG_S)
        self.assertEqual((control.returncode, b"stopped" in out), (0, True), out)
        self.tell(process)
        self.tell(process)
        process.communicate("\n", timeout=support.HANG_S)
        self.assertLessEqual(set(self.names(self.fold())), {"before"})

    def test_control_rejects_a_file_that_is_no_recording(self):
        for path in (".", "nothing.rec", "/dev/null"):
            result = self.xlatrace("control", path, "stop")
            self.assertEqual((result.code, len(result.errors)), (1, 1), result)
        self.assertEqual(self.xlatrace("control", "run.rec", "restart").code, 2)

    def test_control_of_a_run_that_has_ended(self):
        self.assertEqual(self.preloaded("launch k x 3; sync").code, 0)
        database = self.fold()
        shutil.rmtree(self.work / "run.rec")
        messages = ""
        for name in (database.name, database.with_suffix(".rec").name):
            result = self.xlatrace("control", name, "stop")
            self.assertEqual((result.code, len(result.errors), len(result.hints)), (1, 1, 1), result)
            self.assertIn(f"xlatrace summary {database.name}", result.hints[0])
            messages += result.stderr
        self.assert_golden_text(messages)

    def test_control_of_a_framework_s_own_profiler(self):
        """As python/xlatrace_hook leaves it while the script runs."""
        pid = os.getpid()
        process = self.work / "run.rec" / f"{pid}-0"
        process.mkdir(parents=True)

        def status(name="run.rec", **told):
            (process / "status.json").write_text(json.dumps({"pid": pid, "framework": "jax", **told}))
            result = self.xlatrace("control", name, "status")
            self.assertEqual(result.code, 0, result)
            states.append(result.stdout)
            return result.stdout

        states = []
        failed = status(started=True, start_error="no\x1b[31m memory\n")
        self.assertIn(f" {pid}", failed)
        self.assertNotIn("\x1b", failed)
        self.assertEqual(failed.count("\n"), 1)
        status(started=True, pid=2**22 + 1)
        as_json = json.loads(self.xlatrace("control", "run.rec", "status", "--format", "json").stdout)
        self.assertEqual([row["framework"] for row in as_json["profilers"]], ["jax"])
        for name in ("run.rec", "run.db"):
            status(name, started=True)
            result = self.xlatrace("control", name, "stop")
            self.assertEqual((result.code, len(result.errors)), (1, 1), result)
            self.assertIn("--delay", result.hints[0])
        self.assert_golden_text("".join(states), masks=[(rf"\b({pid}|{2**22 + 1})\b", "PID")])

    def test_garbage_in_the_control_file_is_ignored(self):
        process = self.start_interactive(self.WAITS, XLATRACE_FLUSH_MS="20")
        for garbage in ("stop", "stop \n", "stop -1\n", "halt 3\n", "stop 99999999999999999999\n"):
            (self.work / "run.rec" / "control").write_text(garbage)
            time.sleep(0.1)
        self.tell(process)
        self.tell(process)
        process.communicate("\n", timeout=support.HANG_S)
        self.assert_equals_truth(self.fold())

    def test_record_removes_what_control_wrote(self):
        script = PYTHON + (
            "launch('k', 5); sync()\n"
            f"import subprocess; e = dict(os.environ); e.pop('LD_PRELOAD', None)\n"
            f"subprocess.run([{os.environ.get('XLATRACE_BIN', '')!r}, 'control', 'run.rec', 'stop', '--timeout', '200'],"
            " env=e, stdout=subprocess.DEVNULL, check=True)\n"
            "launch('no', 5); sync()\n"
        )
        result = self.xlatrace(
            "record",
            "--",
            *self.command(script),
            env=self.environment(False, XLATRACE_FLUSH_MS="20"),
        )
        self.assertEqual(result.code, 0, result)
        self.assertEqual(self.names(self.work / "run.db"), ["k"] * 5)
        self.assertFalse((self.work / "run.rec").exists())

    # ---- the ring ----

    def wait_for_dropped(self):
        """Until the ring has let go of something."""

        def dropped():
            for file in (self.work / "run.rec").glob("*.rec"):
                for kind, _, payload in gpu_support.blocks(file):
                    if kind == gpu_support.STATS and b"ring_blocks_dropped" in payload:
                        return True
            return False

        self.wait_until("the ring drops something", dropped)

    def test_ring_keeps_only_the_last_window(self):
        script = PYTHON + (
            "n = 0\n"
            "while not os.path.exists('stop'): launch(f'k{n}', 20); sync(); n += 1; time.sleep(.05)\n"
        )
        process = self.started(script, XLATRACE_LAST_MS="400", XLATRACE_FLUSH_MS="20")
        self.wait_for_dropped()
        time.sleep(0.6)
        (self.work / "stop").touch()
        process.communicate(timeout=support.HANG_S)
        gone = time.time_ns()  # nothing is let go of later than that
        self.assertEqual(process.returncode, 0)
        database = self.fold()
        self.assertEqual(gpu_support.run_stats(database, *LOST), [])
        have = {int(name[1:]) for name in self.names(database)}
        (truth,) = self.truths().values()
        rounds = {}  # when each one ended
        for row in truth:
            rounds[int(row["name"][1:])] = int(row["end_ns"])
        last = max(rounds)
        # At least the last 0.4 s, and not the beginning.
        must = {n for n, end in rounds.items() if end >= gone - 400_000_000}
        self.assertTrue(must <= have, (must, have))
        self.assertNotIn(0, have)
        told = gpu_support.run_stats(database, "notice")
        self.assertEqual(have, set(range(min(have), last + 1)), told)
        # A flush in the middle of a round may have ended a segment there.
        whole = [name for name in self.names(database) if name != f"k{min(have)}"]
        self.assertEqual(len(whole), 20 * (len(have) - 1))

    def test_ring_of_a_killed_process_can_be_imported(self):
        script = "launch k; sync; print go; rate 5000; forever { launch k x 8; copy dtod 64 }"
        process = self.started(script, XLATRACE_LAST_MS="300", XLATRACE_FLUSH_MS="20")
        self.assertEqual(process.stdout.readline(), b"go\n")
        self.wait_for_dropped()
        process.kill()
        process.communicate(timeout=support.HANG_S)
        gone = time.time_ns()
        database = self.fold()
        (recording,) = (self.work / "run.rec").glob("*.rec")
        flushed = gpu_support.flushed_until(recording)
        missing, invented = gpu_support.compare_sets(database, self.truths())
        self.assertEqual(invented, [])
        ends = [int(row["end_ns"]) for row in missing]
        self.assertEqual([e for e in ends if gone - 300_000_000 < e < flushed], [])
        self.assertTrue([e for e in ends if e < gone - 300_000_000])

    # ---- whole graphs, waiting ----

    GRAPHS = "graph G { launch g x 5; copy dtod 8 }\nrepeat 4 { run G; launch k; sync }"

    def test_whole_graphs(self):
        traced = self.preloaded(self.GRAPHS, XLATRACE_GRAPHS="graph")
        self.assert_unharmed(traced, self.alone(self.GRAPHS))
        database = self.fold()
        kinds = gpu_support.rows_of(
            database, "SELECT kind, count(*) n FROM activity GROUP BY 1 ORDER BY 1"
        )
        self.assertEqual([(r["kind"], r["n"]) for r in kinds], [("graph", 4), ("kernel", 4)])
        self.assertEqual(gpu_support.run_stats(database, *LOST), [])
        reasons = gpu_support.rows_of(
            database, "SELECT DISTINCT unattributed_reason r FROM activity WHERE kind = 'graph'"
        )
        self.assertEqual(len(reasons), 1)
        self.assertIsNotNone(reasons[0]["r"])

    def test_where_the_host_waits(self):
        database = self.recorded(self.GRAPHS, XLATRACE_SYNC="1")
        waits = gpu_support.rows_of(
            database,
            "SELECT name, end_ns - start_ns ns FROM api_call WHERE name LIKE '%Synchronize%'",
        )
        self.assertEqual(len(waits), 4)
        self.assertTrue(all(row["ns"] > 0 for row in waits))
        self.assertEqual(self.missing, [])

    def test_dumps_have_a_folder_per_process(self):
        show = "print(os.environ['XLA_FLAGS'], os.getpid(), flush=True)"
        script = PYTHON + (
            f"import subprocess\n{show}\n"
            f"subprocess.run([sys.executable, '-c', {('import os; ' + show)!r}])\n"
            "launch('k'); sync()\n"
        )
        result = self.xlatrace(
            "record",
            "--dump",
            "on",
            "--",
            *self.command(script),
            env=self.environment(False, XLA_FLAGS="--xla_user=1"),
        )
        for line in result.stdout.splitlines():
            flags, pid = line.rsplit(" ", 1)
            words = flags.split()
            self.assertIn("--xla_user=1", words)
            self.assertIn(f"--xla_dump_to={self.work}/run.dump/{pid}", words)
            self.assertEqual(len([w for w in words if w.startswith("--xla_dump_to=")]), 1)
        self.assertEqual(len(result.stdout.splitlines()), 2)
        own = "--xla_dump_to=/tmp/mine"
        for option in ("on", "off"):
            result = self.xlatrace(
                "record",
                "--dump",
                option,
                "--",
                *self.command(PYTHON + "print(os.environ.get('XLA_FLAGS')); launch('k'); sync()"),
                env=self.environment(False, XLA_FLAGS=own),
            )
            self.assertEqual(result.stdout.strip(), own)


class Limits(gpu_support.GpuTestCase):
    def test_size_limit_applies_to_the_job(self):
        """Three processes share it; lost records are reported."""
        script = "repeat 100 { launch kernel x 1000 }; sync"
        commands = " & ".join(
            " ".join(f"'{word}'" for word in self.command(script)) for _ in range(3)
        )
        limit = 2 << 20
        traced = self.preloaded(
            ["sh", "-c", commands + " & wait"],
            XLATRACE_MAX_BYTES=limit,
            XLATRACE_FLUSH_MS="20",
            FAKE_GPU_TIME_SCALE="0.001",
        )
        self.assertEqual(traced.code, 0, traced)
        used = sum(p.stat().st_size for p in (self.work / "run.rec").glob("*.rec"))
        self.assertLess(used, 2 * limit)
        self.assertGreater(used, limit // 2)
        database = self.fold()
        self.assertGreater(gpu_support.loss(database), 0)
        advice = "\n".join(r["advice"] or "" for r in gpu_support.run_stats(database, "data_loss"))
        self.assertIn(f"{limit}", advice)


if __name__ == "__main__":
    unittest.main()
