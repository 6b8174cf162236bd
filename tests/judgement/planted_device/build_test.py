#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the device causes: valid Python, and truth whose lines hold the cause. Nothing is run."""

import ast
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES, Plan  # noqa: E402

SEEDS = range(4)
# Text in the lines of the truth, from the description of the cause alone.
STATEMENTS = {
    "gemm": ("@ w", "jnp.dot", "einsum"), "elementwise": ("jnp.", "jax.nn."), "reduction": ("sum", "max", "mean"),
    "softmax": ("softmax", "exp"), "sort": ("sort(",), "scatter": (".at[w]", "segment_sum"),
    "gather": ("x[w]", "jnp.take"), "convolution": ("conv_general",), "scan": ("lax.scan",),
    "cumulative_sum": ("jnp.cum",), "fourier": ("fft",), "random_bits": ("jax.random.",),
    "evaluation": ("x @ w",), "eager_ops": ("x = ",),
}


class Programs(unittest.TestCase):
    def test_every_program_is_valid_python_without_placeholders(self):
        for plan in (Plan(cause, seed) for cause in CAUSES for seed in SEEDS):
            text = plan.sources()[0].texts["program.py"]
            with self.subTest(cause=plan.name, seed=plan.seed):
                ast.parse(text)
                self.assertNotRegex(text, r"#@|<[a-z]+_|<fn>")

    def test_lines_of_the_truth_hold_the_statement_of_the_cause(self):
        for plan in (Plan(cause, seed) for cause in CAUSES for seed in SEEDS):
            made, names = plan.sources()
            truth = plan.truth(made, names)
            lines = made.texts["program.py"].splitlines()[truth["first_line"] - 1:truth["last_line"]]
            with self.subTest(cause=plan.name, seed=plan.seed):
                self.assertTrue(any(part in "\n".join(lines) for part in STATEMENTS[plan.name]), lines)

    def test_equal_seeds_make_equal_programs_and_other_seeds_make_others(self):
        texts = [Plan("sort", seed).sources()[0].texts["program.py"] for seed in (3, 3, 4)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])


if __name__ == "__main__":
    unittest.main()
