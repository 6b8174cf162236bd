# SPDX-License-Identifier: Apache-2.0
"""Memory, and the part of the page without scripts: page_controls.py."""

import unittest

import browser_cases


class PageMemory(unittest.TestCase):
    def test_all(self):
        classes = ("Memory", "SameWords")
        browser_cases.run(self, *(f"page_controls.{name}" for name in classes))


if __name__ == "__main__":
    unittest.main()
