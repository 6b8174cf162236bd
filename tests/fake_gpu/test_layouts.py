# SPDX-License-Identifier: Apache-2.0
"""Where fields of CUPTI's records are: the fake and the collector against numbers from NVIDIA's headers.

layouts.json is written by derive_layouts.py from the pip wheels of CUDA 12.4, 12.8, 13.0, 13.1 and 13.4.
"""

import json
import re
import unittest
from pathlib import Path

import derive_layouts

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "collector" / "record_layout.h"
NEW_IN = {"sourceGraphNodeId": 130401}
LAYOUTS = json.loads((HERE / "layouts.json").read_text(encoding="utf-8"))


def collector_offsets():
    """"kernel::kStart" -> 16"""
    offsets, namespace = {}, ""
    for line in HEADER.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"namespace (\w+) \{", line):
            namespace = match.group(1)
        elif match := re.match(r"inline constexpr Field<.*> (k\w+)\{(\d+)\};", line):
            offsets[f"{namespace}::{match.group(1)}"] = int(match.group(2))
    return offsets


class Layouts(unittest.TestCase):
    def test_the_table_has_the_releases(self):
        self.assertEqual(set(LAYOUTS), {"22", "26", "130001", "130101", "130401"})

    def test_the_fakes_records_have_the_sizes(self):
        versions, ours = derive_layouts.table()
        compared = 0
        for api, kinds in LAYOUTS.items():
            column = versions.index(int(api))
            for kind, told in kinds.items():
                if int(kind) in ours:
                    compared += 1
                    self.assertEqual(ours[int(kind)][column], told["bytes"], (api, kind))
        self.assertGreater(compared, 100)

    def test_the_collector_reads_every_field_where_it_is(self):
        offsets = collector_offsets()
        compared = set()
        for api, kinds in LAYOUTS.items():
            for kind, fields in derive_layouts.members().items():
                for member, constant in fields:
                    told = kinds[str(kind)]["offsets"].get(member)
                    if told is None and member in NEW_IN and int(api) < NEW_IN[member]:
                        continue
                    self.assertEqual(told, offsets[constant], (api, kind, member))
                    compared.add((kind, member))
        self.assertGreater(len(compared), 90)

    def test_records_only_grow(self):
        apis = sorted(LAYOUTS, key=int)
        for older, newer in zip(apis, apis[1:]):
            for kind, told in LAYOUTS[older].items():
                self.assertLessEqual(told["bytes"], LAYOUTS[newer][kind]["bytes"], (newer, kind))


if __name__ == "__main__":
    unittest.main()
