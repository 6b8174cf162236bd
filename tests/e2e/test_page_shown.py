# SPDX-License-Identifier: Apache-2.0
"""What the page must show: page_shown.py."""

import unittest

import browser_cases


class PageShown(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_shown.Shown")


if __name__ == "__main__":
    unittest.main()
