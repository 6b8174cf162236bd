# SPDX-License-Identifier: Apache-2.0
"""Golden text for Python tests: sentences of the product, kept beside the tests (golden_text.h is the
same for C++).

`assert_golden_text(text)` compares `text` with a section of `golden_text/MODULE.txt` beside the module
of the test. The section is named `Class.test_name`; the second call in one test has the section
`Class.test_name #2`, and so on. With XLATRACE_UPDATE_GOLDEN=1 the sections of all tests that run are
written instead of compared (`scripts/golden`).
"""

import os
import pathlib
import re
import sys
import tempfile


def update_is_requested():
    return os.environ.get("XLATRACE_UPDATE_GOLDEN") == "1"


def parse_sections(file_text):
    """{section name: text}; the format is described in golden_text.h."""
    sections, lines = {}, None
    for line in file_text.splitlines():
        if line.startswith("== "):
            lines = sections.setdefault(line[3:], [])
        elif lines is not None:
            lines.append(line[1:] if line.startswith("\\") else line)
    return {
        name: "\n".join(text[:-1] if text and not text[-1] else text)
        for name, text in sections.items()
    }


def format_sections(suite, sections):
    parts = [f"Text of the product that the tests of {suite} expect. Written by scripts/golden.\n\n"]
    for name in sorted(sections):
        text = "\n".join(
            "\\" + line if line.startswith(("==", "\\")) else line
            for line in sections[name].split("\n")
        )
        parts.append(f"== {name}\n{text}\n\n")
    return "".join(parts)


def mask_temporary_folders(text):
    root = re.escape(tempfile.gettempdir().rstrip("/"))
    return re.sub(rf"{root}/[\w.\-]+", "<tmp>", text)


class GoldenText:
    """To be inherited beside unittest.TestCase."""

    def golden_masks(self):
        """(pattern, replacement) pairs for everything in a text that differs between two runs."""
        return ()

    def assert_golden_text(self, text, masks=()):
        """`masks`: more (pattern, replacement) pairs, applied before the comparison."""
        for pattern, replacement in (*masks, *self.golden_masks()):
            text = re.sub(pattern, replacement, text)
        text = mask_temporary_folders(text).rstrip("\n")
        test = f"{type(self).__name__}.{self._testMethodName}"
        module = pathlib.Path(sys.modules[type(self).__module__].__file__)
        file = module.parent / "golden_text" / f"{module.stem}.txt"
        if not hasattr(self, "_golden_texts"):
            self._golden_texts = []
            self.addCleanup(self._end_golden_texts, file, test)
        self._golden_texts.append(text)
        if update_is_requested():
            return
        name = _section_name(test, len(self._golden_texts))
        sections = _load(file)
        if name not in sections:
            self.fail(f"{file} has no section '{name}'. Run scripts/golden, then review:\n{text}")
        self.assertEqual(
            sections[name],
            text,
            f"section '{name}' of {file}. If the new text is right, run scripts/golden and review "
            "the difference.",
        )

    def _end_golden_texts(self, file, test):
        sections = _load(file)
        if update_is_requested():
            kept = {
                name: text
                for name, text in sections.items()
                if name != test and not name.startswith(f"{test} #")
            }
            for number, text in enumerate(self._golden_texts, 1):
                kept[_section_name(test, number)] = text
            file.parent.mkdir(exist_ok=True)
            file.write_text(format_sections(file.stem, kept))
        elif _section_name(test, len(self._golden_texts) + 1) in sections and not self._has_failed():
            self.fail(f"{file} has more sections of {test} than it compares. Run scripts/golden.")

    def _has_failed(self):
        """Failures already recorded; a test that stops early checks fewer texts."""
        result = getattr(self._outcome, "result", None)
        if hasattr(self._outcome, "errors"):  # Until Python 3.10.
            return any(error for _, error in self._outcome.errors)
        failed = [*getattr(result, "failures", ()), *getattr(result, "errors", ())]
        return not self._outcome.success or any(case is self for case, _ in failed)


def _section_name(test, number):
    return test if number == 1 else f"{test} #{number}"


def _load(file):
    return parse_sections(file.read_text()) if file.exists() else {}
