# SPDX-License-Identifier: Apache-2.0
"""Real TensorFlow, its CUDA build, on the fake GPU: kernels outside of XLA are attributed to their ops.

The truth, and what the tests need: tensorflow_case.py.
"""

import unittest

import support
from tensorflow_case import (
    PROGRAMS,
    TensorFlowCase,
    recorded,
    rig,
    rows,
    setUpModule,
    start,
    tearDownModule,
)

__all__ = ["setUpModule", "tearDownModule"]


class Ops(TensorFlowCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in ("graph", "keras", "jit", "eager"):
            recorded(program)

    def test_graph_mode_is_attributed_to_its_ops(self):
        for program, least in (("graph", 0.95), ("keras", 0.98)):
            with self.subTest(program=program):
                found = self.check_program(program)
                # The rest is what the program runs eagerly before its first step.
                self.assertGreater(found.share(), least)
                self.assertGreater(found.share(in_steps=True), 0.98)

    def test_kernels_of_one_name_have_different_ops(self):
        place = self.finished(recorded("graph"))
        types = rows(
            place,
            "SELECT DISTINCT op_type FROM launch WHERE kernel_symbol = 'main_kernel' ORDER BY 1",
        )
        # TensorFlow 2.17 computes gelu by Erf.
        erf = "Erfc" if rig.Rig().version >= (2, 18) else "Erf"
        self.assertLessEqual({"Neg", erf, "Square", "Exp"}, {row[0] for row in types})

    def test_xla_kernels_keep_their_instructions(self):
        found = self.check_program("jit")
        self.assertGreater(found.kernels["xla"], 100)
        self.assertGreater(found.share("xla", in_steps=True), 0.98)

    def test_eager_ops_are_marked_as_eager(self):
        place = self.finished(recorded("eager"))
        for label, activity in self.compared(place):
            if activity["kind"] == "kernel" and not label:
                self.assertEqual(activity["unattributed_reason"], "eager", dict(activity))
        finding = rows(place, "SELECT title FROM finding WHERE id = 'eager_kernels'")
        self.assertEqual(len(finding), 1)
        self.assertIn("tf.function", finding[0]["title"])

    def test_steps_are_found_without_xla(self):
        for program, steps in (("graph", 8), ("keras", 16)):
            with self.subTest(program=program):
                place = self.finished(recorded(program))
                # Which of them are steady is a matter of the host's time.
                self.assertEqual(len(rows(place, "SELECT * FROM step")), steps)

    def test_phases_and_layers_follow_the_model(self):
        place = self.finished(recorded("graph"))
        expected = {
            "dense_0/MatMul": ("forward", "dense_0", "dense_*"),
            "gradient_tape/dense_2/MatMul/MatMul_1": ("backward", "dense_2", "dense_*"),
            "loss/Mean": ("loss", "loss", "loss"),
            "sgd/mul_1": ("optimizer", "sgd", "sgd"),
        }
        found = {
            row["op_name"]: (row["phase"], row["layer"], row["layer_group"])
            for row in rows(place, "SELECT * FROM op_time WHERE op IS NOT NULL")
        }
        for name, words in expected.items():
            self.assertEqual(found[name], words, name)

    def test_first_screen_reports_attributed_ops(self):
        place = self.finished(recorded("graph"))
        text = support.run("summary", "run.db", cwd=place).stdout
        self.assertRegex(text, r"o1 +\S+")
        layers = support.run("summary", "--by", "layer", "run.db", cwd=place).stdout
        self.assertRegex(layers, r"\ndense_\* +\S+ +[1-9]")
        self.assertRegex(layers, r"\nloss +\S+ +\d")
        shown = support.run("show", "dense_0/MatMul", "run.db", cwd=place)
        self.assertEqual(shown.code, 0, shown.stderr)
        self.assertIn("dense_0/MatMul", shown.stdout)

    def test_op_names_can_be_switched_off(self):
        place = self.finished(recorded("graph", XLATRACE_TF_OPS="0"))
        evidence = rows(place, "SELECT count(*) FROM activity WHERE evidence = 'op_range'")
        self.assertEqual(evidence[0][0], 0)

    def test_output_of_the_program_is_unchanged(self):
        with_us, _ = recorded("graph").result()
        without, _ = start("plain", tuple(PROGRAMS["graph"])).result()
        self.assertEqual(
            (with_us.returncode, with_us.stdout), (without.returncode, without.stdout)
        )


if __name__ == "__main__":
    unittest.main()
