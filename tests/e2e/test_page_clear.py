# SPDX-License-Identifier: Apache-2.0
"""What the page says once and in one way: page_clear.py."""

import unittest

import browser_cases


class PageClear(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_clear")


if __name__ == "__main__":
    unittest.main()
