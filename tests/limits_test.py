#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The limits in docs/reference/security.md equal those of the code. Needs no build."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "bytes": 1, "": 1}
ROW = re.compile(r"^\| [^|]+ \| ([\d,]+) ?(\w*) \| `(\w+)` in `([^`]+)` \|$")


def told():
    """(limit, name, file) of each row of the table."""
    rows = []
    for line in (ROOT / "docs/reference/security.md").read_text().splitlines():
        if found := ROW.match(line):
            number, unit, name, file = found.groups()
            rows.append((int(number.replace(",", "")) * UNITS[unit], name, file))
    return rows


def in_code(name, file):
    """The value that `file` gives the constant `name`."""
    text = (ROOT / file).read_text()
    expression = re.search(rf"\b{name} = ([^;]+);", text)
    if not expression:
        raise AssertionError(f"{file} has no {name}")
    plain = re.sub(r"u?int\d+_t|size_t|[uU](?=\b| )|'", "", expression[1])
    plain = re.sub(r"(?<=\d)u\b", "", plain.replace("{", "(").replace("}", ")"))
    return eval(plain, {"__builtins__": {}})  # pylint: disable=eval-used # numbers and shifts


class Limits(unittest.TestCase):
    def test_the_table_tells_what_the_code_says(self):
        rows = told()
        self.assertGreater(len(rows), 10)
        for limit, name, file in rows:
            with self.subTest(name=name):
                self.assertEqual(in_code(name, file), limit, file)


if __name__ == "__main__":
    sys.exit(unittest.main())
