# SPDX-License-Identifier: Apache-2.0
"""The collector under programs that launch from many threads, make graphs, fork and use every kind of exit,
without the preload. The sanitizer builds run these tests. A sanitizer's report ends the program with its
own exit status. The collector's counts are compared with the log of the fake driver, of all processes."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "fake_gpu"))
import driver  # noqa: E402, of the fake GPU

LIB = Path(os.environ.get("XLATRACE_LIB_DIR", "."))
FAKE = Path(os.environ.get("XLATRACE_FAKE_GPU", "."))
COLLECTOR = LIB / "libxlatrace_collector.so"
WORKLOAD = FAKE / "fake_workload"


@unittest.skipUnless(COLLECTOR.exists() and WORKLOAD.exists(), "collector or fake GPU not built")
class WorkloadTest(unittest.TestCase):
    def run_script(self, script, status=0, whole=True, kept=None, **environment):
        """Launches that were recorded, of all processes. `whole`: all of the fake driver's log. `kept`
        sees the bytes of each recording."""
        with tempfile.TemporaryDirectory() as folder:
            env = {k: v for k, v in os.environ.items() if not k.startswith("XLATRACE")}
            env.update(LD_LIBRARY_PATH=str(FAKE), CUDA_INJECTION64_PATH=str(COLLECTOR),
                       NVTX_INJECTION64_PATH=str(COLLECTOR), XLATRACE_FLUSH_MS="20",
                       FAKE_GPU_TIME_SCALE="0.05", FAKE_GPU_LOG=os.path.join(folder, "truth"),
                       # Driver and collector live as long as the process and destroy nothing.
                       ASAN_OPTIONS="detect_leaks=0", **environment)
            done = subprocess.run([str(WORKLOAD), "-e", script], cwd=folder, env=env, timeout=300,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stderr[-4000:])
            self.assertNotIn("Sanitizer", done.stderr)
            self.assertNotIn("runtime error", done.stderr)
            executed = len(driver.read_truth(os.path.join(folder, "truth")))
            recorded = sum(int(said.replace(",", "")) for said in re.findall(
                r"^xlatrace: ([\d,]+) launch", done.stderr, re.MULTILINE))
            self.assertGreater(executed, 0)
            self.assertLessEqual(recorded, executed, done.stderr)
            if whole:
                self.assertEqual(recorded, executed, done.stderr)
            if kept:
                kept([path.read_bytes() for path in Path(folder).rglob("*.rec") if path.is_file()])
            return recorded

    def test_threads_that_launch_at_once(self):
        launches = self.run_script(
            "threads 8 { repeat 500 { module m 1 { thunk op%t { launch k%t on s%t } } } }; sync")
        self.assertEqual(launches, 4000)

    def test_threads_that_come_and_go(self):
        self.assertEqual(
            self.run_script("repeat 40 { threads 4 { launch a x 5 on s%t } }; sync"), 800)

    def test_graphs_made_updated_and_run_while_others_launch(self):
        launches = self.run_script(
            "threads 3 { module m 1 { graph g%t { thunk a { launch a }; thunk b { launch b } } };"
            " repeat 100 { run g%t on s%t; update g%t 1 launch c; launch d on s%t } }; sync")
        self.assertEqual(launches, 3 * 100 * 3)

    def test_strings_registered_from_many_threads(self):
        # NVTX's header initialises itself without a lock; its first use is the main thread's here.
        def every_text_once(recordings):
            bytes_ = b"".join(recordings)
            for thread in range(6):
                for number in (0, 1, 17, 198, 199):
                    self.assertIn(b"text%d.%d" % (thread, number), bytes_)

        self.assertEqual(self.run_script(
            "range first { }; threads 6 { repeat 200 { range text%t.%r { launch a on s%t } } }; sync",
            kept=every_text_once), 6 * 200)

    def test_end_while_threads_still_launch(self):
        self.assertEqual(
            self.run_script("threads 2 { repeat 3000 { launch a on s%t } }; exit 3", status=3), 6000)

    def test_forks_go_on_in_both(self):
        self.assertEqual(
            self.run_script("launch a x 10; sync; fork { exit }; launch a x 10; sync"), 20)
        self.assertEqual(self.run_script("fork { launch b x 3; sync }; launch a x 10; sync"), 13)

    def test_a_window_of_steps_over_many_threads(self):
        # One device: its steps are counted for all threads. The file holds work beside the window, too
        # (collector/steering.h); tests/e2e/test_gpu_steering.py imports it.
        launches = self.run_script(
            "threads 6 { repeat 40 { module m 1 { thunk op { launch k x 3 on s%t } } } }; sync",
            whole=False, XLATRACE_STEPS="10:15")
        self.assertGreaterEqual(launches, 5 * 3)

    def test_windows_of_time_and_a_ring(self):
        # As above: the header's first use is the main thread's.
        script = "range first { }; threads 4 { repeat 300 { range r { launch k x 2 on s%t } } }; sync"
        # The number of launches in 5 ms depends on the machine, but the window must close. After it the
        # program continues until it has slept for longer than the window.
        ends = script + "; sleep 30; launch late x 400; sync"
        self.assertLessEqual(self.run_script(ends, whole=False, XLATRACE_DELAY_MS="3",
                                             XLATRACE_DURATION_MS="5"), 2400)
        # The ring always has the last of it.
        self.assertGreaterEqual(self.run_script(script, whole=False, XLATRACE_LAST_MS="2", XLATRACE_SYNC="1",
                                                XLATRACE_GRAPHS="graph"), 1)

    def test_a_flush_that_hangs_does_not_hold_the_program(self):
        with tempfile.NamedTemporaryFile("w", suffix=".scenario") as scenario:
            scenario.write("hang cuptiActivityFlushAll call 3\n")
            scenario.flush()
            self.assertEqual(self.run_script("repeat 5 { launch a x 100; sync; sleep 30 }",
                                             FAKE_GPU_SCENARIO=scenario.name), 500)


if __name__ == "__main__":
    unittest.main()
