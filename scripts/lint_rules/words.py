# SPDX-License-Identifier: Apache-2.0
"""Plain English: forbidden words and long sentences in comments, messages and documents."""

import re
from pathlib import Path

from lint_rules import sources
from lint_rules.sources import Violation

MAX_SENTENCE_WORDS = 25
# A literal with fewer words is a name, a key or a fragment of another language.
MIN_MESSAGE_WORDS = 4
_SQL = re.compile(r"\b(SELECT|INSERT|CREATE|UPDATE|DELETE|PRAGMA|FROM|WHERE|JOIN)\b")


def load_patterns(path=Path(__file__).with_name("words.txt")):
    """[(compiled pattern, what to write instead)]"""
    patterns = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, instead = line.split("\t")
            patterns.append((re.compile(pattern, re.IGNORECASE), instead))
    return patterns


def faults_of(text, patterns):
    """Messages about the forbidden words in one text."""
    found = []
    for sentence in sources.sentences(text):
        plain = re.sub(r"\"[^\"]*\"|`[^`]*`", "CODE", sentence)
        for pattern, instead in patterns:
            match = pattern.search(plain)
            if match:
                shown = match.group(0) if len(match.group(0)) < 30 else " ".join(plain.split()[:4])
                found.append(f"'{shown}': write {instead}")
    return found


def long_sentences_of(text):
    return [
        f"{len(words)} words in one sentence, at most {MAX_SENTENCE_WORDS}: {' '.join(words[:6])} ..."
        for words in (sentence.split() for sentence in sources.sentences(text))
        if len(words) > MAX_SENTENCE_WORDS
    ]


def is_message(text):
    words = re.findall(r"[A-Za-z]{2,}", text)
    return len(words) >= MIN_MESSAGE_WORDS and " " in text and not _SQL.search(text)


def check(root, files, patterns=None):
    patterns = patterns or load_patterns()
    for file in files:
        if file.startswith("scripts/lint_rules/words"):
            continue
        component = sources.component_of(file)
        text = _read(root, file)
        if text is None:
            continue
        places = [("comment", part) for part in sources.comments(file, text)]
        if component in sources.PRODUCT:
            places += [("message", p) for p in sources.literals(file, text) if is_message(p.text)]
        if file.endswith(".md"):
            places += [("document", part) for part in sources.paragraphs(text)]
        for kind, part in places:
            for fault in faults_of(part.text, patterns):
                yield Violation(f"{kind}_words", component, file, part.line, fault)
            if kind != "message":
                for fault in long_sentences_of(part.text):
                    yield Violation("long_sentences", component, file, part.line, fault)


def _read(root, file):
    known = sources.is_c_like(file) or file.endswith((".py", ".md", ".sh", ".cmake", "CMakeLists.txt"))
    if not known and not sources.is_script(file):
        return None
    return (Path(root) / file).read_text(errors="replace")
