# SPDX-License-Identifier: Apache-2.0
"""Tables of `summary` and of the page of random jobs against figures counted from the jobs (random_job.py)."""

import collections
import json
import re
import sys
import unittest

import job_case
import job_truth as truth
from page_reader import Page

# Rows of these tables sum works: how to sort a work into its row, and which columns name the row.
TABLES = {
    "phase": (("phase",), truth.phase_of),
    "source": (("source_file", "source_line"), lambda work: (truth.file_of(work), work.op and work.op.line)),
    "op_kind": (("op_kind",), lambda work: work.op and work.op.kind),
    "module": (("module", "program_id"), lambda work: (work.program and truth.NAMES[work.program], work.program)),
}
KINDS = ("forward", "backward", "optimizer", "other", "unknown")


class GeneratedReports(job_case.JobTest):
    def test_summary_and_page_have_the_figures_of_the_job(self):
        for seed in job_case.seeds():
            with self.subTest(seed=seed):
                run = self.imported(seed)
                # Works of typical steps: the tables are per step of one device.
                self.basis = [work for work in run.job.works if run.is_typical(work)]
                self.check_summary(run)
                self.check_page(run)
                self.check_bins(run)

    def summary(self, run, *options):
        result = self.run_program("summary", run.path, "--format", "json", *options)
        self.assertEqual(result.code, 0, result)
        return json.loads(result.stdout)

    def check_summary(self, run):
        whole = self.summary(run)
        device_ns = sum(work.ns for work in self.basis)
        self.assertEqual(whole["steps"]["step_devices"], len(run.typical))
        lengths = [end - start for device, steps in run.steps.items() for n, (start, end, _) in steps.items()
                   if (device, n) in run.typical]
        self.assertEqual(whole["steps"]["wall_ns"], sum(lengths))
        self.assertEqual(whole["attribution"]["device_ns"], device_ns)
        self.assertEqual(whole["attribution"]["activities"], len(self.basis))
        self.assertEqual(whole["attribution"]["exact_ns"], sum(work.ns for work in self.basis if work.op))
        self.assertEqual(whole["attribution_whole_run"]["device_ns"], sum(work.ns for work in run.job.works))
        self.assertEqual(whole["attribution_whole_run"]["activities"], len(run.job.works))
        gaps = collections.Counter()
        for row in run.rows("SELECT * FROM gap"):
            device = run.device[row["device_id"]]
            start = row["start_ns"] - run.zero
            step = next((n for n, (begin, end, _) in run.steps[device].items() if begin <= start < end), None)
            if (device, step) in run.typical:
                gaps[row["cause"]] += row["end_ns"] - row["start_ns"]
        self.assertEqual({row["cause"]: row["ns"] for row in whole["gaps"]}, gaps)
        for by, (columns, key) in TABLES.items():
            want = collections.Counter()
            for work in self.basis:
                want[key(work)] += work.ns
            got = collections.Counter()
            for row in self.summary(run, "--by", by)["table"]["rows"]:
                cells = tuple(row[column] for column in columns)
                got[cells if len(cells) > 1 else cells[0]] += row["ns"]
                self.assertAlmostEqual(row["ns_per_step"], row["ns"] / len(run.typical), delta=0.5)
                self.assertAlmostEqual(row["pct"], 100 * row["ns"] / device_ns, delta=0.001)
                for phase in KINDS:
                    if f"{phase}_ns" in row:
                        self.assertEqual(row[f"{phase}_ns"], sum(
                            work.ns for work in self.basis if key(work) == cells and truth.phase_of(work) == phase))
            self.assertEqual(got, want, by)
        for row in whole["modules"]:
            words = re.search(r"(\d+) executions? per device", row["role_reason"] or "")
            self.assertEqual(row["role"], "main" if row["program_id"] == truth.STEP_PROGRAMS[0] else "helper")
            if words:
                self.assertEqual(int(words[1]), run.job.iterations)

    def check_page(self, run):
        page = self.page(run)
        modules = page.rows("modules")
        place = [run.module[row["module_id"]] for row in modules]
        want = collections.defaultdict(collections.Counter)
        for work in run.job.works:
            if work.op:
                row = want[(work.process, work.program), work.op.name]
                row["self_ns"] += work.ns
                row["ns"] += work.ns if run.is_typical(work) else 0
        ops = page.rows("ops")
        got = {(place[row["module"]], row["instruction"]): {"self_ns": row["self_ns"], "ns": row["ns"]}
               for row in ops if row["instruction"]}
        self.assertEqual(got, {key: {"self_ns": row["self_ns"], "ns": row["ns"]} for key, row in want.items()})
        basis = page.meta["basis"]
        self.assertEqual(basis["device_ns"], sum(work.ns for work in self.basis))
        self.assertEqual(basis["activities"], len(self.basis))
        for table in ("ops", "op_shares", "sites", "kernels"):
            self.assertEqual(sum(row["ns"] for row in page.rows(table)), basis["device_ns"], table)
            self.assertEqual(sum(row["self_ns"] for row in page.rows(table)), sum(w.ns for w in run.job.works), table)
        for table in ("sites", "kernels"):
            self.assertEqual(sum(row["calls"] for row in page.rows(table)), len(self.basis), table)
        sites = collections.Counter()
        for row in page.rows("sites"):
            sites[row["op"]] += row["ns"]
        self.assertEqual(sites, collections.Counter({n: row["ns"] for n, row in enumerate(ops)}))
        self.check_launches(run, page)
        self.check_ways_of_collectives(run, page, ops, place)

    def check_launches(self, run, page):
        """The timeline: stream, start, duration and step."""
        got, devices, streams = collections.Counter(), page.rows("devices"), page.rows("streams")
        for chunk, columns in page.chunks("launches"):
            at = 0
            for part in chunk["runs"]:
                stream = streams[part["stream"]]
                place = (run.device[devices[stream["device"]]["device_id"]], stream["stream_id"])
                end = part["start_ns"]
                for n in range(at, at + part["rows"]):
                    start = end + (columns["gap_ns"][n] if n > at else 0)
                    end = start + columns["duration_ns"][n]
                    got[(*place, start - run.zero, end - run.zero, columns["step"][n])] += 1
                at += part["rows"]
        self.assertEqual(got, collections.Counter(
            (truth.device_of(work), work.stream, work.start, work.end, run.step_of(work)) for work in run.job.works))

    def check_ways_of_collectives(self, run, page, ops, place):
        for row in page.rows("collectives"):
            op = ops[row["op"]]
            own = [work for work in self.basis if work.op and work.op.name == op["instruction"]
                   and (work.process, work.program) == place[op["module"]]]
            self.assertEqual((row["calls"], row["ns"]), (len(own), sum(work.ns for work in own)))
            self.assertEqual(row["exposed_ns"], sum(
                truth.exposed(work, run.works[truth.device_of(work)]) for work in own))

    def check_bins(self, run):
        """With few launches in the page: sums of work by time and part."""
        page = self.page(run, "--max-launches", "10")
        width, zero = page.meta["launches"]["bin_ns"], page.meta["run"]["start_ns"] - run.zero
        devices = [run.device[row["device_id"]] for row in page.rows("devices")]
        got = {(devices[row["device"]], row["bin"], row["part"]): row["self_ns"] for row in page.rows("bins")}
        want = collections.Counter()
        for work in run.job.works:
            part = "copy" if work.direction else "collective" if work.op.kind == "collective" else work.op.phase
            for n in range((work.start - zero) // width, (work.end - zero - 1) // width + 1):
                begin = zero + n * width
                want[truth.device_of(work), n, part] += min(work.end, begin + width) - max(work.start, begin)
        for key in {*got, *want}:
            self.assertAlmostEqual(got.get(key, 0), want[key], delta=2, msg=key)

    def page(self, run, *options):
        output = run.path.with_name("run.html")
        result = self.run_program("report", run.path, "-o", output, "--force", *options)
        self.assertEqual(result.code, 0, result)
        return Page.open(output)


if __name__ == "__main__":
    sys.exit(unittest.main())
