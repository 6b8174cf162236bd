# SPDX-License-Identifier: Apache-2.0
"""The tests of the page in a browser: page_browser.py."""

import unittest

import browser_cases


class PageInABrowser(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_browser")


if __name__ == "__main__":
    unittest.main()
