# SPDX-License-Identifier: Apache-2.0
"""The five questions that a page is opened for, asked of public captures: page_questions.py."""

import unittest

import browser_cases


class PageQuestions(unittest.TestCase):
    def test_all(self):
        browser_cases.run(self, "page_questions")


if __name__ == "__main__":
    unittest.main()
