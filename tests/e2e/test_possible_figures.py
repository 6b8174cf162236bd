# SPDX-License-Identifier: Apache-2.0
"""No impossible figure in the outputs of random runs: no NaN, no share above 100 %, no part above its whole.

The seeds change each hour. XLATRACE_VIEW_SEEDS=A:B repeats some.
"""

import json
import math
import os
import re
import sys
import time
import unittest

import support

sys.path.append(str(support.REPOSITORY / "tests/judgement/simulate"))
from machine import simulate  # noqa: E402
from recording import FORMATS  # noqa: E402
from simulate import write_format  # noqa: E402

RUNS = 40 if support.LONG else 4
ITERATIONS = 8
BREAKDOWNS = ("op", "phase", "layer", "kernel", "op_kind", "step")


def seeds():
    given = os.environ.get("XLATRACE_VIEW_SEEDS")
    if given:
        first, last = map(int, given.split(":"))
        return range(first, last)
    first = time.time_ns() // (3600 * 1_000_000_000) * 1_000
    return range(first, first + RUNS)


def figures(value, place=""):
    """All numbers of a JSON document with their places."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from figures(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from figures(inner, f"{place}[{number}]")
    elif isinstance(value, float | int) and not isinstance(value, bool):
        yield place, value


class PossibleFigures(support.TestCase):
    def test_outputs_of_random_runs_have_no_impossible_figure(self):
        for number, seed in enumerate(seeds()):
            format = FORMATS[number % len(FORMATS)]
            with self.subTest(seed=seed, format=format):
                self.check(simulate(seed, most_iterations=ITERATIONS), format)

    def check(self, run, format):
        folder = self.folder / f"{run.seed}.{format}"
        folder.mkdir()
        paths, _ = write_format(run, format, folder)
        database = folder / "run.db"
        self.assertEqual(self.run_program("import", *paths, "-o", database).code, 0)
        for by in BREAKDOWNS:
            self.check_text(self.run_program("summary", "--by", by, database).stdout)
        summary = json.loads(self.run_program("summary", "--format", "json", database).stdout)
        for handle in [row["handle"] for row in summary["table"]["rows"][:2] if row.get("handle")]:
            self.check_text(self.run_program("show", handle, database).stdout)
        for place, value in figures(summary):
            self.assertTrue(math.isfinite(value), place)
            if place.rsplit(".", 1)[-1].endswith("_pct") and not place.endswith("error_pct"):
                self.assertTrue(0 <= value <= 100.05, f"{place}: {value}")
        for answer in filter(None, (summary["answer"]["run"], summary["answer"]["step"])):
            times = [part["ns"] for part in answer["path"]]
            self.assertEqual(times, sorted(times, reverse=True), answer["path"])
        self.assertTrue(summary["verdict"]["given"], summary["verdict"])

    def check_text(self, text):
        self.assertNotRegex(text, r"(?i)(?<![a-z])(nan|inf)(?![a-z])")
        # "+107.7%" is a difference from the mean, no share.
        for share in re.findall(r"(?<![+\d.,])([\d.,]+)%", text):
            self.assertLessEqual(float(share.replace(",", "")), 100.05, text)


if __name__ == "__main__":
    unittest.main()
