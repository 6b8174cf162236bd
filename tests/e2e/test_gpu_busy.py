# SPDX-License-Identifier: Apache-2.0
"""Kills and hangs of programs whose GPU is never idle, of which a plain flush returns no partly filled
buffer."""

import json
import unittest

import gpu_support
import support

# Records of a kernel are 216 bytes in CUDA 13.0, and the first buffer of a thread has 32 KB.
FIRST_BUFFER_RECORDS = (32 << 10) // 216 + 1
DONE = 400


class NeverIdle(gpu_support.GpuTestCase):
    SCRIPT = f"launch done x {DONE}; launch endless; print go; sleep 600000"
    SCENARIO = "kernel endless times 1000000000\n"

    def start(self, **environment):
        process = self.started(
            self.SCRIPT, scenario=self.SCENARIO, XLATRACE_FLUSH_MS="20", **environment
        )
        self.wait_until_recording(process)
        return process

    def missing(self, process):
        """Kernels that had ended and are not in the run of the killed process."""
        process.kill()
        process.communicate(timeout=support.HANG_S)
        missing, invented = gpu_support.compare_sets(self.fold(), self.truths())
        self.assertEqual(invented, [])
        return [row for row in missing if row["name"] == "done"]

    def rows(self, name):
        return [
            row
            for row in gpu_support.recorded_rows(self.work / "run.db")
            if row["kernel_symbol"] == name
        ]

    def test_kill_loses_at_most_one_buffer_per_thread(self):
        process = self.start(XLATRACE_STALL_MS="0")
        self.wait_for_flushes(self.work / "run.rec", 3)
        missing = self.missing(process)
        self.assertLessEqual(len(missing), FIRST_BUFFER_RECORDS)
        (ending,) = gpu_support.rows_of(self.work / "run.db", "SELECT * FROM process")
        self.assertGreaterEqual(ending["lost_at_least"], len(missing) + 1)

    def test_program_that_hangs_is_flushed_by_force(self):
        process = self.start(XLATRACE_STALL_MS="50")
        self.wait_for_rows(DONE + 1)
        self.assertEqual(self.missing(process), [])
        (endless,) = self.rows("endless")
        self.assertIsNotNone(endless["start_ns"])
        self.assertIsNone(endless["end_ns"])

    def test_program_that_works_is_not_flushed_by_force(self):
        process = self.started(
            "launch k; sync; print go; rate 2000; forever { launch k }", XLATRACE_FLUSH_MS="20"
        )
        self.wait_until_recording(process)
        self.wait_for_flushes(self.work / "run.rec", 10)
        self.missing(process)
        forced = "SELECT count(*) FROM run_stat WHERE name = 'collector_forced_flushes'"
        self.assertEqual(gpu_support.scalar(self.work / "run.db", forced), 0)

    def test_control_flush_brings_all_that_has_ended(self):
        process = self.start(XLATRACE_STALL_MS="0")
        self.wait_for_flushes(self.work / "run.rec", 3)
        answer = self.xlatrace("control", "run.rec", "flush", "--format", "json", "--timeout", "60")
        self.assertEqual(answer.code, 0, answer)
        (live,) = json.loads(answer.stdout)["live"]
        self.assertEqual((live["pid"], live["state"]), (process.pid, "recording"))
        self.assertEqual(self.missing(process), [])
        self.assertEqual(len(self.rows("endless")), 1)

    def test_control_flush_does_not_start_a_stopped_recording(self):
        self.start(XLATRACE_STALL_MS="0")
        for order, state in (("stop", "stopped"), ("flush", "stopped"), ("start", "recording")):
            answer = self.xlatrace("control", "run.rec", order, "--format", "json", "--timeout", "60")
            (live,) = json.loads(answer.stdout)["live"]
            self.assertEqual(live["state"], state, order)


if __name__ == "__main__":
    unittest.main()
