# SPDX-License-Identifier: Apache-2.0
"""`summary --by tree` has the nodes of the view time_tree, in JSON and as text."""

import json
import unittest

import support


class SummaryTree(support.TestCase):
    def setUp(self):
        super().setUp()
        support.require_program()
        (self.folder / "t.xplane.pb").write_bytes(support.xspace("jit_f", support.OPS, executions=6))
        result = self.run_program("import", "t.xplane.pb", "-o", "run.db")
        self.assertEqual(result.code, 0, result)

    def tree(self, *arguments):
        result = self.run_program("summary", "run.db", "--by", "tree", *arguments)
        self.assertEqual(result.code, 0, result)
        return result.stdout

    def nodes_below(self, node):
        yield node
        for child in node["children"]:
            yield from self.nodes_below(child)

    def test_json_has_each_node_of_the_view_once(self):
        shown = [(n["kind"], n["name"], n["ns"]) for n in self.nodes_below(json.loads(self.tree("--format", "json"))["tree"])]
        view = support.query(
            self.folder / "run.db", "SELECT kind, name, ns FROM time_tree WHERE process_id IS NULL")
        self.assertGreater(len(shown), 4)
        self.assertCountEqual(shown, [(row["kind"], row["name"], row["ns"]) for row in view])

    def test_children_are_sorted_and_sum_to_their_parent(self):
        for node in self.nodes_below(json.loads(self.tree("--format", "json"))["tree"]):
            times = [child["ns"] for child in node["children"]]
            self.assertEqual(times, sorted(times, reverse=True))
            if times:
                self.assertEqual(sum(times), node["ns"], node["kind"])

    def test_text_has_the_requested_nodes_and_fits(self):
        for width in (60, 80, 120):
            lines = self.tree("--top", "3", "--width", str(width)).splitlines()
            self.assertLessEqual(max(map(len, lines)), width)
            nodes = [line for line in lines[1:] if "smaller]" not in line]
            self.assertEqual(len(nodes), 3, lines)

    def test_other_formats_are_refused(self):
        result = self.run_program("summary", "run.db", "--by", "tree", "--format", "csv")
        self.assertEqual(result.code, 1, result)
        self.assertEqual(len(result.errors), 1, result)


if __name__ == "__main__":
    unittest.main()
