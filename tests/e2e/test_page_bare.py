# SPDX-License-Identifier: Apache-2.0
"""Pages of runs without HLO: page_bare.py."""

import unittest

import browser_cases


class PageBare(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_bare")


if __name__ == "__main__":
    unittest.main()
