# SPDX-License-Identifier: Apache-2.0
"""Tests of random jobs share the seeds, the import, and the job beside its run.db.

The seeds change each hour. XLATRACE_JOB_SEEDS=A:B repeats some.
"""

import os
import sqlite3
import time

import job_truth as truth
import support
from random_job import RandomJob

JOBS = 40 if support.LONG else 4


def seeds():
    given = os.environ.get("XLATRACE_JOB_SEEDS")
    if given:
        first, last = map(int, given.split(":"))
        return range(first, last)
    first = time.time_ns() // (3600 * 1_000_000_000) * 1_000
    return range(first, first + JOBS)


class ImportedJob:
    """A job and the rows of its run.db, with places and times as the job has them."""

    def __init__(self, job, path):
        self.job, self.path = job, path
        self.database = sqlite3.connect(path)
        self.database.row_factory = sqlite3.Row
        self.process = {row[0]: n for n, row in enumerate(self.rows("SELECT process_id FROM process ORDER BY rank, pid"))}
        self.device = {
            row["device_id"]: (self.process[row["process_id"]], row["ordinal"]) for row in self.rows("SELECT * FROM device")
        }
        self.module = {
            row["module_id"]: (self.process[row["process_id"]], row["program_id"]) for row in self.rows("SELECT * FROM module")
        }
        first = min(row[0] for row in self.rows("SELECT start_ns FROM activity"))
        self.zero = first - min(work.start for work in job.works)
        self.windows = truth.collections.defaultdict(list)
        for row in self.rows("SELECT * FROM window ORDER BY process_id, start_ns"):
            self.windows[self.process[row["process_id"]]].append((row["start_ns"] - self.zero, row["end_ns"] - self.zero))
        self.steps = truth.steps(job, self.windows)
        self.works = truth.by_device(job.works)
        self.typical = truth.typical(self.steps)

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def step_of(self, work):
        return truth.step_of(work, self.steps)

    def is_typical(self, work):
        return (truth.device_of(work), self.step_of(work)) in self.typical


class JobTest(support.TestCase):
    def imported(self, seed, name="run", **changes):
        job = RandomJob(seed, **changes)
        folder = self.folder / f"{job.seed}.{name}"
        folder.mkdir()
        result = self.run_program("import", *job.write(folder), "-o", folder / "run.db")
        self.assertEqual(result.code, 0, result)
        run = ImportedJob(job, folder / "run.db")
        self.addCleanup(run.database.close)
        return run
