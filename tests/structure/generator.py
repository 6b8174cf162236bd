# SPDX-License-Identifier: Apache-2.0
"""Writes the models of models.py as files with random names and sizes, and a test file for each."""

from __future__ import annotations

import random
import re
from typing import Dict, Optional, Tuple

import models

SIZES = {
    "B": (2, 3, 4, 8, 12),
    "C": (4, 8, 16),
    "D": (16, 24, 32, 48, 64),
    "E": (16, 24, 40, 56),
    "H": (2, 4),
    "K": (8, 16),
    "L": (2, 3, 4),
    "S": (8, 12, 16),
    "T": (6, 8, 12),
    "V": (32, 48, 96),
}
WORDS = (
    "alpha amber anchor apple arrow atlas basin beacon birch bloom breeze bridge cedar chord cliff "
    "cobalt comet coral crane delta dune ember fable fern field flint forge frost garnet glade grove "
    "harbor hazel heron hollow indigo iris ivory jade juniper kelp lagoon larch lotus maple meadow "
    "mesa mist moss nectar nova oak onyx opal orchid otter pearl pebble pine plume poppy prairie quartz "
    "quill raven reed ridge river robin sable sage slate sorrel spruce summit thistle tide topaz "
    "valley violet willow wren zephyr"
).split()

# Regression.test -> the test of a model.
TEST_NAMES = {
    "program": "test_program_equals_its_baseline",
    "run": "test_run_compiles_once_and_reads_nothing",
}
TESTS = '''
import xlatrace
import {module} as model

def test_program_equals_its_baseline(xlatrace):
    xlatrace.compile(model.function, *model.arguments())
    xlatrace.same_as("main")

@xlatrace.limits(recompilations=0, host_transfers=0)
def test_run_compiles_once_and_reads_nothing():
    model.run()
'''


class Written:
    """One model's text with the names and sizes of one seed."""

    def __init__(self, model: models.Model, seed: int) -> None:
        self.model = model
        chosen = random.Random(f"{model.name} {seed}")
        placeholders = sorted(set(re.findall(r"(?<!\{)\{(\w+)\}", self._all_text())))
        words = iter(chosen.sample(WORDS, len(placeholders)))
        self.values: Dict[str, str] = {}
        for name in placeholders:
            sizes = SIZES.get(name)
            self.values[name] = str(chosen.choice(sizes)) if sizes else next(words)

    def _all_text(self) -> str:
        parts = [self.model.text]
        for regression in self.model.regressions:
            parts += [text for pair in regression.replace for text in pair]
        return "\n".join(parts)

    def fill(self, text: str) -> str:
        text = re.sub(r"(?<!\{)\{(\w+)\}", lambda match: self.values[match.group(1)], text)
        return text.replace("{{", "{").replace("}}", "}")

    def source(self, regression: Optional[models.Regression] = None) -> str:
        text = self.model.text
        for old, new in regression.replace if regression else ():
            assert text.count(old) == 1, (self.model.name, regression, old)
            text = text.replace(old, new)
        return self.fill(text)

    def line_of(self, regression: models.Regression) -> int:
        """Number of the line that the failure must name."""
        lines = self.source(regression).splitlines()
        wanted = self.fill(regression.line)
        (found,) = [number for number, line in enumerate(lines, 1) if wanted in line]
        return found

    def unchanged(self, seed: int) -> str:
        """Another text of the same program: names, comments, empty lines, a docstring."""
        chosen = random.Random(f"unchanged {self.model.name} {seed}")
        other = Written(self.model, seed + 1_000_000)
        other.values = {
            name: self.values[name] if name in SIZES else other.values[name] for name in self.values
        }
        if chosen.random() < 0.3:
            other.values = dict(self.values)
        lines = []
        for line in other.source().splitlines():
            indent = line[: len(line) - len(line.lstrip())]
            inside = line.startswith("    ") and line.strip() and not line.strip().startswith("{")
            if inside and chosen.random() < 0.2:
                lines.append(f"{indent}# {' '.join(chosen.sample(WORDS, 3))}")
            if inside and chosen.random() < 0.1:
                lines.append("")
            lines.append(line + (f"  # {chosen.choice(WORDS)}" if line and chosen.random() < 0.1 else ""))
            if line.startswith("def ") and line.endswith(":") and chosen.random() < 0.3:
                lines.append(f'    """{" ".join(chosen.sample(WORDS, 4)).capitalize()}."""')
        return "\n" * chosen.randrange(3) + "\n".join(lines) + "\n"


def file_of_tests(module: str) -> Tuple[str, str]:
    """Name and text."""
    return f"test_{module}.py", TESTS.lstrip("\n").replace("{module}", module)
