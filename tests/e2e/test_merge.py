# SPDX-License-Identifier: Apache-2.0
"""`xlatrace merge`: recordings of many ranks as one job, its slow rank, launches of chosen ranks only.
tests/fleet/ranks_tool.cc writes the ranks, each with its own clock."""

import json
import os
import re
import sqlite3
import subprocess
import unittest
from pathlib import Path
from typing import Any

import page_reader
import support

RANKS = os.environ.get("XLATRACE_FLEET_RANKS", "")


class JobCase(support.TestCase):
    def xlatrace(self, *arguments: object) -> support.Result:
        """Runs in the folder of the test, with paths relative to it, so that messages are the same everywhere."""
        words = [a.relative_to(self.folder) if isinstance(a, Path) and a.is_relative_to(self.folder) else a
                 for a in arguments]
        return self.run_program(*words)

    def merge(self, *arguments: object) -> support.Result:
        merged = self.xlatrace("merge", *arguments)
        self.assertEqual((merged.code, merged.stdout), (0, ""), merged)
        return merged

    def assert_golden_summary(self, text: str) -> None:
        self.assert_golden_text(text, masks=[(r"^xlatrace \d[\w.]*", "xlatrace VERSION")])


@unittest.skipUnless(RANKS, "XLATRACE_FLEET_RANKS is not set")
class MergeTest(JobCase):
    def setUp(self) -> None:
        super().setUp()
        self.ranks = self.folder / "ranks"
        self.ranks.mkdir()
        self.job = self.folder / "job.db"

    def write(self, ranks: int, slow: int, steps: int = 12, kernels: int = 5) -> None:
        subprocess.run([RANKS, self.ranks, str(ranks), str(steps), str(kernels), str(slow)],
                       check=True)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.job) as connection:
            return connection.execute(sql).fetchall()

    def test_folder_of_ranks_becomes_a_job_with_the_slow_rank(self) -> None:
        self.write(8, slow=5)
        merged = self.merge(self.ranks, "-o", self.job)
        self.assert_golden_text(merged.stderr)
        self.assert_golden_summary(self.xlatrace("summary", self.job).stdout)
        document = json.loads(self.xlatrace("summary", self.job, "--format", "json").stdout)
        self.assertEqual(document["findings"][0]["id"], "job_slow_gpu")
        info = document["run"]["info"]
        self.assertEqual((info["job_cause"], float(info["job_waited_for"]), int(info["merged_ranks"])), ("slow_gpu", 5, 8))

    def test_critical_path_runs_through_the_slow_rank(self) -> None:
        self.write(8, slow=5)
        self.merge(self.ranks, "-o", self.job)
        (path_text,), = self.rows("SELECT value FROM run_info WHERE key = 'job_path'")
        (slow_pct,), = self.rows(
            "SELECT 100.0 * sum(own_ns) FILTER (WHERE rank = 5) / sum(own_ns + exchange_ns)"
            " FROM job_critical_path JOIN rank USING (rank_id)")
        self.assertAlmostEqual(float(re.findall(r"([\d.]+)%", path_text)[0]), slow_pct, delta=0.06)
        steps = self.rows(
            "SELECT p.step, sum(p.own_ns + p.exchange_ns), (SELECT avg(step_ns) FROM rank_step r"
            " WHERE r.step = p.step) FROM job_critical_path p GROUP BY 1")
        self.assertEqual(len(steps), 12)
        for step, path_ns, step_ns in steps:
            self.assertAlmostEqual(path_ns / step_ns, 1, delta=0.02, msg=str(step))
        # All ranks meet in the one collective of a step, the slow one last each time. Only work after the
        # last collective can be another rank's.
        longest = self.rows(
            "SELECT r.rank, p.from_instruction IS NULL, p.to_instruction IS NOT NULL FROM job_critical_path p"
            " JOIN rank r USING (rank_id) GROUP BY p.step HAVING own_ns = max(own_ns)")
        self.assertEqual({rank for rank, _, _ in longest}, {5}, longest)
        lead = self.rows("SELECT min(lead_ns) FROM job_critical_path WHERE collectives > 0")[0][0]
        self.assertGreater(lead, 5_000_000)  # It is 10 ms late.

    def test_merge_keeps_all_figures_and_launches_of_chosen_ranks(self) -> None:
        self.write(8, slow=5)
        self.merge(self.ranks, "-o", self.job, "--ranks", "0,3")
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

    def test_launches_of_slowest_fastest_and_middle_rank_are_kept(self) -> None:
        self.write(8, slow=5)
        self.merge(self.ranks, "-o", self.job)
        by_cost = [rank for rank, in self.rows("SELECT rank FROM rank ORDER BY excess_ns_per_step DESC, rank")]
        self.assertEqual(by_cost[0], 5)
        kept = {rank for rank, in self.rows("SELECT rank FROM rank WHERE process_id IS NOT NULL")}
        self.assertEqual(kept, {by_cost[0], by_cost[4], by_cost[7]})

    def test_summary_head_has_the_typical_step_of_the_kept_ranks(self) -> None:
        self.write(8, slow=5)
        self.merge(self.ranks, "-o", self.job)
        # Work of no program recurs in these ranks.
        (typical, count), = self.rows("SELECT avg(duration_ns), count(DISTINCT device_id) FROM step WHERE typical")
        self.assertEqual(count, 3)
        head = self.xlatrace("summary", self.job).stdout.splitlines()[1]
        self.assertIn(f"step {typical / 1e6:#.3g} ms (half of ", head)
        self.assertEqual(self.rows("SELECT count(*) FROM run_stat WHERE severity = 'data_loss'"), [(0,)])
        self.assertIn(("notice",), self.rows("SELECT severity FROM run_stat WHERE name = 'unreadable_modules'"))

    def test_savings_are_per_step_of_the_job(self) -> None:
        self.write(8, slow=5)
        self.merge(self.ranks, "-o", self.job)
        findings = {row[0]: row[1:] for row in self.rows(
            "SELECT id, handle, saves_high_ns_per_step, saves_high_ns_per_run FROM finding")}
        cost = int(self.rows("SELECT value FROM run_info WHERE key = 'job_cost_ns_per_step'")[0][0])
        self.assertEqual(findings["job_slow_gpu"][1:], (cost, None))
        # The wait is a finding of all ranks, so there is none of the kept ranks alone.
        self.assertNotIn("arrival_skew", findings)
        handle, per_step, _ = findings["exposed_collective"]
        per_step /= 1e6
        summary = self.xlatrace("summary", self.job).stdout
        self.assertRegex(summary, rf"(?m)^3 .* {per_step:#.3g} ms low\b")
        self.assertRegex(summary, rf"(?m)^1 .* {cost / 1e6:#.3g} ms high\b")
        shown = self.xlatrace("show", handle, self.job).stdout
        self.assertIn(f" {per_step:#.3g} ms ", shown)
        self.assert_golden_text(shown)
        asked = json.loads(self.xlatrace("summary", self.job, "--format", "json").stdout)["findings"]
        self.assertEqual([f["saves_high_ns_per_step"] / 1e6 for f in asked if f["id"] == "exposed_collective"], [per_step])

    def test_evidence_of_the_job_is_in_milliseconds(self) -> None:
        self.write(8, slow=5)
        self.merge(self.ranks, "-o", self.job)
        (text, check), = self.rows("SELECT evidence, how_to_check FROM finding WHERE id = 'job_slow_gpu'")
        said = json.loads(text)[0]["text"]
        excess, = self.rows("SELECT excess_ns_per_step FROM rank WHERE rank = 5")[0]
        cost = int(self.rows("SELECT value FROM run_info WHERE key = 'job_cost_ns_per_step'")[0][0])
        for ns in (excess, cost):
            self.assertIn(f" {ns / 1e6:#.3g} ms ", said)
        self.assert_golden_text(said + "\n" + check)
        self.assertNotRegex(said, r"\d [un]s\b")
        self.assertNotIn("_ns_", check)

    def test_a_small_job_is_kept_whole(self) -> None:
        self.write(2, slow=-1)
        self.merge(*sorted(self.ranks.glob("*.db")), "-o", self.job)
        self.assertEqual(self.rows("SELECT count(*) FROM rank WHERE process_id IS NULL"), [(0,)])

    def test_errors_name_the_rank_or_the_folder(self) -> None:
        self.write(6, slow=-1, steps=3)
        missing = self.xlatrace("merge", self.ranks, "-o", self.job, "--ranks", "17")
        self.assertEqual(missing.code, 2)
        self.assertFalse(self.job.exists())
        empty = self.folder / "empty"
        empty.mkdir()
        nothing = self.xlatrace("merge", empty, "-o", self.job)
        self.assertEqual(nothing.code, 2)
        self.assert_golden_text(missing.stderr + nothing.stderr)
        self.job.write_text("mine")
        there = self.xlatrace("merge", self.ranks, "-o", self.job)
        self.assertNotEqual(there.code, 0)
        self.assertIn("--force", there.stderr)
        self.assertEqual(self.job.read_text(), "mine")

    def test_missing_rank_and_unreadable_file_are_reported(self) -> None:
        self.write(4, slow=-1)
        (self.ranks / "rank0002.db").unlink()
        (self.ranks / "zzz.db").write_bytes(b"no run")
        merged = self.merge(self.ranks, "-o", self.job)
        self.assertIn("zzz.db", merged.stderr)
        said = {row[0] for row in self.rows("SELECT name FROM run_stat")}
        self.assertLessEqual({"rank_missing", "input_skipped"}, said)

    def test_recording_without_work_is_reported(self) -> None:
        self.write(4, slow=-1)
        with sqlite3.connect(self.ranks / "rank0003.db") as idle:
            for table in ("x_packed_activity", "x_step", "x_op_time"):
                idle.execute(f"DELETE FROM {table}")
        idle.close()
        merged = self.merge(self.ranks, "-o", self.job)
        self.assertEqual(merged.stderr.count("rank0003.db"), 1, merged)
        self.assert_golden_text(merged.stderr)
        self.assertIn(("rank_without_work",), self.rows("SELECT name FROM run_stat"))

    def test_unknown_rank_is_refused_in_a_small_job_too(self) -> None:
        self.write(2, slow=-1, steps=3)
        messages = ""
        for rank in ("-1", "2", "0,7"):
            missing = self.xlatrace("merge", self.ranks, "-o", self.job, "--ranks", rank)
            self.assertEqual(missing.code, 2, missing)
            self.assertFalse(self.job.exists())
            messages += missing.stderr
        self.assert_golden_text(messages)

    def test_the_shared_copy_has_no_host_and_no_path(self) -> None:
        self.write(5, slow=1)
        self.merge(self.ranks, "-o", self.job)
        shared = self.folder / "shared.db"
        made = self.xlatrace("export", self.job, "--to", "db", "--share-safe", "-o", shared)
        self.assertEqual(made.code, 0, made)
        content = shared.read_bytes()
        for name in (b"host1", str(self.ranks).encode(), b"rank0001.db"):
            self.assertNotIn(name, content)


class RealRanksTest(JobCase):
    """Two of four ranks of a real job, each with a module of its own of the same program."""

    def test_finding_of_two_ranks_counts_instructions_once(self) -> None:
        folder = self.folder
        pax = "captures/nsys-jax-pax-fsdp4-a100"
        for name, source in ("p0", "proc0"), ("p1", "proc1.zip"):
            imported = self.xlatrace("import", support.require_data(f"{pax}/{source}"), "-o", folder / f"{name}.db")
            self.assertEqual(imported.code, 0, imported)
        merged = self.merge(folder / "p0.db", folder / "p1.db", "-o", folder / "job.db")
        # Two of the four ranks: no rank is blamed, and the message gives the reason.
        self.assert_golden_text(merged.stderr)
        found = {}
        for name in "p0", "job":
            with sqlite3.connect(folder / f"{name}.db") as connection:
                text, = connection.execute("SELECT evidence FROM finding WHERE id = 'attention_unfused'").fetchone()
                found[name] = json.loads(text)
        alone, both = found["p0"], found["job"]
        self.assertEqual(both[0]["instructions"], len(alone[0]["handles"]))
        self.assertTrue(both[0]["text"].startswith(f"{len(alone[0]['handles'])} "), both[0])
        self.assertEqual(len(both[0]["handles"]), 2 * len(alone[0]["handles"]))
        largest = [entry[1] for entry in (alone, both)]
        self.assertEqual([(entry["unit"], entry["handle"] is None) for entry in largest], 2 * [("ns", False)])
        self.assertEqual(largest[0]["text"], largest[1]["text"])
        self.assertAlmostEqual(largest[1]["value"] / largest[0]["value"], 1, delta=0.02)
        # The job's step is another figure than the mean of the launches' own steps, and is called so.
        with sqlite3.connect(folder / "job.db") as connection:
            steps = sorted(ns for ns, in connection.execute(
                "SELECT max(step_ns) FROM rank_step GROUP BY step HAVING min(steady)"))
        self.assertEqual(self.xlatrace("report", folder / "job.db", "-o", folder / "job.html").code, 0)
        facts = page_reader.Page.open(folder / "job.html").meta["facts"]
        note = next(fact["note"] for fact in facts if fact["id"] == "step")
        self.assertEqual(note.split()[-2:], [f"{steps[(len(steps) - 1) // 2] / 1e6:.3g}", "ms"])
        self.assert_golden_text(note)

    def test_job_without_a_slow_rank_has_no_finding_about_waiting(self) -> None:
        folder = self.folder
        capture = support.require_data("captures/nsys-jax-maxtext-fsdp4-h100")
        self.assertEqual(self.xlatrace("import", capture, "-o", folder / "run.db").code, 0)
        merged = self.merge(folder / "run.db", "-o", folder / "job.db")
        self.assert_golden_text(merged.stderr)
        for name, told in ("run", 1), ("job", 0):
            with sqlite3.connect(folder / f"{name}.db") as connection:
                count, = connection.execute("SELECT count(*) FROM finding WHERE id = 'arrival_skew'").fetchone()
                self.assertEqual(count, told, name)


if __name__ == "__main__":
    unittest.main()
