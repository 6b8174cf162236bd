# SPDX-License-Identifier: Apache-2.0
"""Asks XProf for two of its tools on a profile. Run with a Python that has it, for its cost."""

import sys

from xprof.convert import raw_to_tool_data

for name in ("hlo_stats", "overview_page"):
    data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], name, {})
    if not data:
        sys.exit(f"XProf's {name} returns nothing")
