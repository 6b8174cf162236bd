# SPDX-License-Identifier: Apache-2.0
"""Exports of random jobs against times and rows counted from the jobs (random_job.py, job_truth.py)."""

import collections
import csv
import gzip
import json
import re
import sqlite3
import sys
import unittest

import job_case
import job_truth as truth
from random_job import COLLECTIVE

COSTS = re.compile(r'costs { name: "([^"]+)" cost_us: ([\d.e+-]+) }')


class GeneratedExports(job_case.JobTest):
    def test_exports_have_the_times_of_the_job(self):
        for seed in job_case.seeds():
            with self.subTest(seed=seed):
                run = self.imported(seed)
                self.check_kineto(run)
                self.check_pgle(run)
                self.check_stacks(run)
                self.check_tables(run)
                self.check_other_ways(run)

    def export(self, run, format, *options):
        output = run.path.with_name(f"out.{format}")
        result = self.run_program("export", run.path, "--to", format, "-o", output, "--force", *options)
        self.assertEqual(result.code, 0, result)
        return output

    def check_kineto(self, run):
        """Work with its place, instruction and step; one range per step of the first device; a call per work."""
        for rank, file in enumerate(sorted(self.export(run, "kineto").iterdir())):
            trace = json.loads(gzip.decompress(file.read_bytes()))
            events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
            zero = min(event["ts"] for event in events if event["cat"] in ("kernel", "gpu_memcpy"))
            works = [work for work in run.job.works if work.process == rank]
            first = min(work.start for work in works)

            def time(event):
                start = round(1000 * (event["ts"] - zero)) + first
                return start, start + round(1000 * event["dur"])

            got = collections.Counter(
                (event["args"]["device"], event["args"]["stream"], *time(event), event["args"].get("instruction"),
                 event["args"].get("step"), event["args"].get("bytes") if event["cat"] == "gpu_memcpy" else None)
                for event in events if event["cat"] in ("kernel", "gpu_memcpy"))
            want = collections.Counter(
                (work.device, work.stream, work.start, work.end, work.op and work.op.name, run.step_of(work),
                 work.bytes or None) for work in works)
            self.assertEqual(got, want)
            marks = [(event["name"], *time(event)) for event in events if event["name"].startswith("ProfilerStep")]
            self.assertEqual(
                sorted(marks), sorted((f"ProfilerStep#{n}", *step[:2]) for n, step in run.steps[rank, 0].items()))
            calls = [event["args"]["correlation"] for event in events if event["cat"] == "cuda_driver"]
            launched = [event["args"]["correlation"] for event in events if event["cat"] in ("kernel", "gpu_memcpy")]
            self.assertEqual(len(set(launched)), len(works))
            self.assertLessEqual(set(launched), set(calls))

    def check_pgle(self, run):
        """Microseconds per run of an op: the mean of typical steps on the slowest device for collectives, else the fastest."""
        got = {}
        for file in self.export(run, "pgle").glob("*.pbtxt"):
            for name, cost in COSTS.findall(file.read_text()):
                got.setdefault((file.name.split(".")[0], name), []).append(float(cost))
        works = collections.defaultdict(lambda: collections.defaultdict(list))
        for work in run.job.works:
            if work.op:
                works[work.program, work.op][truth.device_of(work)].append(work)
        want = collections.defaultdict(list)
        for (program, op), devices in works.items():
            for process in range(run.job.processes):
                means = []
                for (of, _), own in devices.items():
                    own = [work for work in own if run.is_typical(work)] or own
                    if of == process:  # All kernels of one run are one.
                        runs = len({work.execution for work in own})
                        means.append(sum(work.ns for work in own) / runs / 1000)
                cost = max(means) if op.kind == COLLECTIVE else min(means)
                want["jit_eval" if program == 11 else "jit_step", op.name].append(cost)
        self.assertEqual(set(got), set(want))
        for key, costs in want.items():
            for a, b in zip(sorted(got[key]), sorted(costs)):
                self.assertAlmostEqual(a, b, msg=key)

    def check_stacks(self, run):
        """Frames are the rank, if there are several, the phase, and so on to the instruction."""
        want = collections.Counter()
        for work in run.job.works:
            rank = f"rank {work.process}" if run.job.processes > 1 else None
            want[rank, truth.phase_of(work), work.op.name if work.op else work.direction] += work.ns
        copies = {"MemcpyH2D": "to device", "MemcpyD2H": "to host", "MemcpyD2D": "on device"}

        def key(frames):
            rank = frames.pop(0).split(" on ")[0] if run.job.processes > 1 else None
            return rank, frames[0], copies.get(frames[-1], frames[-1])

        got = collections.Counter()
        for line in self.export(run, "folded").read_text().splitlines():
            stack, _, ns = line.rpartition(" ")
            got[key(stack.split(";"))] += int(ns)
        self.assertEqual(got, want)
        page = json.loads(self.export(run, "speedscope").read_text())
        names = [frame["name"] for frame in page["shared"]["frames"]]
        got = collections.Counter()
        for profile in page["profiles"]:
            self.assertEqual(profile["unit"], "nanoseconds")
            rank = [profile["name"].partition(",")[0]] if run.job.processes > 1 else []
            for stack, weight in zip(profile["samples"], profile["weights"]):
                got[key([*rank, *(names[frame] for frame in stack)])] += weight
        self.assertEqual(got, want)

    def check_tables(self, run):
        """Cells of CSV files are those of the views."""
        folder = self.export(run, "csv", "--view", "activity", "op_time", "step", "copy", "collective")
        for view in ("activity", "op_time", "step", "copy", "collective"):
            with open(folder / f"{view}.csv", newline="") as file:
                head, *lines = csv.reader(file)
            rows = run.rows(f"SELECT * FROM {view}")
            self.assertEqual(head, list(rows[0].keys()) if rows else head)
            got, want = collections.Counter(map(tuple, lines)), collections.Counter()
            for row in rows:
                want[tuple("" if cell is None else str(cell) for cell in row)] += 1
            if view != "op_time":  # It has shares, which are not integers.
                self.assertEqual(got, want, view)
            self.assertEqual(sum(got.values()), len(rows))

    def check_other_ways(self, run):
        """The export is imported again: the same work on the same devices."""
        for format, suffix in (("nsys", "sqlite"), ("xplane", "xplane.pb")):
            output = run.path.with_name(f"again.{suffix}")
            result = self.run_program("export", run.path, "--to", format, "-o", output)
            self.assertEqual(result.code, 0, result)
            again = run.path.with_name(f"again.{format}.db")
            result = self.run_program("import", output, "-o", again)
            self.assertEqual(result.code, 0, result)
            database = sqlite3.connect(again)
            self.addCleanup(database.close)
            rows = database.execute(
                "SELECT start_ns, duration_ns, stream_id, bytes, instruction FROM activity").fetchall()
            zero = min(row[0] for row in rows)
            first = min(work.start for work in run.job.works)
            got = collections.Counter((start - zero + first, *row) for start, *row in rows)
            is_xplane = format == "xplane"  # It names instructions, and no sizes.
            want = collections.Counter(
                (work.start, work.ns, work.stream, None if is_xplane else work.bytes or None,
                 work.op.name if work.op and is_xplane else None) for work in run.job.works)
            self.assertEqual(got, want, format)


if __name__ == "__main__":
    sys.exit(unittest.main())
