# SPDX-License-Identifier: Apache-2.0
"""Tests that contain sentences of the product outside golden text files.

A literal of a test is product prose if it shares consecutive words with a literal of the product.
Needed are three words without a stop word, or four words with at most two stop words. Golden text files
(tests/*/golden_text) hold such sentences, so that one command rewrites them.
"""

import re
from pathlib import Path

from lint_rules import sources
from lint_rules.sources import Violation

# (consecutive words, at least so many of them that are no stop words)
_SHARED = ((3, 3), (4, 2))
_STOP_WORDS = set(
    "a an and are as at be been but by did do does for from had has have if in into is it its no not of off on or so "
    "than that the their them then there these they this those to was were what when where which while who will with "
    "all any both each every more most only other same such".split()
)
# Names that product and tests share by necessity: another tool's words, or input of readers.
_ALLOWED_FILE = Path(__file__).with_name("prose_in_tests_allowed.txt")
_RUN = re.compile(r"[A-Za-z][A-Za-z']*(?:,? [A-Za-z][A-Za-z']*)+")
_SQL = re.compile(r"^\s*(SELECT|INSERT|CREATE|DELETE|UPDATE|WITH|PRAGMA|FROM|WHERE|JOIN|LEFT|ORDER|GROUP|AND)\b"
                  r"|\b(SELECT|FROM|WHERE|JOIN) ")


def phrases(text):
    """All runs of words that can show that two texts share a phrase."""
    if _SQL.search(text):
        return
    for run in _RUN.finditer(text):
        words = re.findall(r"[a-z']+", run.group(0).lower())
        for length, content in _SHARED:
            for i in range(len(words) - length + 1):
                phrase = tuple(words[i : i + length])
                if sum(word not in _STOP_WORDS for word in phrase) >= content:
                    yield phrase


def product_phrases(root, files):
    found = set()
    for file in files:
        if sources.component_of(file) not in sources.PRODUCT or ".test." in file:
            continue
        text = (Path(root) / file).read_text(errors="replace")
        for literal in sources.literals(file, text):
            found.update(phrases(literal.text))
        if file.endswith(".tsx"):  # Text between tags.
            for between in re.findall(r">([^<>{}]*)<", text):
                found.update(phrases(between))
    return found


def allowed_phrases(path=_ALLOWED_FILE):
    if not path.exists():
        return set()
    lines = (line.split("  #")[0].strip() for line in path.read_text().splitlines())
    return {phrase for line in lines if line and not line.startswith("#") for phrase in phrases(line)}


def check(root, files):
    product = product_phrases(root, files) - allowed_phrases()
    for file in files:
        if not file.startswith("tests/") or not file.endswith((".cc", ".h", ".py")):
            continue
        if file.startswith(("tests/lint/", "tests/golden_text/")):
            continue
        text = (Path(root) / file).read_text(errors="replace")
        for literal in sources.literals(file, text):
            shared = next((phrase for phrase in phrases(literal.text) if phrase in product), None)
            if shared:
                message = f"'{' '.join(shared)}' is text of the product: assert the fact, or use golden text"
                yield Violation("prose_in_tests", _area_of(file), file, literal.line, message)


def _area_of(file):
    return "/".join(file.split("/")[:2]) if file.count("/") > 1 else "tests"
