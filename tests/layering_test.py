#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Components include only the components that ARCHITECTURE.md allows, and third parties only in their places.
Reads the #include lines of every source file; needs no build."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Component -> components that it may include besides itself. Arrows point one way only.
ALLOWED = {
    "base": set(),
    "model": {"base"},
    "recording": {"base", "model"},
    "collector": {"base", "model", "recording"},
    "store": {"base", "model"},
    "hlo": {"base", "model"},
    # The dump detective: above what reads HLO, beside what reads traces.
    "dumps": {"base", "model", "hlo"},
    "importers": {"base", "model", "recording", "store", "hlo", "dumps"},
    # Pure functions over columns in memory: no database.
    "correlator": {"base", "model", "hlo"},
    "analysis": {"base", "model", "hlo"},
    "compare": {"base", "model", "hlo", "analysis"},
    "fleet": {"base", "model", "store", "analysis"},
    "export": {"base", "model", "store", "hlo", "analysis"},
    "report": {"base", "model", "store", "hlo", "analysis", "compare"},
    "tools": {"base", "model", "recording", "store", "hlo", "dumps", "importers", "correlator",
              "analysis", "compare", "fleet", "export", "report"},
}

# Folders of correlator/thunk_order/ in the order of the data: each includes itself and earlier ones. Files
# beside these folders join them and may include all; the folders see only the headers in SHARED.
THUNK_ORDER = ["program", "align", "fill", "judge", "label"]
THUNK_ORDER_SHARED = {"doubt.h", "order_limits.h"}

# Headers that only one component may include.
ONLY_IN = [
    (re.compile(r"^sqlite3"), {"store"}),
    (re.compile(r"^CLI/"), {"tools"}),
    (re.compile(r"^(cupti|cuda|cudart|nvtx3/|nvToolsExt|generated_cuda)"), {"collector"}),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def violations(root):
    """Sentences, one per forbidden include under `root`."""
    found = []
    for room, allowed in ALLOWED.items():
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in {".h", ".cc", ".c"}:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                kind, header = match.groups()
                place = f"{path.relative_to(root)}:{number}"
                first = header.split("/")[0]
                if first in ALLOWED and first != room and first not in allowed:
                    found.append(f"{place}: {room} must not include {first} ({header})")
                if kind == '"' and first not in ALLOWED:
                    found.append(f"{place}: '{header}' is not included from the root")
                for pattern, rooms in ONLY_IN:
                    if pattern.match(header) and room not in rooms:
                        found.append(f"{place}: {header} belongs to {', '.join(sorted(rooms))}")
    return found


def violations_in_thunk_order(root):
    """The same check for the folders inside correlator/thunk_order."""
    found = []
    base = "correlator/thunk_order/"
    for path in sorted((root / base).rglob("*")):
        folder = path.parent.name
        if path.suffix not in {".h", ".cc"} or folder not in THUNK_ORDER:
            continue
        allowed = THUNK_ORDER[:THUNK_ORDER.index(folder) + 1]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or not match.group(2).startswith(base):
                continue
            rest = match.group(2)[len(base):]
            if rest not in THUNK_ORDER_SHARED and rest.split("/")[0] not in allowed:
                found.append(f"{path.relative_to(root)}:{number}: {folder} must not include {rest}")
    return found


class LayeringTest(unittest.TestCase):
    def test_the_tree_has_no_wrong_arrow(self):
        self.assertEqual(violations(ROOT), [])
        self.assertEqual(violations_in_thunk_order(ROOT), [])

    def check_refused(self, room, include, fragment):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / room).mkdir()
            (Path(folder) / room / "x.cc").write_text(f"#include {include}\n", encoding="utf-8")
            found = violations(Path(folder))
            self.assertEqual(len(found), 1, found)
            self.assertIn(fragment, found[0])

    def test_a_wrong_arrow_is_found(self):
        self.check_refused("model", '"store/run_db.h"', "model must not include store")
        self.check_refused("store", '"hlo/shape.h"', "store must not include hlo")
        self.check_refused("correlator", '"analysis/phase.h"', "correlator must not include analysis")
        self.check_refused("correlator", '"dumps/dump_dir.h"', "correlator must not include dumps")
        self.check_refused("hlo", '"dumps/dump_dir.h"', "hlo must not include dumps")

    def test_a_wrong_arrow_inside_thunk_order_is_found(self):
        for include, wrong in (("fill/x.h", True), ("stretch_solver.h", True),
                               ("program/x.h", False), ("doubt.h", False)):
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder) / "correlator/thunk_order/align"
                place.mkdir(parents=True)
                (place / "x.cc").write_text(
                    f'#include "correlator/thunk_order/{include}"\n', encoding="utf-8")
                self.assertEqual(bool(violations_in_thunk_order(Path(folder))), wrong, include)

    def test_third_parties_are_used_only_in_their_component(self):
        self.check_refused("importers", "<sqlite3.h>", "belongs to store")
        self.check_refused("report", "<CLI/CLI.hpp>", "belongs to tools")
        self.check_refused("recording", "<cupti.h>", "belongs to collector")

    def test_includes_come_from_the_root(self):
        self.check_refused("hlo", '"shape.h"', "not included from the root")


if __name__ == "__main__":
    sys.exit(unittest.main())
