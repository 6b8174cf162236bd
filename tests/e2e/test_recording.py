# SPDX-License-Identifier: Apache-2.0
"""Recording a program that uses a GPU (the fake one), and folding what it left: preloaded by hand
and by `xlatrace record`."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import gpu_truth
import support
from preload_name import preload_name  # in tests/, on the path that support sets

BUILD = pathlib.Path(support.PROGRAM).resolve().parents[1] if support.PROGRAM else pathlib.Path("/")
FAKES = BUILD / "fake_gpu"
LIBRARY = BUILD / "lib" / "libxlatrace.so"

# Two steps: two launches and a copy under thunks, then a graph with the same two kernels.
STEPS = """
init
executable jit_f 7 {
  op p.1 hlo "p.1 = f32[8]{0} parameter(0)"
  op add.3 name "jit(f)/add" hlo "add.3 = f32[8]{0} add(p.1, p.1), metadata={op_name='jit(f)/jvp(layer)/add'}"
  op mul.4 name "jit(f)/mul" hlo "mul.4 = f32[8]{0} multiply(add.3, p.1), metadata={op_name='jit(f)/transpose(jvp(layer))/mul'}"
}
module jit_f 7 {
  graph g {
    thunk add.3 { launch loop_add }
    thunk mul.4 { launch loop_mul }
  }
}
repeat 2 {
  module jit_f 7 {
    thunk add.3 { launch loop_add }
    thunk mul.4 { launch loop_mul; copy htod 4096 }
    run g
  }
}
sync
"""
TRUTH = [
    ("kernel", "loop_add", "add.3", "range", "exact"),
    ("kernel", "loop_mul", "mul.4", "range", "exact"),
    ("memcpy", "MemcpyH2D", "mul.4", "range", "exact"),
    ("kernel", "loop_add", "add.3", "graph_node", "exact"),
    ("kernel", "loop_mul", "mul.4", "graph_node", "exact"),
] * 2
ROWS = (
    "SELECT kind, name, instruction, evidence, confidence FROM activity "
    "ORDER BY process_id, start_ns"
)


class RecordingTest(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not (FAKES / "libcuda.so.1").exists() or not LIBRARY.exists():
            raise unittest.SkipTest("no fake GPU or no collector in this build (no CUDA headers)")

    def environment(self, **changes):
        return support.environment(
            **{"LD_LIBRARY_PATH": str(FAKES), "XLATRACE_FORCE_COLLECTOR": "1", **changes}
        )

    def script(self, text):
        path = self.folder / "script.txt"
        path.write_text(text)
        return [str(FAKES / "fake_workload"), str(path)]

    def preload(self, command, **changes):
        return support.run_command(
            command, cwd=self.folder, env=self.environment(LD_PRELOAD=preload_name(LIBRARY), **changes)
        )

    def record(self, *words, **changes):
        return self.run_program("record", *words, env=self.environment(**changes))

    def query(self, sql, run="run.db"):
        result = self.run_program("query", run, sql, "--format", "json")
        self.assertEqual(result.code, 0, result)
        return [tuple(row.values()) for row in json.loads(result.stdout)["rows"]]

    def start(self, command):
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(LD_PRELOAD=preload_name(LIBRARY), XLATRACE_FLUSH_MS="50"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process

    def wait_for_more_than(self, count):
        """Folds what there is until it holds more activities than that; the number it then holds."""
        deadline = time.monotonic() + support.HANG_S
        while time.monotonic() < deadline:
            result = self.run_program(
                "query", "run.db", "SELECT count(*) AS n FROM activity", "--format", "json"
            )
            if result.code == 0:
                found = json.loads(result.stdout)["rows"][0]["n"]
                if found > count:
                    return found
        self.fail(f"never more than {count} activities: {result}")

    def test_summary_imports_a_preloaded_recording(self):
        result = self.preload(self.script(STEPS + "print hello\n"))
        self.assertEqual((result.code, result.stdout), (0, "hello\n"), result)
        self.assertTrue((self.folder / "run.rec").is_dir())
        summary = self.run_program("summary", "run.db")
        self.assertEqual(summary.code, 0, summary)
        self.assertIn("jit(f)", summary.stdout + str(self.query("SELECT op_name FROM op_time")))
        self.assertEqual(self.query(ROWS), TRUTH)
        before = (self.folder / "run.db").stat().st_mtime_ns
        again = self.run_program("summary", "run.rec")
        self.assertEqual(again.stdout, summary.stdout)
        self.assertEqual((self.folder / "run.db").stat().st_mtime_ns, before)

    def test_record_gives_the_same_run_and_cleans_up(self):
        result = self.record("--", *self.script(STEPS + "print hello\nexit 3\n"))
        self.assertEqual((result.code, result.stdout), (3, "hello\n"), result)
        self.assertEqual(self.query(ROWS), TRUTH)
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir()), ["run.db", "script.txt"], result
        )
        self.assertRegex(result.stderr, r"xlatrace summary \S*run\.db")

    def test_every_execution_is_known(self):
        self.record("--", *self.script(STEPS))
        self.assertEqual(self.query("SELECT count(*) FROM execution"), [(2,)])
        self.assertEqual(
            self.query("SELECT count(*) FROM activity WHERE execution_id IS NULL"), [(0,)]
        )

    def test_phases_come_from_the_registered_strings(self):
        self.record("--", *self.script(STEPS))
        self.assertEqual(
            self.query("SELECT instruction, phase FROM op_time ORDER BY instruction"),
            [("add.3", "forward"), ("mul.4", "backward")],
        )
        self.assertEqual(
            self.query("SELECT name, program_id, source FROM module"), [("jit_f", 7, "nvtx")]
        )

    def test_killed_program_folds_and_its_recording_stays(self):
        waits = f'system "while [ ! -e {self.folder}/go-on ]; do sleep 0.05; done"'
        command = self.script(f"{STEPS}{waits}\nsegv\n")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            recorded = pool.submit(self.record, "--", *command, XLATRACE_FLUSH_MS="50")
            try:
                self.wait_for_a_flush_of_all()
            finally:
                (self.folder / "go-on").touch()
            result = recorded.result()
        self.assertEqual(result.code, 128 + signal.SIGSEGV, result)
        self.assertIn(f"{self.folder}/run.rec", result.stderr)
        host = rf"\b{re.escape(os.uname().nodename)}\b"
        self.assert_golden_text(result.stderr, masks=[(host, "HOST"), (r"\b\d[\d,.]* [num]?s\b", "# ms"), (r"process \d+", "process PID")])
        self.assertTrue((self.folder / "run.rec").is_dir())
        self.assertEqual(self.query(ROWS), TRUTH)
        self.assertEqual(
            self.query("SELECT severity FROM run_stat WHERE name = 'process_killed'"),
            [("notice",)],
        )

    def wait_for_a_flush_of_all(self):
        def recordings():
            return list(self.folder.glob("run.rec/*.rec"))

        self.wait_until(
            "all activities", lambda: sum(map(gpu_truth.rows_in, recordings())) >= len(TRUTH)
        )
        now = time.time_ns()
        self.wait_until(
            "a flush after that",
            lambda: any(gpu_truth.flushed_until(file) > now for file in recordings()),
        )

    def test_running_program_gives_a_part_then_more(self):
        process = self.start(self.script("init\nlaunch a x 10\nsync\nprint go\nforever { launch b; sync; sleep 5 }\n"))
        self.assertEqual(process.stdout.readline(), b"go\n")
        some = self.wait_for_more_than(10)
        part = self.run_program("summary", "run.db")
        self.assertEqual(part.code, 0, part)
        # A launch may be under way when the part is read.
        causes = {cause for (cause,) in self.query("SELECT cause FROM loss")}
        self.assertEqual(causes - {"unfinished"}, {"running"})
        self.wait_for_more_than(some)
        process.kill()
        process.wait()
        self.run_program("summary", "run.db")
        self.assertEqual(
            self.query("SELECT name FROM run_stat WHERE name LIKE 'process_%'"),
            [("process_killed",)],
        )
        self.assertFalse((self.folder / "run.old.db").exists())

    def test_processes_of_one_job_are_one_run(self):
        first = self.start(self.script("init\nlaunch a x 3\nsync\nprint go\nsleep 200\n"))
        self.assertEqual(first.stdout.readline(), b"go\n")
        first.wait()
        # Started by itself, of the same job.
        token = (self.folder / "run.rec" / "job").read_text().splitlines()[0]
        self.preload(self.script("init\nlaunch b x 4\nsync\n"), XLATRACE_JOB=token)
        self.assertEqual(
            self.query("SELECT name, count(*) FROM activity GROUP BY name ORDER BY name"),
            [("a", 3), ("b", 4)],
        )
        self.assertEqual(self.query("SELECT count(*) FROM process"), [(2,)])

    def test_earlier_run_is_kept(self):
        self.record("--", *self.script("init\nlaunch a\nsync\n"))
        second = self.record("--", *self.script("init\nlaunch b x 2\nsync\n"))
        self.assertIn("run.old.db", second.stderr)
        self.assertEqual(self.query("SELECT name FROM activity", "run.old.db"), [("a",)])
        self.assertEqual(self.query("SELECT name FROM activity"), [("b",), ("b",)])

    def test_program_without_gpu_work_leaves_an_error_and_no_file(self):
        result = self.record("--", "true")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(len(result.errors), 1, result)
        self.assert_golden_text(result.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [])

    def test_exit_codes_of_what_cannot_run(self):
        self.assertEqual(self.record("--", "/nonexistent/program").code, 127)
        self.assertEqual(self.record("--", str(self.folder)).code, 126)
        self.assertEqual(self.record("-o", "/proc/nope/run.db", "--", "true").code, 125)
        self.assertEqual([path.name for path in self.folder.iterdir()], [])

    def test_signal_ends_with_its_number(self):
        result = self.record("--", *self.script("init\nlaunch a\nsync\nkill 15\n"))
        self.assertEqual(result.code, 128 + signal.SIGTERM, result)
        self.assertEqual(self.query("SELECT name FROM activity"), [("a",)])

    def test_lib_prints_the_library(self):
        result = self.run_program("lib")
        self.assertEqual(pathlib.Path(result.stdout.rstrip("\n")).resolve(), LIBRARY, result)
        if " " not in str(LIBRARY):
            self.assertEqual(result.stdout, f"{LIBRARY}\n", result)
        elsewhere = self.run_program("lib", env=support.environment(XLATRACE_LIB="/nonexistent"))
        self.assertEqual(elsewhere.code, 1)
        self.assertEqual(len(elsewhere.hints), 1, elsewhere)

    def test_users_preload_is_kept(self):
        result = self.record(
            "--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libm.so.6"
        )
        self.assertIn("libm.so.6", result.stdout)
        first, _, second = result.stdout.strip().partition(":")
        self.assertEqual(pathlib.Path(first).resolve(), LIBRARY, result)
        self.assertEqual(second, "/usr/lib/x86_64-linux-gnu/libm.so.6", result)


if __name__ == "__main__":
    unittest.main()
