# SPDX-License-Identifier: Apache-2.0
"""What a filter leaves: page_filters.py."""

import unittest

import browser_cases


class PageFilters(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_filters")


if __name__ == "__main__":
    unittest.main()
