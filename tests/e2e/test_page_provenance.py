# SPDX-License-Identifier: Apache-2.0
"""Where an op came from, on the page: page_provenance.py."""

import unittest

import browser_cases


class PageProvenance(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_provenance")


if __name__ == "__main__":
    unittest.main()
