#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the compile causes: valid Python, and truth whose lines hold the cause. Nothing is run."""

import ast
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES, Plan  # noqa: E402
from planted.product import names_text, names_word  # noqa: E402

SEEDS = range(4)
# Text in the lines of the first place of the truth, or of all its places, from the description of the cause alone.
STATEMENTS = {
    "static_argument": ("static_argnames",), "closure": ("@jax.jit",), "baked_constant": ("jnp.asarray(",),
    "unrolled_loop": ("for number in", "while number"), "large_scan": ("carry = ",), "slow_fusion": ("for start in",),
    "slow_import": ("import ",), "slow_checkpoint_read": ("np.load", "gzip.open"), "new_lambda": ("compiled(",),
    "slow_tracing": ("for second in", "while n > 1"), "many_tiny": ("jnp.arange",), "donation": ("def ",),
}


def plans():
    return [Plan(cause, seed) for cause in CAUSES for seed in SEEDS]


def lines_at(made, place):
    return "\n".join(made.texts[place["file"]].splitlines()[place["first_line"] - 1:place["last_line"]])


class Programs(unittest.TestCase):
    def test_every_program_and_its_control_are_valid_python(self):
        for plan in plans():
            for control in (False, True):
                made, _ = plan.sources(control=control)
                for name, text in made.texts.items():
                    with self.subTest(cause=plan.name, seed=plan.seed, file=name):
                        ast.parse(text)
                        self.assertNotRegex(text, r"#@|<(fn|v|C|cls|mod)[_>]")

    def test_lines_of_the_truth_hold_the_statement_of_the_cause(self):
        for plan in plans():
            made, names = plan.sources()
            place = plan.truth(made, names)["places"][0]
            with self.subTest(cause=plan.name, seed=plan.seed):
                text = lines_at(made, place)
                expected = STATEMENTS.get(plan.name, ("@jax.jit",))
                self.assertTrue(any(part in text for part in expected), text)

    def test_call_site_of_the_truth_calls_the_function(self):
        for plan in plans():
            if "call" not in plan.cause.places or plan.cause.function != "fn" or plan.name == "closure":
                continue
            made, names = plan.sources()
            file, line, _ = made.at_mark("call")
            text = made.texts[file].splitlines()[line - 1]
            with self.subTest(cause=plan.name, seed=plan.seed):
                self.assertRegex(text, rf"\b({names['fn']}|compiled)\(")

    def test_argument_of_the_truth_is_in_the_program(self):
        for plan in plans():
            made, names = plan.sources()
            everything = "\n".join(made.texts.values())
            for argument in plan.truth(made, names)["arguments"][:1]:
                with self.subTest(cause=plan.name, seed=plan.seed, argument=argument):
                    for word in re.findall(r"\w+", argument):
                        self.assertIn(word, everything)

    def test_control_does_not_run_the_cause(self):
        for plan in plans():
            made, names = plan.sources(control=True)
            calls = made.texts["program.py"].count(f"{names['fn_run']}(")
            self.assertEqual(calls, 1, f"{plan.name} {plan.seed}")

    def test_earlier_run_differs_in_text_that_the_program_has_once(self):
        for plan in plans():
            for now in plan.cause.earlier or {}:
                self.assertEqual(plan.sources()[0].texts["program.py"].count(now), 1)

    def test_equal_seeds_make_equal_programs_and_other_seeds_make_others(self):
        texts = [Plan("shape", seed).sources()[0].texts["program.py"] for seed in (3, 3, 4)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])


class Answers(unittest.TestCase):
    def test_argument_path_matches_with_either_kind_of_quotes(self):
        self.assertTrue(names_text('params["dense"] has another shape', "params['dense']"))

    def test_argument_path_is_not_part_of_a_longer_path(self):
        for text in ("params['dense']['kernel']", "other_params['dense']", "params"):
            self.assertFalse(names_text(text, "params['dense']"), text)

    def test_kind_may_have_an_ending(self):
        self.assertTrue(names_word({"why": ["its sharding differs"]}, ("shard\\w*",)))
        self.assertFalse(names_word({"why": "reshaped"}, ("shape\\w*",)))


if __name__ == "__main__":
    unittest.main()
