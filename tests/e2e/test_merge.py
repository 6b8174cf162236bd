# SPDX-License-Identifier: Apache-2.0
"""`xlatrace merge`: recordings of many ranks as one job, who everyone waits for, launches of chosen
ranks only. The ranks are written by tests/fleet/ranks_tool.cc, each with a clock of its own."""

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import support

BIN = os.environ["XLATRACE_BIN"]
RANKS = os.environ.get("XLATRACE_FLEET_RANKS", "")


def xlatrace(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False)


@unittest.skipUnless(RANKS, "XLATRACE_FLEET_RANKS is not set")
class MergeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.ranks = self.folder / "ranks"
        self.ranks.mkdir()
        self.job = self.folder / "job.db"

    def write(self, ranks: int, slow: int, steps: int = 12, kernels: int = 5) -> None:
        subprocess.run([RANKS, self.ranks, str(ranks), str(steps), str(kernels), str(slow)],
                       check=True)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.job) as connection:
            return connection.execute(sql).fetchall()

    def test_a_folder_of_ranks_becomes_a_job_that_says_who_is_waited_for(self) -> None:
        self.write(8, slow=5)
        merged = xlatrace("merge", self.ranks, "-o", self.job)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(merged.stdout, "")
        self.assertIn("everyone waits for rank 5 on host2", merged.stderr)
        summary = xlatrace("summary", self.job).stdout.splitlines()
        job = next(i for i, line in enumerate(summary) if "Job: 8 ranks" in line)
        self.assertLess(job, 5, summary)
        self.assertEqual(sum("everyone waits for rank 5" in line for line in summary), 1)
        self.assertIn("job_slow_gpu", xlatrace("summary", self.job, "--format", "json").stdout)

    def test_the_path_over_ranks_runs_through_the_slow_one_and_sums_to_the_steps(self) -> None:
        self.write(8, slow=5)
        merged = xlatrace("merge", self.ranks, "-o", self.job)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertRegex(
            " ".join(xlatrace("summary", self.job).stdout.split()),
            r"Of the critical path over ranks [0-9.]+% is on rank 5 on host2, which comes to exchanges",
        )
        steps = self.rows(
            "SELECT p.step, sum(p.own_ns + p.exchange_ns), (SELECT avg(step_ns) FROM rank_step r"
            " WHERE r.step = p.step) FROM job_critical_path p GROUP BY 1")
        self.assertEqual(len(steps), 12)
        for step, path_ns, step_ns in steps:
            self.assertAlmostEqual(path_ns / step_ns, 1, delta=0.02, msg=str(step))
        # All come to the one collective of a step, the slow one last each time: only what a rank does behind
        # the last collective can be another's.
        longest = self.rows(
            "SELECT r.rank, p.from_instruction IS NULL, p.to_instruction IS NOT NULL FROM job_critical_path p"
            " JOIN rank r USING (rank_id) GROUP BY p.step HAVING own_ns = max(own_ns)")
        self.assertEqual({rank for rank, _, _ in longest}, {5}, longest)
        lead = self.rows("SELECT min(lead_ns) FROM job_critical_path WHERE collectives > 0")[0][0]
        self.assertGreater(lead, 5_000_000)  # It is 10 ms late.

    def test_figures_of_every_rank_and_launches_of_chosen_ones(self) -> None:
        self.write(8, slow=5)
        merged = xlatrace("merge", self.ranks, "-o", self.job, "--ranks", "0,3")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        ranks = self.rows("SELECT rank, process_id, activities, excess_ns_per_step FROM rank")
        self.assertEqual([row[0] for row in ranks], list(range(8)))
        # 12 steps of a product, 5 other kernels and a collective.
        self.assertEqual({row[2] for row in ranks}, {12 * 7})
        self.assertGreater(ranks[5][3], 9e6)
        kept = {row[0] for row in ranks if row[1] is not None}
        self.assertLessEqual({0, 3, 5}, kept)
        self.assertLess(len(kept), 8)
        self.assertEqual(self.rows("SELECT count(*) FROM rank_step"), [(8 * 12,)])
        self.assertEqual(self.rows("SELECT count(*) FROM activity"), [(len(kept) * 12 * 7,)])
        self.assertEqual({row[0] for row in self.rows("SELECT rank FROM process")}, kept)
        # On the common clock the ends of one step's collective lie together.
        apart = self.rows("SELECT max(end_ns) - min(end_ns) FROM (SELECT end_ns, row_number() OVER"
                          " (PARTITION BY process_id ORDER BY start_ns) AS k FROM launch WHERE name"
                          " LIKE 'nccl%') GROUP BY k")
        self.assertLess(max(row[0] for row in apart), 30_000)

    def test_kept_whole_are_who_is_waited_for_who_waits_most_and_one_between(self) -> None:
        self.write(8, slow=5)
        self.assertEqual(xlatrace("merge", self.ranks, "-o", self.job).returncode, 0)
        by_cost = [rank for rank, in self.rows("SELECT rank FROM rank ORDER BY excess_ns_per_step DESC, rank")]
        self.assertEqual(by_cost[0], 5)
        kept = {rank for rank, in self.rows("SELECT rank FROM rank WHERE process_id IS NOT NULL")}
        self.assertEqual(kept, {by_cost[0], by_cost[4], by_cost[7]})

    def test_the_jobs_step_stands_in_the_head_where_the_kept_launches_have_none(self) -> None:
        self.write(8, slow=5)
        self.assertEqual(xlatrace("merge", self.ranks, "-o", self.job).returncode, 0)
        self.assertEqual(self.rows("SELECT count(*) FROM step"), [(0,)])
        # Of the steady steps, each as long as its slowest rank's: the median, the least and the most.
        steps = sorted(ns / 1e6 for ns, in self.rows(
            "SELECT max(step_ns) FROM rank_step GROUP BY step HAVING min(steady)"))
        step = f"{steps[(len(steps) - 1) // 2]:#.3g} ms"
        summary = xlatrace("summary", self.job).stdout
        head = summary.splitlines()[:2]
        self.assertIn("8 ranks on 4 hosts", head[0])
        self.assertIn(f"step {step} ({steps[0]:#.3g} to {steps[-1]:#.3g}, {len(steps)} steps of the job)", head[1])
        self.assertIn(f"of each {step} step", " ".join(summary.split()))
        self.assertIn("lost 0", head[1])
        # It was slow from the first step on that is judged: no number that the map contradicts.
        self.assertNotIn("since step", summary)
        self.assertNotIn("20 steps", summary)
        self.assertIn("launches of 3 of the 8 ranks", summary)
        self.assertIn(("notice",), self.rows("SELECT severity FROM run_stat WHERE name = 'unreadable_modules'"))

    def test_savings_are_per_step_of_the_job(self) -> None:
        self.write(8, slow=5)
        self.assertEqual(xlatrace("merge", self.ranks, "-o", self.job).returncode, 0)
        findings = {row[0]: row[1:] for row in self.rows(
            "SELECT id, handle, saves_high_ns_per_step, saves_high_ns_per_run FROM finding")}
        cost = int(self.rows("SELECT value FROM run_info WHERE key = 'job_cost_ns_per_step'")[0][0])
        self.assertEqual(findings["job_slow_gpu"][1:], (cost, None))
        # Who waits for whom is told of all ranks, not of the kept ones once more.
        self.assertNotIn("arrival_skew", findings)
        handle, _, of_run = findings["exposed_collective"]
        # The launches of three ranks in twelve steps each.
        per_step = of_run / 36 / 1e6
        summary = xlatrace("summary", self.job).stdout
        self.assertIn("saves<=/step", summary)
        self.assertRegex(summary, rf"3 Overlap .* {per_step:#.3g} ms low")
        self.assertRegex(summary, rf"1 Everyone waits .* {cost / 1e6:#.3g} ms high")
        self.assertIn(f"{per_step:#.3g} ms per step of the job", xlatrace("show", handle, self.job).stdout)
        asked = json.loads(xlatrace("summary", self.job, "--format", "json").stdout)["findings"]
        self.assertEqual([f["saves_high_ns_per_job_step"] for f in asked if f["id"] == "exposed_collective"], [of_run // 36])
        withheld = self.rows("SELECT text FROM ruled_out WHERE id = 'steady_steps'")
        self.assertEqual(len(withheld), 1)
        self.assertIn("the ranks' own recordings", withheld[0][0])

    def test_evidence_of_the_job_is_a_sentence_in_milliseconds(self) -> None:
        self.write(8, slow=5)
        self.assertEqual(xlatrace("merge", self.ranks, "-o", self.job).returncode, 0)
        (text, check), = self.rows("SELECT evidence, how_to_check FROM finding WHERE id = 'job_slow_gpu'")
        said = json.loads(text)[0]["text"]
        excess, = self.rows("SELECT excess_ns_per_step FROM rank WHERE rank = 5")[0]
        cost = int(self.rows("SELECT value FROM run_info WHERE key = 'job_cost_ns_per_step'")[0][0])
        self.assertIn(f"rank 5 on host2 needs {excess / 1e6:#.3g} ms a step more by itself than the median of its like", said)
        self.assertIn(f"and {cost / 1e6:#.3g} ms more than the longest of the others", said)
        self.assertNotRegex(said, r"\d [un]s\b")
        self.assertNotIn("_ns_", check)

    def test_a_small_job_is_kept_whole(self) -> None:
        self.write(2, slow=-1)
        self.assertEqual(xlatrace("merge", *sorted(self.ranks.glob("*.db")), "-o",
                                  self.job).returncode, 0)
        self.assertEqual(self.rows("SELECT count(*) FROM rank WHERE process_id IS NULL"), [(0,)])

    def test_errors_name_the_file_and_the_next_step(self) -> None:
        self.write(6, slow=-1, steps=3)
        missing = xlatrace("merge", self.ranks, "-o", self.job, "--ranks", "17")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("no rank 17", missing.stderr)
        self.assertIn("ranks 0 to 5", missing.stderr)
        self.assertFalse(self.job.exists())
        empty = self.folder / "empty"
        empty.mkdir()
        nothing = xlatrace("merge", empty, "-o", self.job)
        self.assertEqual(nothing.returncode, 2)
        self.assertIn(str(empty), nothing.stderr)
        self.job.write_text("mine")
        there = xlatrace("merge", self.ranks, "-o", self.job)
        self.assertNotEqual(there.returncode, 0)
        self.assertIn("--force", there.stderr)
        self.assertEqual(self.job.read_text(), "mine")

    def test_a_missing_rank_and_a_bad_file_are_said_and_kept(self) -> None:
        self.write(4, slow=-1)
        (self.ranks / "rank0002.db").unlink()
        (self.ranks / "zzz.db").write_bytes(b"no run")
        merged = xlatrace("merge", self.ranks, "-o", self.job)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertIn("zzz.db", merged.stderr)
        said = {row[0] for row in self.rows("SELECT name FROM run_stat")}
        self.assertLessEqual({"rank_missing", "input_skipped"}, said)

    def test_a_recording_without_work_is_said_and_kept(self) -> None:
        self.write(4, slow=-1)
        with sqlite3.connect(self.ranks / "rank0003.db") as idle:
            for table in ("x_packed_activity", "x_step", "x_op_time"):
                idle.execute(f"DELETE FROM {table}")
        idle.close()
        merged = xlatrace("merge", self.ranks, "-o", self.job)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        said = [line for line in merged.stderr.splitlines() if "no device did anything" in line]
        self.assertEqual(len(said), 1, merged.stderr)
        self.assertIn("rank0003.db", said[0])
        self.assertIn(("rank_without_work",), self.rows("SELECT name FROM run_stat"))

    def test_a_rank_that_is_not_there_is_refused_of_a_small_job_too(self) -> None:
        self.write(2, slow=-1, steps=3)
        for rank in ("-1", "2", "0,7"):
            missing = xlatrace("merge", self.ranks, "-o", self.job, "--ranks", rank)
            self.assertEqual(missing.returncode, 2, missing.stderr)
            self.assertIn(f"no rank {rank.split(',')[-1]}", missing.stderr)
            self.assertIn("ranks 0 to 1", missing.stderr)
            self.assertFalse(self.job.exists())

    def test_the_shared_copy_has_no_host_and_no_path(self) -> None:
        self.write(5, slow=1)
        self.assertEqual(xlatrace("merge", self.ranks, "-o", self.job).returncode, 0)
        shared = self.folder / "shared.db"
        made = xlatrace("export", self.job, "--to", "db", "--share-safe", "-o", shared)
        self.assertEqual(made.returncode, 0, made.stderr)
        content = shared.read_bytes()
        for name in (b"host1", str(self.ranks).encode(), b"rank0001.db"):
            self.assertNotIn(name, content)


class RealRanksTest(unittest.TestCase):
    """Two of four ranks of a real job, each with a module of its own of the same program."""

    def test_a_finding_of_two_ranks_counts_instructions_as_one_rank_has_them(self) -> None:
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        pax = "captures/nsys-jax-pax-fsdp4-a100"
        for name, source in ("p0", "proc0"), ("p1", "proc1.zip"):
            subprocess.run([BIN, "import", support.require_data(f"{pax}/{source}"), "-o", folder / f"{name}.db"],
                           check=True, capture_output=True)
        merged = xlatrace("merge", folder / "p0.db", folder / "p1.db", "-o", folder / "job.db")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        # Two of the four ranks: nobody is blamed, and the reason is the true one.
        self.assertIn("collectives of 4 ranks, of which 2 are here", merged.stderr)
        self.assertIn("2 ranks -> ", merged.stderr)
        found = {}
        for name in "p0", "job":
            with sqlite3.connect(folder / f"{name}.db") as connection:
                text, = connection.execute("SELECT evidence FROM finding WHERE id = 'attention_unfused'").fetchone()
                found[name] = json.loads(text)
        alone, both = found["p0"], found["job"]
        self.assertEqual(both[0]["instructions"], len(alone[0]["handles"]))
        self.assertTrue(both[0]["text"].startswith(f"{len(alone[0]['handles'])} instructions, "), both[0])
        self.assertEqual(len(both[0]["handles"]), 2 * len(alone[0]["handles"]))
        largest = [entry[1] for entry in (alone, both)]
        self.assertEqual([entry["text"] for entry in largest], 2 * ["the largest of them"])
        self.assertAlmostEqual(largest[1]["value"] / largest[0]["value"], 1, delta=0.02)
        # The job's step is another figure than the mean of the launches' own steps, and is called so.
        with sqlite3.connect(folder / "job.db") as connection:
            steps = sorted(ns for ns, in connection.execute(
                "SELECT max(step_ns) FROM rank_step GROUP BY step HAVING min(steady)"))
        subprocess.run([BIN, "report", folder / "job.db", "-o", folder / "job.html"], check=True, capture_output=True)
        self.assertIn(f"the slowest rank\u2019s, median: {steps[(len(steps) - 1) // 2] / 1e6:.3g} ms",
                      (folder / "job.html").read_text(encoding="utf-8"))

    def test_a_job_has_one_answer_to_who_is_waited_for(self) -> None:
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        capture = support.require_data("captures/nsys-jax-maxtext-fsdp4-h100")
        subprocess.run([BIN, "import", capture, "-o", folder / "run.db"], check=True, capture_output=True)
        merged = xlatrace("merge", folder / "run.db", "-o", folder / "job.db")
        self.assertIn("who is waited for cannot be told", merged.stderr)
        for name, told in ("run", 1), ("job", 0):
            with sqlite3.connect(folder / f"{name}.db") as connection:
                count, = connection.execute("SELECT count(*) FROM finding WHERE id = 'arrival_skew'").fetchone()
                self.assertEqual(count, told, name)


if __name__ == "__main__":
    unittest.main()
