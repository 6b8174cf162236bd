# SPDX-License-Identifier: Apache-2.0
"""Views of random runs against the same rows counted from the run itself: several formats, ranks, devices, streams.

The seeds change each hour. XLATRACE_VIEW_SEEDS=A:B repeats some.
"""

import collections
import gzip
import json
import os
import sqlite3
import sys
import time
import unittest

import support
import view_truth

sys.path.append(str(support.REPOSITORY / "tests/judgement/simulate"))
from machine import simulate  # noqa: E402
from recording import FORMATS, NSIGHT, OWN, record  # noqa: E402
from simulate import write_format  # noqa: E402

RUNS = 40 if support.LONG else 6
ITERATIONS = 8


def seeds():
    given = os.environ.get("XLATRACE_VIEW_SEEDS")
    if given:
        first, last = map(int, given.split(":"))
        return range(first, last)
    first = time.time_ns() // (3600 * 1_000_000_000) * 1_000
    return range(first, first + RUNS)


class GeneratedViews(support.TestCase):
    def test_views_have_the_rows_of_the_run(self):
        for seed in seeds():
            run = simulate(seed, most_iterations=ITERATIONS)
            for format in FORMATS:
                with self.subTest(seed=seed, format=format):
                    self.check(run, format)

    def check(self, run, format):
        folder = self.folder / f"{run.seed}.{format}"
        folder.mkdir()
        paths, _ = write_format(run, format, folder)
        recordings = [record(run, process, format) for process in run.processes]
        if not any(recording.work for recording in recordings):
            return  # A window without work of a device is refused.
        self.assertEqual(self.run_program("import", *paths, "-o", folder / "run.db").code, 0)
        self.database = sqlite3.connect(folder / "run.db")
        self.database.row_factory = sqlite3.Row
        self.addCleanup(self.database.close)
        self.read_places()
        self.check_activities(recordings)
        is_whole = not self.rows("SELECT 1 FROM loss")
        self.check_busy_times(recordings, is_whole)
        self.check_calls(recordings)
        self.check_gaps(recordings, is_whole)
        # A run of a program is not named if the recording began or ended in it.
        names_runs = format in (NSIGHT, OWN)
        self.check_ops(recordings, names_runs)
        if names_runs and (format == OWN or not (run.plan.cut_begin or run.plan.cut_end or run.plan.is_device_only)):
            self.check_executions(recordings)
        self.check_exports(folder / "run.db", recordings)

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def read_places(self):
        """Numbers the processes as the input has them; the device ids as (process, ordinal)."""
        self.process = {
            row[0]: n for n, row in enumerate(self.rows("SELECT process_id FROM process ORDER BY process_id"))
        }
        self.zero = dict(tuple(row) for row in self.rows("SELECT process_id, min(start_ns) FROM activity GROUP BY 1"))
        self.place = {
            row["device_id"]: (self.process[row["process_id"]], row["ordinal"])
            for row in self.rows("SELECT * FROM device")
        }
        self.device_zero = {
            row["device_id"]: self.zero.get(row["process_id"], 0) for row in self.rows("SELECT * FROM device")
        }

    def check_activities(self, recordings):
        got = collections.Counter(
            (
                *self.place[row["device_id"]],
                row["stream_id"] % 1_000,
                "kernel" if row["kind"] == "graph" else row["kind"],
                row["start_ns"] - self.zero[row["process_id"]],
                row["end_ns"] - self.zero[row["process_id"]],
                row["bytes"],
            )
            for row in self.rows("SELECT * FROM activity")
        )
        self.assertEqual(got, view_truth.activities(recordings))

    def check_busy_times(self, recordings, is_whole):
        want = view_truth.busy_times(recordings)
        rows = self.rows("SELECT * FROM busy_time")
        self.assertEqual({self.place[row["device_id"]] for row in rows}, set(want))
        for row in rows:
            zero = self.device_zero[row["device_id"]]
            got = {**row, "start_ns": row["start_ns"] - zero, "end_ns": row["end_ns"] - zero}
            expected = want[self.place[row["device_id"]]]
            if not is_whole:  # Idle time in a loss is none.
                self.assertLessEqual(got["idle_ns"], expected.pop("idle_ns"))
            self.assertEqual({key: got[key] for key in expected}, expected)

    def check_calls(self, recordings):
        want = view_truth.calls(recordings)
        for row in self.rows(
            "SELECT a.*, c.start_ns AS call_start, c.end_ns AS call_end FROM activity a"
            " JOIN api_call c USING (api_call_id)"
        ):
            zero = self.zero[row["process_id"]]
            self.assertIn(
                (row["call_start"] - zero, row["call_end"] - zero),
                want[(*self.place[row["device_id"]], row["start_ns"] - zero)],
            )

    def check_gaps(self, recordings, is_whole):
        got = collections.defaultdict(list)
        for row in self.rows(
            "SELECT g.*, p.end_ns AS before, n.start_ns AS after, p.device_id AS device_before,"
            " n.device_id AS device_after FROM gap g JOIN activity p ON p.activity_id ="
            " previous_activity_id JOIN activity n ON n.activity_id = next_activity_id"
            " ORDER BY g.device_id, g.start_ns"
        ):
            self.assertEqual((row["before"], row["after"]), (row["start_ns"], row["end_ns"]))
            self.assertEqual((row["device_before"], row["device_after"]), (row["device_id"],) * 2)
            zero = self.device_zero[row["device_id"]]
            got[self.place[row["device_id"]]].append((row["start_ns"] - zero, row["end_ns"] - zero))
        for device, want in view_truth.gaps(recordings).items():
            if is_whole:
                self.assertEqual(got[device], want)
            else:  # A loss interrupts some.
                self.assertLessEqual(set(got[device]), set(want))

    def check_ops(self, recordings, names_runs):
        """Labels, if the format has the program of a kernel, and times of ops."""
        if any(work.graph for recording in recordings for work in recording.work):
            return
        truth, ops = view_truth.instructions(recordings, names_runs), collections.defaultdict(list)
        for row in self.rows("SELECT * FROM activity"):
            zero = self.zero[row["process_id"]]
            possible = truth.get((*self.place[row["device_id"]], row["start_ns"] - zero, row["end_ns"] - zero), [])
            if row["instruction"]:
                self.assertIn((row["module"], row["instruction"]), [entry[:2] for entry in possible], dict(row))
                ops[row["module_id"], row["instruction"]].append(row["duration_ns"])
            else:
                self.assertFalse(all(is_known for _, _, is_known in possible) and possible, dict(row))
        got = {
            (row["module_id"], row["instruction"]): (row["occurrences"], row["total_ns"], row["min_ns"], row["max_ns"])
            for row in self.rows("SELECT * FROM op_time WHERE instruction IS NOT NULL")
        }
        self.assertEqual(got, {op: (len(ns), sum(ns), min(ns), max(ns)) for op, ns in ops.items()})

    def check_executions(self, recordings):
        if any(work.graph for recording in recordings for work in recording.work):
            return
        got = collections.Counter(
            (
                *self.place[row["device_id"]],
                row["name"],
                row["start_ns"] - self.device_zero[row["device_id"]],
                row["end_ns"] - self.device_zero[row["device_id"]],
                row["activities"],
            )
            for row in self.rows("SELECT e.*, m.name FROM execution e JOIN module m USING (module_id)")
        )
        self.assertEqual(got, view_truth.executions(recordings))

    def check_exports(self, path, recordings):
        """The number of kernels and copies on each device of the Chrome trace, and their time."""
        output = path.with_suffix(".kineto")  # A folder with a file per process.
        result = self.run_program("export", path, "--to", "kineto", "-o", output)
        self.assertEqual(result.code, 0, result)
        got = collections.Counter()
        for file in [output] if output.is_file() else output.iterdir():
            with (gzip.open if file.suffix == ".gz" else open)(file, "rt") as text:
                events = json.load(text)["traceEvents"]
            for event in events:
                if event.get("cat") in ("kernel", "gpu_memcpy"):
                    got[event["cat"], round(event["dur"] * 1_000)] += 1
        want = collections.Counter()
        for (_, _, _, kind, start, end, _), count in view_truth.activities(recordings).items():
            want["gpu_memcpy" if kind == "memcpy" else "kernel", end - start] += count
        self.assertEqual(got, want)


if __name__ == "__main__":
    sys.exit(unittest.main())
