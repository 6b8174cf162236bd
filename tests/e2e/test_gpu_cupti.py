# SPDX-License-Identifier: Apache-2.0
"""The real CUPTI differs from the plain fake in its clock, its iterator, its attributes and its kernels.
Each test switches on one of these differences."""

import collections
import pathlib
import unittest

import gpu_support

CLOCK_TOLERANCE_NS = 5_000_000


class CuptiDifferences(gpu_support.GpuTestCase):
    def info(self):
        rows = gpu_support.rows_of(self.work / "run.db", "SELECT key, value FROM run_info")
        return {row["key"]: row["value"] for row in rows}

    def notes(self):
        stats = gpu_support.run_stats(self.work / "run.db", "notice")
        return [row["name"] for row in stats if row["name"].startswith("collector_note")]

    def test_raw_clock_is_moved_to_the_wall_clock(self):
        traced = self.preloaded(
            "repeat 20 { launch a x 3; copy htod 64; sync; sleep 10 }", scenario="cupti clock raw\n"
        )
        self.assertEqual(traced.code, 0, traced)
        truths = {
            int(row["correlation"]): int(row["start_ns"])
            for rows in self.truths().values()
            for row in rows
        }
        recorded = gpu_support.recorded_rows(self.fold())
        self.assertEqual(len(recorded), len(truths))
        for row in recorded:
            away = abs(row["start"] - truths[row["correlation_id"]])
            self.assertLess(away, CLOCK_TOLERANCE_NS, row)
        self.assertEqual(len(self.notes()), 1)

    def test_wall_clock_of_cupti_is_not_moved(self):
        self.preloaded("launch a x 3; sync")
        self.assert_equals_truth(self.fold())
        self.assertEqual(self.notes(), [])

    def test_iterator_has_the_descriptors_that_it_needs(self):
        self.preloaded(
            "repeat 5 { launch a x 500; sync }",
            scenario="cupti iterator needs descriptors\n",
            XLATRACE_FLUSH_MS="20",
        )
        self.assert_equals_truth(self.fold())

    def test_graph_rows_are_recorded_by_the_second_interface(self):
        for api in ("130301", "130500"):
            with self.subTest(api=api):
                self.setUp()
                self.preloaded(
                    "graph g { launch a; launch b; launch c }; run g x 20; launch d x 5; sync",
                    FAKE_CUPTI_API=api,
                    FAKE_GPU_DRIVER_VERSION="13030",
                    XLATRACE_GRAPHS="graph",
                )
                database = self.fold()
                kinds = collections.Counter(
                    row["kind"] for row in gpu_support.rows_of(database, "SELECT kind FROM activity")
                )
                self.assertEqual(kinds, {"graph": 20, "kernel": 5})
                self.assertEqual((self.info()["cupti_interface"], self.info()["graphs"]), ("2", "graph"))
                self.assertEqual(len(self.notes()), 1)

    def test_collector_that_cannot_be_loaded_is_the_reason(self):
        """The driver reports nothing, for example when the collector needs a newer glibc."""
        broken = self.folder / "libbroken.so"
        broken.write_text("no library\n")
        script = "launch a; sync"
        traced = self.preloaded(script, XLATRACE_COLLECTOR=broken)
        self.assertEqual(traced.code, 0, traced)
        self.assertIn(str(broken), traced.stderr)
        report = self.xlatrace("report", "run.db")
        self.assertIn(str(broken), report.stdout + report.stderr)

    def test_overlapping_kernels_of_a_stream_share_the_time(self):
        """The kernel ahead owns the overlap: device time is the union of a stream's kernels."""
        self.preloaded(
            "repeat 50 { launch a on s; launch b on s }; sync", scenario="kernel b overlaps 1\nkernel * times 5\n"
        )
        database = self.fold()
        rows = gpu_support.rows_of(
            database,
            "SELECT start_ns, end_ns, duration_ns, self_ns, name FROM activity ORDER BY start_ns",
        )
        overlaps = 0
        for before, row in zip(rows, rows[1:]):
            overlap = max(0, before["end_ns"] - row["start_ns"])
            overlaps += overlap > 0
            self.assertEqual(row["self_ns"], row["duration_ns"] - overlap)
        self.assertGreater(overlaps, 10)
        busy = gpu_support.scalar(database, "SELECT sum(busy_ns) FROM busy_time")
        self.assertEqual(sum(row["self_ns"] for row in rows), busy)

    def taken(self, scenario, **environment):
        self.preloaded(
            "repeat 10 { launch a x 30 on s }; sync", scenario="kernel a times 50\n" + scenario, **environment
        )
        stats = gpu_support.run_stats(self.fold(), "data_loss")
        without_end = gpu_support.scalar(
            self.work / "run.db", "SELECT count(*) FROM activity WHERE start_ns IS NOT NULL AND end_ns IS NULL"
        )
        return {row["name"]: row["value"] for row in stats}.get("activity_end_taken"), without_end

    def test_forced_flush_of_another_profiler_is_named_as_the_cause(self):
        taken, without_end = self.taken("cupti other flush at 200\n")
        self.assertEqual(taken, without_end)
        self.assertGreater(taken, 0)

    def test_window_ends_where_a_forced_flush_took_ends(self):
        self.taken("cupti other flush at 200\n")
        database = self.work / "run.db"
        ((start, end),) = [
            (row["start_ns"], row["end_ns"])
            for row in gpu_support.rows_of(database, "SELECT * FROM loss WHERE cause = 'end_taken'")
        ]
        unended = gpu_support.rows_of(
            database, "SELECT min(start_ns) AS first, max(start_ns) AS last FROM activity WHERE end_ns IS NULL"
        )[0]
        self.assertEqual(start, unended["first"])
        self.assertGreater(end, unended["last"])
        windows = gpu_support.rows_of(database, "SELECT * FROM window ORDER BY start_ns")
        self.assertEqual([row["why_ended"] for row in windows], ["loss", "end"])
        self.assertEqual((windows[0]["end_ns"], windows[1]["start_ns"]), (start, end))
        self.assertEqual(
            gpu_support.scalar(
                database, f"SELECT count(*) FROM gap WHERE start_ns < {end} AND end_ns > {start}"
            ),
            0,
        )

    def test_run_names_the_libcupti_in_use(self):
        self.preloaded("launch a; sync")
        self.fold()
        used = pathlib.Path(self.info()["cupti_path"]).resolve()
        self.assertEqual(used, pathlib.Path(gpu_support.FAKE_GPU, "libcupti.so.13").resolve())

    def test_slice_of_a_device_has_its_own_uuid(self):
        self.preloaded("launch a; sync", FAKE_GPU_MIG="1g.18gb")
        rows = gpu_support.rows_of(self.fold(), "SELECT uuid, name FROM device")
        self.assertEqual([(row["uuid"][:4], "MIG 1g.18gb" in row["name"]) for row in rows], [("MIG-", True)])
        # Bytes of the driver's answer, not of the whole device.
        self.assertTrue(rows[0]["uuid"].startswith("MIG-786c6174"), rows)

    def test_idle_start_is_flushed_as_seldom_as_an_idle_program(self):
        """A framework compiles in its first seconds; flushes every 20 ms would block it."""
        self.preloaded("launch a; sync; sleep 3000; launch a; sync")
        flushes = gpu_support.scalar(
            self.fold(), "SELECT value FROM run_stat WHERE name = 'collector_flushes'"
        )
        # Two per second, those around the launches, and the last one. Without the rule some 50.
        self.assertLess(flushes, 20)

    def test_wrapped_correlation_ids_lose_no_record(self):
        self.preloaded(
            "threads 3 { repeat 100 { launch a x 2 on s%t } }; copy dtoh 64; sync",
            scenario=f"driver first correlation {2**32 - 300}\n",
        )
        database = self.fold()
        self.assert_equals_truth(database)
        self.assertEqual(gpu_support.loss(database), 0)

    def test_undisturbed_recording_names_no_other_profiler(self):
        self.assertEqual(self.taken(""), (None, 0))


if __name__ == "__main__":
    unittest.main()
