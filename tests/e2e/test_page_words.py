# SPDX-License-Identifier: Apache-2.0
"""What figures are called, what is cut and names that keep both ends: page_words.py."""

import unittest

import browser_cases


class PageWords(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_words")


if __name__ == "__main__":
    unittest.main()
