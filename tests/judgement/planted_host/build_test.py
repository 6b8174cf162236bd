#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the host causes: valid Python, and truth whose lines hold the cause. Nothing is run."""

import ast
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES, Plan  # noqa: E402
from planted.product import names_answer, names_word, rows_of, sentences_of  # noqa: E402

SEEDS = range(4)
# Text in the lines of the truth, from the description of the cause alone.
STATEMENTS = {
    "tokenizer": ("vocabulary",), "numpy_preprocessing": ("np.",), "image_decode": ("zlib.decompress",),
    "pillow_decode": ("Image.open",), "slow_disk_read": ("preadv",), "network_wait": ("recv",),
    "time_sleep": ("time.sleep",), "gc_explicit": ("gc.collect",), "gc_automatic": ("children.append",),
    "lock": ("with ", ".acquire()"), "gil": ("while not",), "logging": ("logger.info",), "float_loss": ("float(",),
    "checkpoint": ("savez", "gzip"), "starved_loader": (".get()",), "too_few_workers": (".get()",),
    "grain_pipeline": ("for number, letter",), "tfdata_map": ("for number, letter",), "groupby": ("row[",), "pandas_groupby": ("groupby",), "recompilation": ("params, loss, losses =",),
    "host_metrics": ("np.asarray(losses)",),
}


def plans():
    return [Plan(cause, seed) for cause in CAUSES for seed in SEEDS]


def lines_of(made, answer):
    return made.texts[answer["file"]].splitlines()[answer["first_line"] - 1:answer["last_line"]]


class Programs(unittest.TestCase):
    def test_every_program_and_its_control_are_valid_python(self):
        for plan in plans():
            for control in (False, True):
                made, _ = plan.sources(steps=20, work=10, batch=64, control=control)
                for name, text in made.texts.items():
                    with self.subTest(cause=plan.name, seed=plan.seed, file=name):
                        ast.parse(text)
                        self.assertNotRegex(text, r"#@|<[a-z]+_|<fn>|<WORK>")

    def test_lines_of_the_truth_hold_the_statement_of_the_cause(self):
        for plan in plans():
            made, names = plan.sources(steps=20, work=10, batch=64)
            truth = plan.truth(made, names)
            with self.subTest(cause=plan.name, seed=plan.seed):
                self.assertEqual(bool(truth["answers"]), plan.name in STATEMENTS)
                if truth["answers"]:
                    text = "\n".join(lines_of(made, truth["answers"][0]))
                    self.assertTrue(any(part in text for part in STATEMENTS[plan.name]), text)

    def test_each_function_of_the_truth_is_defined_once_and_called(self):
        for plan in plans():
            made, names = plan.sources(steps=20, work=10, batch=64)
            everything = "\n".join(made.texts.values())
            for answer in plan.truth(made, names)["answers"]:
                with self.subTest(cause=plan.name, seed=plan.seed):
                    self.assertEqual(everything.count(f"def {answer['function']}("), 1)
                    self.assertGreaterEqual(everything.count(answer["function"]), 2)

    def test_equal_seeds_make_equal_programs_and_other_seeds_make_others(self):
        texts = [Plan("lock", seed).sources(steps=20, work=10, batch=64)[0].texts["program.py"] for seed in (3, 3, 4)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])


class Answers(unittest.TestCase):
    ANSWER = {"function": "merge_row", "file": "program.py", "first_line": 20, "last_line": 22}

    def test_function_and_line_in_one_text_are_the_answer(self):
        self.assertTrue(names_answer("The host runs merge_row (src/program.py:21) 30 ms.", self.ANSWER))

    def test_other_line_file_or_function_is_not_the_answer(self):
        for text in ("merge_row (program.py:23)", "merge_row (my_program.py:21)", "merge_rows (program.py:21)"):
            self.assertFalse(names_answer(text, self.ANSWER), text)

    def test_row_with_separate_file_and_line_is_the_answer(self):
        row = {"what": "Loader.merge_row", "where": ["/home/me/program.py", 20], "ns": 21}
        self.assertTrue(names_answer(row, self.ANSWER))

    def test_rows_are_the_longest_list_outside_of_the_answer(self):
        text = '{"answer": {"path": [{"a": 1}, {"a": 2}]}, "rows": [{"b": 1}]}'
        self.assertEqual(rows_of(text), [{"b": 1}])

    def test_sentences_end_where_the_first_table_begins(self):
        screen = "xlatrace\nstep 3 ms\n\n  The step takes\n  long. It waits.\n\npart of step   ms/step\nidle   4\n"
        self.assertEqual(sentences_of(screen), "The step takes long. It waits.")

    def test_kind_is_a_whole_word(self):
        self.assertTrue(names_word("waits for a lock", ("lock",)))
        self.assertFalse(names_word("the clock", ("lock",)))


if __name__ == "__main__":
    unittest.main()
