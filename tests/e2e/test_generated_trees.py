# SPDX-License-Identifier: Apache-2.0
"""Time trees of random jobs: children sum to their parent, and parts have the times counted from the job."""

import collections
import sys
import unittest

import job_case
import tree_truth
from gpu_recording import LATENCY_NS

PARTS = ("computation", "exposed_collective", "exposed_copy", "idle")


class GeneratedTrees(job_case.JobTest):
    def test_tree_has_the_times_of_the_job(self):
        for seed in job_case.seeds():
            with self.subTest(seed=seed):
                run = self.imported(seed)
                self.nodes = {row["node_id"]: row for row in run.rows("SELECT * FROM time_tree")}
                self.children = collections.defaultdict(list)
                for row in self.nodes.values():
                    self.children[row["parent_id"]].append(row)
                self.check_sums()
                for device_id, place in run.device.items():
                    self.check_device(run, device_id, place)
                self.check_means(run)

    def check_sums(self):
        for node_id, node in self.nodes.items():
            if self.children[node_id]:
                self.assertEqual(sum(row["ns"] for row in self.children[node_id]), node["ns"], dict(node))
                self.assertEqual(
                    {(row["process_id"], row["device_id"]) for row in self.children[node_id]},
                    {(node["process_id"], node["device_id"])})

    def check_device(self, run, device_id, place):
        rows = [row for row in self.nodes.values() if row["device_id"] == device_id]
        works = run.works[place]
        root = [row for row in rows if row["parent_id"] is None]
        self.assertEqual([row["kind"] for row in root], ["root"])
        windows = sum(row["end_ns"] - row["start_ns"] for row in run.rows("SELECT * FROM window")
                      if run.process[row["process_id"]] == place[0])
        # The first launch is recorded before the first work starts.
        self.assertIn(root[0]["ns"] - windows, (0, LATENCY_NS))
        ops = collections.Counter()
        for row in rows:
            if row["kind"] == "op":
                ops[row["instruction"]] += row["ns"]
        want = tree_truth.computed(works)
        self.assertEqual(set(ops), set(want))
        for name, ns in want.items():
            self.assertAlmostEqual(ops[name], ns, delta=50)  # Each instant is rounded.
        sums = collections.Counter()
        for row in rows:
            # A part can be divided into nodes of its own kind.
            parent = self.nodes.get(row["parent_id"])
            if row["kind"] in PARTS and parent["kind"] != row["kind"]:
                sums[row["kind"]] += row["ns"]
        collective, copy = tree_truth.exposed(works)
        self.assertEqual(sums["exposed_collective"], collective)
        self.assertEqual(sums["exposed_copy"], copy)
        self.assertAlmostEqual(sums["computation"], sum(want.values()), delta=1)

    def check_means(self, run):
        """The tree of a process is the mean of its devices, that of the job the mean of its processes.

        In the tree of the job, a wait is what the late rank does meanwhile: other kinds take the time of waits.
        """
        def sums(process_id, device_id):
            out = collections.Counter()
            for row in self.nodes.values():
                if (row["process_id"], row["device_id"]) == (process_id, device_id):
                    out[row["kind"]] += row["ns"]
            return out

        processes = list(run.process)
        devices = collections.defaultdict(list)
        for row in run.rows("SELECT * FROM device"):
            devices[row["process_id"]].append(row["device_id"])
        levels = [((process, None), [(process, device) for device in devices[process]]) for process in processes]
        if len(processes) > 1:
            levels.append(((None, None), [(process, None) for process in processes]))
        for mean, parts in levels:
            got = sums(*mean)
            if not got and len(parts) == 1:
                continue
            total = collections.Counter()
            for part in parts:
                total += sums(*part)
            self.assertAlmostEqual(got["root"], total["root"] / len(parts), delta=60, msg=mean)
            if mean == (None, None):
                for kind in ("computation", "exposed_copy", "idle"):
                    self.assertGreaterEqual(got[kind], total[kind] / len(parts) - 60, (mean, kind))
                self.assertLessEqual(got["wait"], total["wait"] / len(parts) + 60)
                continue
            for kind in ("steps", "startup", "between_steps", "shutdown", "computation", "exposed_copy", "idle"):
                self.assertAlmostEqual(got[kind], total[kind] / len(parts), delta=60, msg=(mean, kind))


if __name__ == "__main__":
    sys.exit(unittest.main())
