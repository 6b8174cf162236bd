# SPDX-License-Identifier: Apache-2.0
"""Two tiers of tests; tests/tiers.h is the same for C++.

The first tier runs on every change (scripts/test). It holds what is fast and finds most faults. The second
tier runs in scripts/long, which sets XLATRACE_TEST_TIER=long: wider lists of inputs and all combinations.
"""

import os
import unittest

IS_LONG = os.environ.get("XLATRACE_TEST_TIER") == "long"
REASON = "second tier: scripts/long runs it"

# Decorator of a test method or class that only scripts/long runs.
long_tier = unittest.skipUnless(IS_LONG, REASON)


def representatives(items, number=1):
    """All items in the second tier, the first `number` of them in the first tier."""
    items = list(items)
    return items if IS_LONG else items[:number]
