# SPDX-License-Identifier: Apache-2.0
"""Larger programs of TensorFlow's on the fake GPU: a Keras transformer, control flow, clusters of XLA's
among other ops, Keras with XLA. The truth, and what the tests need: tensorflow_case.py.
"""

import unittest

import support
from tensorflow_case import TensorFlowCase, recorded, rows, setUpModule, tearDownModule

__all__ = ["setUpModule", "tearDownModule"]

PROGRAMS = ("transformer", "convolutions", "clusters", "control_flow", "mirrored", "keras_jit")


class Programs(TensorFlowCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in PROGRAMS:
            recorded(program)

    def test_keras_transformer_has_right_labels(self):
        found = self.check_program("transformer")
        self.assertGreater(found.share(), 0.98)
        self.assertGreater(found.share(in_steps=True), 0.98)
        self.assertEqual(len(rows(found.place, "SELECT * FROM step")), 16)
        layers = {
            row["layer_group"]
            for row in rows(found.place, "SELECT * FROM op_time WHERE phase = 'forward'")
        }
        for layer in ("embedding", "attention_*/query", "norm_*", "up_*", "head"):
            self.assertIn(f"lm/{layer}", layers)

    def test_loops_and_branches_have_right_labels(self):
        found = self.check_program("control_flow")
        self.assertGreater(found.share(in_steps=True), 0.98)
        self.assertEqual(len(rows(found.place, "SELECT * FROM step")), 8)
        # Five turns of the loop in each step; one branch in every second of them.
        calls = {
            row["op_name"].rsplit("/", 1)[-1]: row["occurrences"]
            for row in rows(found.place, "SELECT * FROM op_time WHERE phase = 'forward'")
        }
        self.assertEqual((calls["Tanh"], calls["Relu"]), (40, 4))

    def test_clusters_of_xla_have_right_labels(self):
        found = self.check_program("clusters")
        self.assertGreater(found.share("xla"), 0.5)
        self.assertGreater(found.share("op"), 0.05)
        self.assertLess(found.share("nobody", in_steps=True), 0.02)
        finding = rows(found.place, "SELECT * FROM finding WHERE id = 'outside_xla'")[0]
        figures = [(r"\d[\d,.]*( (ns|us|ms|s)\b)?", "#")]
        self.assert_golden_text(finding["action"] + "\n" + finding["sentence"], masks=figures)
        # The possible saving by fusion is part of the time of the separate ops.
        ops_per_step = found.step_ns["op"] / 8
        self.assertGreater(finding["saves_high_ns_per_step"], 0)
        self.assertLess(finding["saves_high_ns_per_step"], 1.1 * ops_per_step)
        # Every row: how many the terminal has room for depends on how many findings the machine gives cause for.
        text = support.run("summary", "run.db", "--format", "csv", cwd=found.place).stdout
        self.assertIn("Dilation2D", text)
        self.assertIn("gemm_fusion_", text)

    def test_convolutions_of_cudnn_have_right_labels(self):
        found = self.check_program("convolutions")
        self.assertGreater(found.share(in_steps=True), 0.98)
        self.assertEqual(len(rows(found.place, "SELECT * FROM step")), 12)
        convolutions = {
            (row["op_type"], row["phase"], row["layer"])
            for row in rows(found.place, "SELECT * FROM op_time WHERE op_kind = 'convolution'")
        }
        # The image needs no gradient.
        self.assertEqual(
            convolutions,
            {
                ("_FusedConv2D", "forward", "cnn/stem"),
                ("Conv2D", "forward", "cnn/down"),
                ("Conv2DBackpropFilter", "backward", "cnn/stem"),
                ("Conv2DBackpropFilter", "backward", "cnn/down"),
                ("Conv2DBackpropInput", "backward", "cnn/down"),
            },
        )
        layers = {row["layer"] for row in rows(found.place, "SELECT layer FROM op_time")}
        self.assertTrue({"cnn/norm", "cnn/pool", "cnn/dropout", "cnn/mean"} <= layers, layers)

    def test_ops_on_two_devices_have_right_labels(self):
        self.require_nccl()
        found = self.check_program("mirrored", {"CollectiveReduceV2"})
        self.assertEqual(found.share("nobody", in_steps=True), 0)
        # NCCL launches from its own threads. The graph has the device of each op.
        process, _ = recorded("mirrored").result()
        graph = {
            (int(device) + 1, name)
            for word, name, device in map(str.split, process.stdout.splitlines()[:-1])
            if word == "all_reduce"
        }
        self.assertEqual(len(graph), 2)
        nccl = rows(
            found.place,
            "SELECT device_id, op_name, confidence, count(*) FROM activity"
            " WHERE name LIKE 'nccl%' GROUP BY 1, 2, 3",
        )
        self.assertEqual(
            {tuple(row) for row in nccl}, {(*place, "inferred", 8) for place in graph}
        )
        names = "SELECT DISTINCT device_id, layer FROM activity WHERE op_type = 'MatMul'"
        layers = {tuple(row) for row in rows(found.place, names)}
        self.assertEqual(layers, {(1, "model"), (2, "model")})

    def test_keras_with_xla_has_right_labels(self):
        found = self.check_program("keras_jit")
        self.assertEqual(found.kernels["op"], 0)
        self.assertGreater(found.share("xla", in_steps=True), 0.98)


if __name__ == "__main__":
    unittest.main()
