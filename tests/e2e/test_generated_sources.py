# SPDX-License-Identifier: Apache-2.0
"""The user's line of random call stacks, whose truth is known by construction (source_generator.py)."""

import os
import pathlib
import random
import sys
import tempfile
import unittest

import source_generator
import support
import tiers

sys.path.insert(0, str(support.REPOSITORY / "tests" / "cases"))

import run_cases

OPS_PER_PROGRAM = 40
PROGRAMS = 60 if tiers.IS_LONG else 6


class GeneratedSources(unittest.TestCase):
    def test_source_line_is_the_innermost_line_of_the_user(self):
        """Each run uses fresh seeds. XLATRACE_SOURCE_SEED repeats one."""
        given = os.environ.get("XLATRACE_SOURCE_SEED")
        seeds = [int(given)] if given else random.sample(range(10**9), PROGRAMS)
        with tempfile.TemporaryDirectory() as folder:
            for seed in seeds:
                with self.subTest(seed=seed):
                    path = pathlib.Path(folder) / f"{seed}.txt"
                    path.write_text(source_generator.case(seed, OPS_PER_PROGRAM))
                    failures, _ = run_cases.run_case(path, support.PROGRAM)
                    self.assertEqual([str(failure) for failure in failures], [])


if __name__ == "__main__":
    unittest.main()
