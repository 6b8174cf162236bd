# SPDX-License-Identifier: Apache-2.0
"""The critical path on the page: page_path.py."""

import unittest

import browser_cases


class PagePath(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_path")


if __name__ == "__main__":
    unittest.main()
