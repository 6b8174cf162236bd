# SPDX-License-Identifier: Apache-2.0
"""Part 1 of 2 of the tests of the page in a browser: browser_cases.py."""

import unittest

import browser_cases


class Pages(unittest.TestCase):
    def test_first_half_of_the_page_tests_passes(self):
        browser_cases.run(self, 1, 2)


if __name__ == "__main__":
    unittest.main()
