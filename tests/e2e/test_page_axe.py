# SPDX-License-Identifier: Apache-2.0
"""What axe says of every page: page_axe.py."""

import unittest

import browser_cases


class PageAxe(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_axe")


if __name__ == "__main__":
    unittest.main()
