# SPDX-License-Identifier: Apache-2.0
"""Ranks of a run, of many processes and of a merged job: page_ranks.py."""

import unittest

import browser_cases


class PageRanks(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_ranks")


if __name__ == "__main__":
    unittest.main()
