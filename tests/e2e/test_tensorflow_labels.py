# SPDX-License-Identifier: Apache-2.0
"""Phases and layers of six Keras models on the fake GPU, compared with keras_models.labels, which was
written by hand. The truth of names, and what the tests need: tensorflow_case.py.
"""

import pathlib
import re
import unittest

from tensorflow_case import KERAS_MODELS, TensorFlowCase, recorded, rows, setUpModule, tearDownModule

__all__ = ["setUpModule", "tearDownModule"]

LEAST = 0.97  # Share of device time.


def read_labels():
    lines = pathlib.Path(__file__).with_name("keras_models.labels").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return sorted(rows, key=lambda row: -len(row[1]))


def label_of(name, labels):
    """Phase and layer by hand; None where no line fits."""
    name = re.sub(r"^(StatefulPartitionedCall(_\d+)?/)+", "", name)
    inner = name.removeprefix("gradient_tape/")
    for phase, begin, layer in labels:
        if inner.startswith(begin):
            return "backward" if inner != name else phase, layer
    # The gradient of something outside of all layers.
    return ("backward", "-") if inner != name else None


class Labels(TensorFlowCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for model in KERAS_MODELS:
            recorded(model)

    def check_model(self, model):
        found = self.check_program(model)
        self.assertEqual(len(rows(found.place, "SELECT * FROM step")), 4)
        self.assertGreater(found.share(in_steps=True), 0.98)
        ops = rows(
            found.place,
            "SELECT op_name, phase, layer, self_ns FROM op_time"
            " WHERE op IS NOT NULL AND instruction IS NULL",
        )
        labels = read_labels()
        all_ns = phase_ns = layer_ns = 0
        wrong, layers = [], set()
        for op in ops:
            label = label_of(op["op_name"], labels)
            self.assertIsNotNone(label, op["op_name"])
            phase, layer = label
            said = op["layer"] or ""
            if layer == "-":
                right = said.split("/")[0] not in KERAS_MODELS
            else:
                right = said == layer or said.startswith(f"{layer}/")
                layers.add(layer)
            all_ns += op["self_ns"]
            phase_ns += op["self_ns"] * (op["phase"] == phase)
            layer_ns += op["self_ns"] * right
            if op["phase"] != phase or not right:
                wrong.append((op["self_ns"], op["op_name"], op["phase"], said, *label))
        figures = (
            f"{model}: phases {phase_ns / all_ns:.2%}, layers {layer_ns / all_ns:.2%} of"
            f" {len(ops)} ops in {len(layers)} layers"
        )
        wrong = "\n".join(map(str, sorted(wrong, reverse=True)[:20]))
        self.assertGreater(phase_ns, LEAST * all_ns, f"{figures}\n{wrong}")
        self.assertGreater(layer_ns, LEAST * all_ns, f"{figures}\n{wrong}")
        # Every layer that has a kernel was seen; Flatten has none.
        ours = {row[2] for row in labels if row[2].split("/")[0] == model}
        self.assertEqual(ours - layers, {"digits/flatten"} & ours)

    def test_phases_and_layers_equal_those_by_hand(self):
        for model in KERAS_MODELS:
            with self.subTest(model=model):
                self.check_model(model)


if __name__ == "__main__":
    unittest.main()
