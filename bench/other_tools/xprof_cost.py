# SPDX-License-Identifier: Apache-2.0
"""Runs two of XProf's tools on a profile, to measure their cost. Run with a Python that has xprof."""

import os
import sys
import tempfile

from xprof.convert import raw_to_tool_data

# XProf stores its results beside the profile: a second run would only read them.
with tempfile.TemporaryDirectory() as folder:
    profile = os.path.join(folder, os.path.basename(sys.argv[1]))
    os.symlink(os.path.abspath(sys.argv[1]), profile)
    for name in ("hlo_stats", "overview_page"):
        data, _ = raw_to_tool_data.xspace_to_tool_data([profile], name, {})
        if not data:
            sys.exit(f"XProf's {name} returns nothing")
