#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --record appends one row to the history, and README.md has the figures of the last row."""

import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def load_bench():
    loader = importlib.machinery.SourceFileLoader("bench_script", str(ROOT / "scripts" / "bench"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


bench = load_bench()


def case(source, step, *rounds):
    measured = bench.Case(source, step, ["PROGRAM"])
    measured.rounds = list(rounds)
    return measured


class Record(unittest.TestCase):
    def setUp(self):
        self.cases = [
            case("Kineto JSON, 1.3 M events", "import", (1, 0.5, 2, 100), (2, 0.5, 2, 120), (1.5, 0.5, 2, 110)),
            case("nsys SQLite, 10 M launches", "import", (9, 1, 9, 600)),
            case("nsys SQLite, 10 M launches", "report"),
        ]
        self.row = bench.history_row(self.cases, "2026-01-02", "abc", "2 x CPU", 0.25)

    def test_row_has_medians_and_empty_cells_for_unmeasured_steps(self):
        cells = [cell.strip() for cell in self.row.strip("|").split("|")]
        self.assertEqual(cells, ["2026-01-02", "abc", "2 x CPU, load 0.2", "2.00 s, 110 MB", "", "",
                                 "10.00 s, 600 MB", ""])

    def test_row_is_appended_after_the_last_row(self):
        page = (ROOT / "docs" / "development" / "benchmarks.md").read_text()
        changed = bench.append_row(page, self.row)
        self.assertEqual(changed.replace(self.row + "\n", ""), page)
        history = changed.split(bench.BEGIN.format("history"))[1].split(bench.END)[0].strip().splitlines()
        self.assertEqual(history[-1], self.row)
        self.assertEqual(len(bench.append_row(changed, self.row).splitlines()), len(page.splitlines()) + 2)

    def test_columns_of_the_page_are_those_of_the_script(self):
        page = (ROOT / "docs" / "development" / "benchmarks.md").read_text()
        header = page.split(bench.BEGIN.format("history"))[1].strip().splitlines()[0]
        self.assertEqual([cell.strip() for cell in header.strip("|").split("|")][3:],
                         list(bench.HISTORY_COLUMNS.values()))

    def test_readme_quotes_the_last_row(self):
        page = (ROOT / "docs" / "development" / "benchmarks.md").read_text()
        last = page.split(bench.BEGIN.format("history"))[1].split(bench.END)[0].strip().splitlines()[-1]
        readme = (ROOT / "README.md").read_text()
        self.assertEqual(bench.quote(readme, last), readme)


if __name__ == "__main__":
    unittest.main()
