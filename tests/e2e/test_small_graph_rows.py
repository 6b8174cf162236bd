# SPDX-License-Identifier: Apache-2.0
"""Graph-level rows of an export of a few steps: the output of commands for ops with shares of them."""

import json
import unittest

import annotated_export
import support

# The first of 8 steps runs both ops of a command buffer separately (3,000 and 1,000 ns). The others run them
# as one row of 3,900 ns, which is divided by these times: three quarters and one quarter.
OWN = {"loop_subtract_fusion.1": (3_000, 2_925), "loop_divide_fusion": (1_000, 975)}


class GraphRows(support.TestCase):
    def setUp(self):
        super().setUp()
        annotated_export.training(self.folder / "export.sqlite")
        self.ok("import", "export.sqlite", "-o", "run.db")

    def ok(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, 0, str(result))
        return result.stdout

    def test_show_the_sheet_of_an_op_has_its_shares_everywhere(self):
        for name, (alone, shared) in OWN.items():
            with self.subTest(name):
                sheet = json.loads(self.ok("show", name, "run.db", "--format", "json"))
                ns = alone + 7 * shared
                self.assertEqual((sheet["op"]["self_ns"], sheet["op"]["occurrences"]), (ns, 8))
                self.assertEqual([step["self_ns"] for step in sheet["steps"]], [alone] + 7 * [shared])
                self.assertEqual({(row["kind"], row["launches"], row["self_ns"]) for row in sheet["launches"]},
                                 {("graph", 7, 7 * shared), ("kernel", 1, alone)})
                self.assertEqual({(row["confidence"], row["activities"], row["self_ns"]) for row in sheet["evidence"]},
                                 {("inferred", 7, 7 * shared), ("exact", 1, alone)})
                self.assertEqual(sheet["op"]["ran_on_devices"], 1)

    def test_show_text_has_the_same_figures(self):
        self.assert_golden_text(self.ok("show", "loop_divide_fusion", "run.db"))

    def test_diff_with_single_kernels_finds_equal_call_counts(self):
        export = annotated_export.Export(self.folder / "kernels.sqlite")
        step = annotated_export.Module("jit_step", 186)

        def main():
            export.launch(step, "jit(step)/opt/sub", "loop_subtract_fusion.1", "loop_subtract_fusion_1", 3_000)
            export.launch(step, "jit(step)/opt/div", "loop_divide_fusion", "loop_divide_fusion", 1_000)

        for _ in range(8):
            export.execute(step, main)
        export.close()
        self.ok("import", "kernels.sqlite", "-o", "kernels.db")
        rows = json.loads(self.ok("diff", "kernels.db", "run.db", "--format", "json"))["rows"]
        calls = {row["new"][0]["instruction"]: (row["base_calls"], row["new_calls"])
                 for row in rows if len(row["base"]) == len(row["new"]) == 1}
        for name in OWN:
            self.assertEqual(calls[name], (1, 1), rows)


if __name__ == "__main__":
    unittest.main()
