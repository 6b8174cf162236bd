#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checker: a run.db that holds the truth passes, and one with a wrong node fails."""

import pathlib
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from machine import simulate  # noqa: E402
from product import read_product  # noqa: E402
from recording import KINETO, record  # noqa: E402
from score import compare  # noqa: E402
from truth import truth_of  # noqa: E402

COLUMNS = "node_id, parent_id, process_id, device_id, kind, name, instruction, ns, per_step_ns"


class Database:
    """A run.db with the views that the checker reads. `has_kind_nodes`: names are below a node of their kind."""

    def __init__(self, path, truth, has_kind_nodes):
        self.db = sqlite3.connect(path)
        self.db.executescript(f"""
            CREATE TABLE nodes ({COLUMNS}); CREATE VIEW time_tree AS SELECT * FROM nodes;
            CREATE TABLE process (process_id, rank); INSERT INTO process VALUES (1, NULL);
            CREATE TABLE step (step, process_id, device_id, start_ns, end_ns, steady, typical, first_execution);""")
        self.ids = {}
        root = self.node(None, "process", None, truth["root_ns"])
        for path in sorted(truth["process"]):
            self.add_path(path, truth, root, has_kind_nodes)
        # The first step has the typical duration, and no other one is typical.
        for number, start, end, has_duration in truth["steps"][0]:
            typical = truth["typical_ns"] is not None and number == truth["steps"][0][0][0]
            end = start + truth["typical_ns"] if typical else end
            self.db.execute("INSERT INTO step VALUES (?, 1, 1, ?, ?, ?, ?, 0)", (number, start, end, has_duration, typical))
        self.db.commit()
        self.db.close()

    def node(self, parent, kind, name, ns, per_step_ns=None):
        id_ = len(self.ids) + 1
        self.ids[id_] = None
        self.db.execute("INSERT INTO nodes VALUES (?, ?, 1, NULL, ?, ?, NULL, ?, ?)",
                        (id_, parent, kind, name, ns, per_step_ns))
        return id_

    def add_path(self, path, truth, root, has_kind_nodes):
        tree, parts = truth["process"], path.split("/", 3)
        parent = self.ids.get("/".join(parts[:-1]), root)
        kind, name = parts[-1], None
        if parts[:2] == ["steps", "computation"] and len(parts) == 3:
            kind, name = "op", parts[2]
        elif parts[:2] == ["steps", "idle"] and len(parts) == 3 and not has_kind_nodes:
            return  # The pairs of kind and name follow.
        elif len(parts) == 4:
            kind, name = parts[2], parts[3] or None
            parent = parent if has_kind_nodes else self.ids["steps/idle"]
        per_step = truth["typical_ns"] if path == "steps" else None
        self.ids[path] = self.node(parent, kind, name, tree[path], per_step)


class CheckTest(unittest.TestCase):
    def checks(self, truth, shown, has_kind_nodes=True):
        with tempfile.TemporaryDirectory() as folder:
            Database(f"{folder}/run.db", shown, has_kind_nodes)
            return compare(truth, read_product(f"{folder}/run.db"))

    def truths(self):
        for seed in range(8):
            run = simulate(seed)
            yield truth_of(record(run, run.processes[0], KINETO))

    def test_tree_of_the_truth_passes_in_both_layouts(self):
        for truth in self.truths():
            for has_kind_nodes in (True, False):
                checks = self.checks(truth, truth, has_kind_nodes)
                self.assertEqual([name for name, right in checks.items() if not right], [])

    def test_time_in_a_wrong_node_fails(self):
        for truth in self.truths():
            tree = dict(truth["process"])
            moved = 0.03 * truth["root_ns"]
            tree["steps/computation"] -= moved
            tree["steps/idle"] = tree.get("steps/idle", 0) + moved
            checks = self.checks(truth, {**truth, "process": tree})
            self.assertFalse(checks["steps/computation"])
            self.assertFalse(checks["steps/idle"])
            self.assertTrue(checks["steps"])

    def test_typical_step_that_is_two_percent_longer_fails(self):
        for truth in self.truths():
            longer = {**truth, "typical_ns": truth["typical_ns"] * 1.02}
            self.assertFalse(self.checks(truth, longer)["typical"])


if __name__ == "__main__":
    unittest.main()
