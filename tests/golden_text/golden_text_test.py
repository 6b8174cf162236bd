#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of golden_text.py. Needs nothing built."""

import io
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import golden_text


def run_case(folder, texts, update=False):
    """Runs one test that compares `texts`, in a module that lies in `folder`."""

    class Case(golden_text.GoldenText, unittest.TestCase):
        def test_texts_are_golden(self):
            for text in texts:
                self.assert_golden_text(text)

    module = types.ModuleType("sample")
    module.__file__ = str(pathlib.Path(folder) / "test_sample.py")
    Case.__module__ = "sample"
    environment = {"XLATRACE_UPDATE_GOLDEN": "1" if update else "0"}
    with mock.patch.dict(sys.modules, sample=module), mock.patch.dict(os.environ, environment):
        return unittest.TextTestRunner(stream=io.StringIO()).run(Case("test_texts_are_golden"))


class GoldenTextTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_sections_survive_formatting_and_parsing(self):
        sections = {"A.b": "one", "A.b #2": "two\n\n== lines", "C.d": "\\ x", "E.f": ""}
        self.assertEqual(golden_text.parse_sections(golden_text.format_sections("s", sections)), sections)

    def test_updated_text_passes_afterwards(self):
        run_case(self.folder, ["one", "two\nlines"], update=True)
        self.assertTrue(run_case(self.folder, ["one", "two\nlines"]).wasSuccessful())

    def test_different_text_fails(self):
        run_case(self.folder, ["one"], update=True)
        self.assertEqual(len(run_case(self.folder, ["other"]).failures), 1)

    def test_missing_section_fails(self):
        self.assertEqual(len(run_case(self.folder, ["one"]).failures), 1)

    def test_section_without_an_assertion_fails(self):
        run_case(self.folder, ["one", "two"], update=True)
        self.assertEqual(len(run_case(self.folder, ["one"]).failures), 1)

    def test_update_removes_sections_without_an_assertion(self):
        run_case(self.folder, ["one", "two"], update=True)
        run_case(self.folder, ["one"], update=True)
        self.assertTrue(run_case(self.folder, ["one"]).wasSuccessful())

    def test_temporary_folders_are_masked(self):
        text = f"reading '{tempfile.gettempdir()}/xlatrace-e2e-ab1/run.db': empty"
        self.assertEqual(golden_text.mask_temporary_folders(text), "reading '<tmp>/run.db': empty")


if __name__ == "__main__":
    unittest.main()
