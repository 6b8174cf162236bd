# SPDX-License-Identifier: Apache-2.0
"""Labels and phases of random fusions, whose truth is known by construction (fusion_generator.py)."""

import os
import pathlib
import random
import sys
import tempfile
import unittest

import fusion_generator
import support
import tiers

sys.path.insert(0, str(support.REPOSITORY / "tests" / "cases"))

import run_cases

FUSIONS_PER_PROGRAM = 25
# The second tier checks at least 1,000 fusions.
PROGRAMS = 44 if tiers.IS_LONG else 4


class GeneratedFusions(unittest.TestCase):
    def test_labels_follow_the_metadata_of_xla(self):
        """Each run uses fresh seeds. XLATRACE_FUSION_SEED repeats one."""
        given = os.environ.get("XLATRACE_FUSION_SEED")
        seeds = [int(given)] if given else random.sample(range(10**9), PROGRAMS)
        with tempfile.TemporaryDirectory() as folder:
            for seed in seeds:
                with self.subTest(seed=seed):
                    text = fusion_generator.case(seed, FUSIONS_PER_PROGRAM, seed % 2 == 1)
                    path = pathlib.Path(folder) / f"{seed}.txt"
                    path.write_text(text)
                    failures, _ = run_cases.run_case(path, support.PROGRAM)
                    self.assertEqual([str(failure) for failure in failures], [])


if __name__ == "__main__":
    unittest.main()
