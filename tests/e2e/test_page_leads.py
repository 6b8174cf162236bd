# SPDX-License-Identifier: Apache-2.0
"""Where a page leads, and what it leads to: page_leads.py."""

import unittest

import browser_cases


class PageLeads(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_leads")


if __name__ == "__main__":
    unittest.main()
