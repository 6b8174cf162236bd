#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of scripts/lint_rules notices a planted violation and accepts plain text. Needs git only."""

import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))
from lint_rules import (  # noqa: E402
    allowances,
    commits,
    golden_sections,
    licence,
    main,
    names,
    prose_in_tests,
    sources,
    words,
)

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


class CheckoutCase(unittest.TestCase):
    """Has a folder `root` for planted files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, file, text):
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return file

    def rules(self, check, *files):
        return [violation.rule for violation in check(self.root, list(files))]


class WordsTest(CheckoutCase):
    def test_sentences_of_the_case_file_are_judged_as_marked(self):
        patterns = words.load_patterns()
        for line in (HERE / "words_cases.txt").read_text().splitlines():
            if line.startswith("#"):
                continue
            mark, sentence = line.split("\t")
            with self.subTest(sentence=sentence):
                self.assertEqual(bool(words.faults_of(sentence, patterns)), mark == "bad")

    def test_comment_with_a_forbidden_word_is_a_violation(self):
        file = self.plant("store/a.cc", LICENCE + "int x;  // The file tells its version.\n")
        self.assertEqual(self.rules(words.check, file), ["comment_words"])

    def test_message_with_a_forbidden_word_is_a_violation(self):
        file = self.plant("tools/a.cc", 'auto a = "the driver told no version at all";\n')
        self.assertEqual(self.rules(words.check, file), ["message_words"])

    def test_document_with_a_forbidden_word_is_a_violation(self):
        file = self.plant("docs/a.md", "# Title\n\nThe store says this.\n\n```\nit says code\n```\n")
        self.assertEqual(self.rules(words.check, file), ["document_words"])

    def test_long_sentence_in_a_comment_is_a_violation(self):
        file = self.plant("store/a.h", "// " + "word " * (words.MAX_SENTENCE_WORDS + 1) + "\n")
        self.assertEqual(self.rules(words.check, file), ["long_sentences"])

    def test_python_docstring_is_checked_like_a_comment(self):
        file = self.plant("python/a.py", '"""The module tells a story."""\n')
        self.assertEqual(self.rules(words.check, file), ["comment_words"])

    def test_lines_of_one_comment_are_one_text(self):
        file = self.plant("store/a.h", "// First line of\n// what is one sentence.\n")
        self.assertEqual(self.rules(words.check, file), [])


class NamesTest(CheckoutCase):
    def test_vague_constant_is_a_violation(self):
        file = self.plant("store/a.cc", "constexpr int kMost = 3;\n")
        self.assertEqual(self.rules(names.check_constants, file), ["vague_constants"])

    def test_constant_without_unit_or_role_is_a_violation(self):
        file = self.plant("store/a.cc", "constexpr int64_t kGap = 3;\n")
        self.assertEqual(self.rules(names.check_constants, file), ["constant_names"])

    def test_constant_with_unit_and_role_is_accepted(self):
        file = self.plant("store/a.cc", "constexpr int64_t kMinGapNs = 3;\nconstexpr int kPageBytes{4};\n")
        self.assertEqual(self.rules(names.check_constants, file), [])

    def test_riddle_as_test_name_is_a_violation(self):
        file = self.plant("tests/store/a_test.cc", "TEST(Steps, WhatAPauseInterruptsIsNone) {}\n")
        self.assertEqual(self.rules(names.check_tests, file), ["test_names"])

    def test_long_test_name_is_a_violation(self):
        file = self.plant("tests/e2e/test_a.py", "    def test_" + "_".join("abcdefghijk") + "(self):\n")
        self.assertEqual(self.rules(names.check_tests, file), ["test_names"])

    def test_condition_and_result_as_test_name_is_accepted(self):
        file = self.plant("tests/store/a_test.cc", "TEST_F(Steps, RepeatedNumberStartsANewEpoch) {}\n")
        self.assertEqual(self.rules(names.check_tests, file), [])


class OtherRulesTest(CheckoutCase):
    def test_source_without_a_licence_line_is_a_violation(self):
        files = [self.plant("store/a.cc", "int x;\n"), self.plant("store/b.cc", LICENCE)]
        self.assertEqual(self.rules(licence.check, *files), ["licence"])

    def test_sentence_of_the_product_in_a_test_is_a_violation(self):
        product = self.plant("store/a.cc", 'Fail("the file ends inside one torn page");\n')
        test = self.plant("tests/store/a_test.cc", 'EXPECT_THAT(e, HasSubstr("ends inside one torn page"));\n')
        self.assertEqual(self.rules(prose_in_tests.check, product, test), ["prose_in_tests"])

    def test_sentence_of_the_product_in_golden_text_is_accepted(self):
        product = self.plant("store/a.cc", 'Fail("the file ends inside one torn page");\n')
        golden = self.plant("tests/store/golden_text/A.txt", "== B\nthe file ends inside one torn page\n")
        self.assertEqual(self.rules(prose_in_tests.check, product, golden), [])

    def test_other_text_in_a_test_is_accepted(self):
        product = self.plant("store/a.cc", 'Fail("the file ends inside one torn page");\n')
        test = self.plant("tests/store/a_test.cc", 'EXPECT_EQ(name, "fusion kernel of layer seven");\n')
        self.assertEqual(self.rules(prose_in_tests.check, product, test), [])

    def test_golden_section_without_its_test_is_a_violation(self):
        self.plant("tests/store/a_test.cc", "TEST(Pages, AreRead) {}\n")
        file = self.plant("tests/store/golden_text/Pages.txt", "== AreRead\nx\n\n== AreRead #2\n\n== Gone\ny\n")
        self.assertEqual(self.rules(golden_sections.check, file), ["golden_sections"])

    def test_faults_of_commit_subjects_are_found(self):
        patterns = words.load_patterns()
        for subject, good in {
            "store: read pages in one pass": True,
            "store, hlo: read pages in one pass": True,
            "read pages in one pass": False,
            "store: what is new": False,
            "store: the pages in one pass": False,
            "store: read " + "x" * 72: False,
            "report: tell the reader why": False,
        }.items():
            with self.subTest(subject=subject):
                self.assertEqual(commits.fault_of(subject, patterns) is None, good)


class AllowanceTest(CheckoutCase):
    def found(self, number):
        return [sources.Violation("comment_words", "store", "store/a.cc", 1, "x")] * number

    def test_count_above_its_allowance_fails(self):
        lines = []
        self.assertFalse(main.report(self.found(3), Counter({("store", "comment_words"): 2}), lines.append))
        self.assertIn("3 violations, 2 allowed", lines[0])

    def test_count_below_its_allowance_fails_until_it_is_lowered(self):
        allowed = Counter({("store", "comment_words"): 4})
        self.assertFalse(main.report(self.found(3), allowed, lambda line: None))
        lowered = allowances.lowered(allowances.counted(self.found(3)), allowed)
        self.assertTrue(main.report(self.found(3), lowered, lambda line: None))

    def test_lowering_never_raises_an_allowance(self):
        allowed = Counter({("store", "comment_words"): 2})
        lowered = allowances.lowered(allowances.counted(self.found(3)), allowed)
        self.assertEqual(lowered, allowed)

    def test_allowances_survive_writing_and_reading(self):
        allowed = Counter({("store", "comment_words"): 2, ("tests/e2e", "test_names"): 1})
        allowances.write(allowed, self.root / "allowances.txt")
        self.assertEqual(allowances.read(self.root / "allowances.txt"), allowed)

    def test_touched_lists_violations_of_changed_files_only(self):
        def git(*arguments):
            command = ["git", "-C", str(self.root), "-c", "user.name=x", "-c", "user.email=x@x", *arguments]
            subprocess.run(command, check=True, capture_output=True)

        git("init")
        self.plant("store/a.cc", LICENCE)
        self.plant("store/b.cc", LICENCE)
        git("add", "-A")
        git("commit", "-m", "store: begin")
        self.plant("store/b.cc", LICENCE + "int x;\n")
        self.assertEqual(main.touched_files(self.root, "HEAD"), {"store/b.cc"})


if __name__ == "__main__":
    unittest.main()
