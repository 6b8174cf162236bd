# SPDX-License-Identifier: Apache-2.0
"""Every control of the page, used: page_controls.py."""

import unittest

import browser_cases


class PageControls(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_controls.Controls", "page_controls.RowKeys", "page_controls.KernelsOnly")


if __name__ == "__main__":
    unittest.main()
