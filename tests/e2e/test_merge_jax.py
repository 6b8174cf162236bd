# SPDX-License-Identifier: Apache-2.0
"""Real JAX in two processes of two devices each (jax.distributed) on the fake GPU: recorded separately,
merged, shown. The fake NCCL exchanges no data, so no rank waits for another. The test checks identities of
ranks, kept launches, and pairs of equal collectives.

Environment: as of test_jax_on_fake_gpu.py.
"""

import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import support

RIG_FOLDER = support.REPOSITORY / "tests" / "fake_gpu" / "jax"
sys.path.insert(0, str(RIG_FOLDER))

import rig

PRELOAD = os.environ.get("XLATRACE_PRELOAD")
STEPS = 12


@unittest.skipUnless(PRELOAD, "XLATRACE_PRELOAD is not set")
class TwoProcesses(unittest.TestCase):
    def setUp(self):
        try:
            self.rig = rig.Rig()
        except rig.Missing as missing:
            self.skipTest(str(missing))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-merge-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def record(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            coordinator = f"127.0.0.1:{free.getsockname()[1]}"
        processes = []
        for number in range(2):
            place = self.folder / f"rank{number}"
            place.mkdir()
            environment = self.rig.environment(
                devices=2, preload=PRELOAD,
                more={"SLURM_PROCID": str(number), "XLATRACE_JOB": f"job{number}"})
            processes.append(subprocess.Popen(
                [str(self.rig.python), str(RIG_FOLDER / "two_processes.py"), coordinator, "2",
                 str(number), "--steps", str(STEPS)],
                cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True))
        for process in processes:
            output, _ = process.communicate(timeout=support.HANG_S)
            self.assertEqual(process.returncode, 0, output[-4000:])
            self.assertIn("devices: 4, here: 2", output)

    def test_recorded_ranks_can_be_merged_and_shown(self):
        self.record()
        job = self.folder / "job.db"
        merged = support.run("merge", self.folder / "rank1" / "run.rec",
                             self.folder / "rank0" / "run.rec", "-o", job)
        self.assertEqual(merged.code, 0, merged.stderr)
        with sqlite3.connect(job) as connection:
            ranks = connection.execute(
                "SELECT rank, ordinal, program, clock_set, process_id IS NOT NULL FROM rank").fetchall()
            # By the launcher's number, for any order of the arguments.
            self.assertEqual([rank[:2] for rank in ranks], [(0, 0), (0, 1), (1, 0), (1, 1)])
            self.assertEqual(len({rank[2] for rank in ranks}), 1)
            self.assertEqual({rank[3:] for rank in ranks}, {(0, 1)})
            # Every step's all-reduce of four devices was paired.
            paired = connection.execute("SELECT count(*), count(wait_ns), count(DISTINCT transfer_ns)"
                                        " FROM rank_step GROUP BY step").fetchall()
            self.assertGreaterEqual(len(paired), STEPS - 2)
            self.assertEqual(set(paired), {(4, 4, 1)})
            per_process = connection.execute(
                "SELECT count(*) FROM activity GROUP BY process_id").fetchall()
            self.assertEqual(len(per_process), 2)
            self.assertEqual(per_process[0], per_process[1])
        summary = support.run("summary", job)
        self.assertEqual(summary.code, 0, summary.stderr)
        self.assertIn("4 ranks", summary.stdout)
        page = self.folder / "job.html"
        report = support.run("report", job, "-o", page)
        self.assertEqual(report.code, 0, report.stderr)
        self.assertGreater(page.stat().st_size, 100_000)


if __name__ == "__main__":
    unittest.main()
