# SPDX-License-Identifier: Apache-2.0
"""Views of random jobs against rows counted from the jobs (random_job.py, job_truth.py)."""

import collections
import sys
import unittest

import job_case
import job_truth as truth

COPY_KINDS = {"to device": "host_to_device", "to host": "device_to_host", "on device": "device_to_device"}


class GeneratedJobs(job_case.JobTest):
    def test_views_have_the_rows_of_the_job(self):
        for seed in job_case.seeds():
            with self.subTest(seed=seed):
                run = self.imported(seed)
                self.check_windows(run)
                self.check_activities(run)
                self.check_executions(run)
                self.check_steps(run)
                self.check_ops(run)
                self.check_collectives(run)
                self.check_copies(run)
                self.check_phases(run)
                self.check_scopes(run)
                self.check_parts(run)

    def check_windows(self, run):
        """Those of a process begin and end with its own work and its own pauses."""
        got = collections.defaultdict(list)
        for row in run.rows("SELECT * FROM window ORDER BY process_id, start_ns"):
            got[run.process[row["process_id"]]].append((row["start_ns"] - run.zero, row["end_ns"] - run.zero, row["why_ended"]))
        for process in range(run.job.processes):
            own = [work for work in run.job.works if work.process == process]
            pauses = [(start, end) for of, start, end in run.job.pauses if of == process]
            self.assertEqual(len(got[process]), len(pauses) + 1)
            self.assertEqual(got[process][-1][1:], (max(work.end for work in own), "end"))
            for (start, end), before, after in zip(pauses, got[process], got[process][1:]):
                # Work of other devices goes on for a while.
                self.assertEqual(before[2], "asked")
                self.assertAlmostEqual(before[1], start, delta=100_000)
                self.assertAlmostEqual(after[0], end, delta=100_000)

    def check_activities(self, run):
        got = collections.Counter(
            (run.device[row["device_id"]], row["stream_id"], row["start_ns"] - run.zero, row["end_ns"] - run.zero,
             row["self_ns"], run.module[row["module_id"]] if row["module_id"] else None, row["instruction"], row["step"],
             row["phase"], row["source_line"], row["confidence"])
            for row in run.rows("SELECT * FROM activity"))
        want = collections.Counter(
            (truth.device_of(work), work.stream, work.start, work.end, work.ns,
             (work.process, work.program) if work.program else None, work.op and work.op.name, run.step_of(work),
             truth.phase_of(work), work.op and work.op.line, "exact" if work.op else "none")
            for work in run.job.works)
        self.assertEqual(got, want)

    def check_executions(self, run):
        got = collections.Counter(
            (run.module[row["module_id"]], run.device[row["device_id"]], row["start_ns"] - run.zero,
             row["end_ns"] - run.zero, row["activities"], row["complete"])
            for row in run.rows("SELECT * FROM execution"))
        runs = collections.defaultdict(list)
        for work in run.job.works:
            if work.execution:
                runs[(work.process, work.program), truth.device_of(work), work.execution].append(work)
        want = collections.Counter(
            (module, device, min(work.start for work in own), max(work.end for work in own), len(own), 1)
            for (module, device, _), own in runs.items())
        self.assertEqual(got, want)

    def check_steps(self, run):
        got, typical = collections.defaultdict(dict), set()
        for row in run.rows("SELECT * FROM step ORDER BY device_id, step"):
            got[run.device[row["device_id"]]][row["step"]] = (
                row["start_ns"] - run.zero, row["end_ns"] - run.zero, row["duration_ns"] is not None)
            if row["typical"]:
                typical.add((run.device[row["device_id"]], row["step"]))
            own = [work for work in run.works[run.device[row["device_id"]]] if run.step_of(work) == row["step"]]
            self.assertEqual(row["device_ns"], sum(work.ns for work in own))
        self.assertEqual(got, run.steps)
        self.assertEqual(typical, run.typical)

    def check_ops(self, run):
        works = collections.defaultdict(list)
        for work in run.job.works:
            if work.op:
                works[(work.process, work.program), work.op.name].append(work)
        device_ns = sum(work.ns for work in run.job.works)
        keys = ("occurrences", "total_ns", "self_ns", "steady_ns", "average_ns", "min_ns", "max_ns", "self_pct", "flops",
                "bytes", "phase", "source_line")
        got = {(run.module[row["module_id"]], row["instruction"]): {key: row[key] for key in keys}
               for row in run.rows("SELECT * FROM op_time WHERE instruction IS NOT NULL")}
        want = {}
        for key, own in works.items():
            # Kernels of one run of an op are one occurrence.
            runs = collections.Counter()
            for work in own:
                runs[truth.device_of(work), work.execution] += work.ns
            ns = list(runs.values())
            flops, bytes_ = truth.flops_and_bytes(own[0].op)
            want[key] = dict(zip(keys, (
                len(ns), sum(ns), sum(ns), sum(work.ns for work in own if run.is_typical(work)), sum(ns) // len(ns),
                min(ns), max(ns), 100 * sum(ns) / device_ns, flops * len(ns), bytes_ * len(ns), own[0].op.phase,
                own[0].op.line)))
        self.assertEqual(set(got), set(want))
        for key, row in want.items():
            self.assertAlmostEqual(got[key].pop("self_pct"), row.pop("self_pct"))
            self.assertEqual(got[key], row, key)

    def check_collectives(self, run):
        rows = {(run.device[row["device_id"]], row["start_ns"] - run.zero): row for row in run.rows(
            "SELECT c.*, a.device_id, a.start_ns FROM collective c JOIN activity a USING (activity_id)")}
        groups = truth.exchanges(run.job.works)
        self.assertEqual(len(rows), sum(map(len, groups)))
        for group in groups:
            found = [rows[truth.device_of(work), work.start] for work in group]
            self.assertEqual(len({row["group_id"] for row in found}), 1)
            last = max(work.start for work in group)
            for work, row in zip(group, found):
                wait = work.ns - min(other.ns for other in group)
                self.assertEqual((row["op"], row["group_size"], row["bytes"]),
                                 ("all-reduce", run.job.places, 4 * work.op.elements))
                self.assertEqual(row["wait_ns"], wait)
                self.assertEqual(row["exposed_ns"], truth.exposed(work, run.works[truth.device_of(work)]))
                if row["arrival_skew_ns"] is not None:
                    self.assertEqual(row["arrival_skew_ns"], min(last, work.end) - work.start)
                time = work.ns - (wait if row["arrival_skew_ns"] is None else row["arrival_skew_ns"])
                if time > 0:
                    rate = 4 * work.op.elements * 1e9 / time
                    bus = rate * 2 * (run.job.places - 1) / run.job.places  # As NCCL's tests define it.
                    self.assertAlmostEqual(row["algorithm_bandwidth"], rate, delta=1)
                    self.assertAlmostEqual(row["bus_bandwidth"], bus, delta=1)

    def check_copies(self, run):
        got = collections.Counter(
            (run.device[row["device_id"]], row["copy_kind"], row["start_ns"] - run.zero, row["duration_ns"], row["bytes"],
             row["bandwidth_bytes_per_s"]) for row in run.rows("SELECT * FROM copy"))
        want = collections.Counter(
            (truth.device_of(work), COPY_KINDS[work.direction], work.start, work.ns, work.bytes,
             work.bytes * 1_000_000_000 // work.ns) for work in run.job.works if work.direction)
        self.assertEqual(got, want)

    def check_phases(self, run):
        got = {(run.device[row["device_id"]], row["step"], row["phase"]): row["self_ns"]
               for row in run.rows("SELECT * FROM phase_time WHERE self_ns > 0")}
        want = collections.Counter()
        for work in run.job.works:
            want[truth.device_of(work), run.step_of(work), truth.phase_of(work)] += work.ns
        self.assertEqual(got, want)

    def check_scopes(self, run):
        got = {(row["source_file"], row["source_line"], row["phase"]): row["self_ns"]
               for row in run.rows("SELECT * FROM scope_time")}
        want = collections.Counter()
        for work in run.job.works:
            want[truth.file_of(work), work.op and work.op.line, truth.phase_of(work)] += work.ns
        self.assertEqual(got, want)

    def check_parts(self, run):
        got = collections.defaultdict(collections.Counter)
        for row in run.rows("SELECT * FROM step_part"):
            got[run.device[row["device_id"]], row["step"]][row["part"]] += row["wall_ns"]
        for device, steps in run.steps.items():
            for number, (start, end, _) in steps.items():
                want = truth.parts(run.works[device], start, end)
                self.assertEqual(sum(got[device, number].values()), end - start)
                for part in {*want, *got[device, number]}:
                    self.assertAlmostEqual(got[device, number][part], want[part], delta=20, msg=(device, number, part))


if __name__ == "__main__":
    sys.exit(unittest.main())
