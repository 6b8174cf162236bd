# SPDX-License-Identifier: Apache-2.0
"""Occupancy against what a profiler recorded on the real GPUs.

Kineto writes "est. achieved occupancy %" beside every kernel: the resident warps by the calculator of the
CUDA toolkit, at most the warps of the grid. Its calculator uses the default limit of shared memory, so
kernels that opted in to more than 48 KB have 0 there."""

import gzip
import json
import unittest

import support

COLUMNS = (
    "grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread,"
    " shared_memory_dynamic_bytes, blocks_per_sm, theoretical_occupancy_pct, waves"
)


class RecordedOccupancy(support.TestCase):
    def compare(self, name, at_least):
        path = support.require_data(f"kineto/{name}.json.gz")
        self.assertEqual(self.run_program("import", path, "-o", "run.db").code, 0)
        text = self.run_program(
            "query", "run.db", f"SELECT DISTINCT {COLUMNS} FROM launch", "--format", "json"
        ).stdout
        ours = {}
        for row in json.loads(text)["rows"]:
            key = tuple(row[c.strip()] for c in COLUMNS.split(",")[:8])
            ours[key] = row
        with gzip.open(path) as file:
            trace = json.load(file)
        device = trace["deviceProperties"][0]
        compared = 0
        for event in trace["traceEvents"]:
            recorded = event.get("args", {})
            if "est. achieved occupancy %" not in recorded:
                continue
            shared = recorded["shared memory"]
            if shared > 48 * 1024:
                continue
            key = (*recorded["grid"], *recorded["block"], recorded["registers per thread"], shared)
            row = ours[key]
            blocks = 1
            for axis in recorded["grid"]:
                blocks *= axis
            threads = 1
            for axis in recorded["block"]:
                threads *= axis
            warps = -(-threads // 32)
            resident = min(row["blocks_per_sm"], blocks / device["numSms"]) * warps
            most = device["maxThreadsPerMultiprocessor"] / 32
            self.assertAlmostEqual(
                100 * resident / most, recorded["est. achieved occupancy %"], delta=1, msg=key
            )
            self.assertAlmostEqual(
                row["theoretical_occupancy_pct"], 100 * row["blocks_per_sm"] * warps / most, 2
            )
            self.assertAlmostEqual(
                row["waves"], blocks / (row["blocks_per_sm"] * device["numSms"]), delta=0.001
            )
            compared += 1
        self.assertGreaterEqual(compared, at_least)

    def test_occupancy_on_a100_equals_the_recorded(self):
        self.compare("hta_alexnet", at_least=60)

    def test_occupancy_on_h100_equals_the_recorded(self):
        self.compare("h100_bert-small", at_least=50)

    def test_occupancy_on_b200_equals_the_recorded(self):
        self.compare("b200_eager_trace", at_least=500)


if __name__ == "__main__":
    unittest.main()
