# SPDX-License-Identifier: Apache-2.0
"""What the page prints of public captures, compared in all its places: page_figures.py."""

import unittest

import browser_cases


class PageFigures(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_figures")


if __name__ == "__main__":
    unittest.main()
