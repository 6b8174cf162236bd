# SPDX-License-Identifier: Apache-2.0
"""Merged recordings of random jobs, with clocks that differ, against figures counted from the jobs (random_job.py)."""

import collections
import contextlib
import copy
import shutil
import sqlite3
import statistics
import sys
import unittest

import job_case
import job_truth as truth
from gpu_recording import write_recording
from random_job import COLLECTIVE, GEMM, RandomJob

# The ends of an exchange differ by at most half a microsecond (random_job.py), and clocks follow from them.
CLOCK_NOISE_NS = 2_000


def with_clock(timeline, ranks, ahead):
    """The timeline with the times of these ranks' clocks, which are ahead."""
    timeline = copy.deepcopy(timeline)
    devices = {rank * timeline.devices_per_rank + n for rank in ranks for n in range(timeline.devices_per_rank)}
    for record in [*timeline.work, *timeline.host]:
        if record.device in devices:
            record.start_ns += ahead
            record.end_ns += ahead
    for work in timeline.work:
        if work.device in devices and work.host_busy_until_ns is not None:
            work.host_busy_until_ns += ahead
    timeline.pauses = [(device, start + ahead * (device in devices), end + ahead * (device in devices))
                       for device, start, end in timeline.pauses]
    return timeline


def windows_of(job, ranks):
    """{process: [(start, end)]} of the run.db of each rank, in the times of the job."""
    out = {}
    for process, path in enumerate(ranks):
        with contextlib.closing(sqlite3.connect(path)) as database:
            (first,) = database.execute("SELECT min(start_ns) FROM activity").fetchone()
            zero = first - min(work.start for work in job.works if work.process == process)
            rows = database.execute("SELECT start_ns, end_ns FROM window ORDER BY start_ns").fetchall()
            out[process] = [(start - zero, end - zero) for start, end in rows]
    return out


class GeneratedMerges(job_case.JobTest):
    def test_merged_job_has_the_figures_of_its_ranks(self):
        for seed in job_case.seeds():
            job = RandomJob(seed)
            if job.processes > 1:
                with self.subTest(seed=seed):
                    self.check(job, *self.merged(job, seed))

    def merged(self, job, seed):
        """Each rank is recorded by itself. The clock of the last rank is up to 100 ms ahead."""
        folder = self.folder / str(seed)
        folder.mkdir()
        ahead = [0] * (job.processes - 1) + [seed * 7_919_000 % 100_000_000]
        job.timeline = with_clock(job.timeline, [job.processes - 1], ahead[-1])
        job.write_dumps(folder)
        write_recording(job.timeline, folder / "job.rec")
        ranks = []
        for rank, file in enumerate(sorted((folder / "job.rec").glob("*.rec"), key=lambda file: file.name.split(".")[2])):
            own = folder / f"{rank}.rec"
            own.mkdir()
            shutil.copy(folder / "job.rec" / "job", own)
            shutil.copy(file, own)
            ranks.append(folder / f"{rank}.db")
            result = self.run_program("import", own, "--modules", folder / "dumps", "-o", ranks[-1])
            self.assertEqual(result.code, 0, result)
        result = self.run_program("merge", *ranks, "-o", folder / "job.db")
        self.assertEqual(result.code, 0, result)
        database = sqlite3.connect(folder / "job.db")
        database.row_factory = sqlite3.Row
        self.addCleanup(database.close)
        return database, ahead, windows_of(job, ranks)

    def check(self, job, database, ahead, windows):
        works = truth.by_device(job.works)
        steps = truth.steps(job, windows)
        rows = database.execute("SELECT * FROM rank ORDER BY rank, ordinal").fetchall()
        device = {row["rank_id"]: (row["rank"], row["ordinal"]) for row in rows}
        self.assertEqual(set(device.values()), set(works))
        clock = {}
        for row in rows:
            own = works[row["rank"], row["ordinal"]]
            self.assertEqual((row["activities"], row["device_ns"]), (len(own), sum(work.ns for work in own)))
            clock[row["rank_id"]] = -row["clock_offset_ns"]
            self.assertAlmostEqual(-row["clock_offset_ns"], ahead[row["rank"]], delta=row["clock_error_ns"] + CLOCK_NOISE_NS)
        self.check_steps(database, device, works, steps)
        self.check_exchanges(job, database)
        self.check_path(database, device, steps)

    def check_steps(self, database, device, works, steps):
        for row in database.execute("SELECT * FROM rank_step"):
            place = device[row["rank_id"]]
            start, end, _ = steps[place][row["step"]]
            own = [work for work in works[place] if truth.step_of(work, steps) == row["step"]]
            self.assertEqual(row["step_ns"], end - start)
            self.assertEqual(row["gemm_ns"], sum(work.ns for work in own if work.op and work.op.kind == GEMM))
            self.assertEqual(row["other_ns"], sum(
                work.ns for work in own if not work.op or work.op.kind not in (GEMM, COLLECTIVE)))
            busy = truth.merged((work.start, work.end) for work in own)
            self.assertEqual(row["idle_ns"], end - start - sum(b - a for a, b in busy))
            exchange = sum(work.ns for work in own if work.op and work.op.kind == COLLECTIVE)
            self.assertLessEqual(row["wait_ns"] + row["transfer_ns"], exchange)

    def check_exchanges(self, job, database):
        """Both programs of the step's name are one content, so that their exchanges have one row."""
        groups = [[work.ns for work in group] for group in truth.exchanges(job.works)]
        [row] = database.execute("SELECT * FROM job_collective").fetchall()
        self.assertEqual((row["op"], row["group_size"], row["ranks"]), ("all-reduce", job.places, job.places))
        self.assertEqual(row["paired"], len(groups))
        transfers, skews = map(min, groups), [max(group) - min(group) for group in groups]
        for column, values in (("transfer_ns", list(transfers)), ("arrival_skew_ns", skews)):
            self.assertIn(row[column], (statistics.median_low(values), statistics.median_high(values)), column)
        self.assertEqual(row["most_skew_ns"], max(skews))

    def check_path(self, database, device, steps):
        """The path ends on the device whose last step ends last."""
        stays = collections.defaultdict(list)
        for row in database.execute("SELECT * FROM job_critical_path ORDER BY rowid"):
            stays[row["step"]].append(device[row["rank_id"]])
        if stays:
            last = max(stays)
            ends = sorted((own[last][1], place) for place, own in steps.items() if last in own)
            if ends[-1][0] - ends[-2][0] > 2 * CLOCK_NOISE_NS:
                self.assertEqual(stays[last][-1], ends[-1][1])


if __name__ == "__main__":
    sys.exit(unittest.main())
