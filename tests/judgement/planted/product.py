# SPDX-License-Identifier: Apache-2.0
"""Records a program with xlatrace, and searches its answers for a function and its lines."""

import json
import re

from planted.running import last_json, run


class Answers:
    """The answer sentences and a table of one recording."""

    def __init__(self, xlatrace, python, folder, table, *, busy=0, environment=None):
        self.xlatrace, self.folder = xlatrace, folder
        command = [xlatrace, "record", "-o", "run.db", "--", python, "program.py"]
        self.status, output, self.errors, self.seconds = run(command, folder, busy=busy, environment=environment)
        self.figures = last_json(output)
        self.screen = self.printed("summary")
        self.sentences = sentences_of(self.screen)
        self.table = self.printed("summary", "--by", table, "--format", "json")
        self.rows = rows_of(self.table)

    def printed(self, command, *options):
        """The output of a command that reads the recording; empty if the command failed."""
        status, output, errors, _ = run([self.xlatrace, command, "run.db", *options], self.folder)
        self.errors += errors if status else ""
        return "" if status else output


def sentences_of(screen):
    """The text between the two lines of the header and the first table."""
    found = []
    for line in screen.splitlines()[2:]:
        if line.startswith("part of ") or re.match(r"\S.*\S {2,}\S", line):
            break
        found.append(line.strip())
    return " ".join(word for word in found if word)


def all_rows(text):
    """The lists of objects in a JSON text, without those of the answer. The keys do not matter."""
    try:
        return list(_lists(json.loads(text)))
    except json.JSONDecodeError:
        return []


def rows_of(text):
    """The rows of the longest list of objects in a JSON text."""
    return max(all_rows(text), key=len, default=[])


def _lists(value):
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("answer", "findings", "steps"):  # these parts of the JSON are not the table
                yield from _lists(item)


def _scalars(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield value


def names_function(part, function):
    """True if a sentence or a row has this function."""
    texts = texts_of(part)
    return any(re.search(rf"(?<!\w){re.escape(function)}(?!\w)", text) for text in texts)


def names_line(part, file, first, last):
    """True if a sentence or a row has a line of this range of the file: `FILE:LINE`, or both in one row."""
    scalars = [part] if isinstance(part, str) else list(_scalars(part))
    texts = [value for value in scalars if isinstance(value, str)]
    for text in texts:
        for line in re.findall(rf"(?<![\w.]){re.escape(file)}:(\d+)", text):
            if first <= int(line) <= last:
                return True
    if isinstance(part, str):
        return False
    has_file = any(text.rsplit("/", 1)[-1] == file for text in texts)
    return has_file and any(type(value) is int and first <= value <= last for value in scalars)


def names_answer(part, answer):
    return names_function(part, answer["function"]) and names_line(
        part, answer["file"], answer["first_line"], answer["last_line"])


def texts_of(part):
    """The texts of a sentence or row."""
    return [part] if isinstance(part, str) else [value for value in _scalars(part) if isinstance(value, str)]


def names_text(part, searched):
    """True if a sentence or a row has this text, with either kind of quotes, and not inside a longer name."""
    plain = searched.replace('"', "'")
    return any(re.search(rf"(?<!\w){re.escape(plain)}(?![\w\[])", text.replace('"', "'")) for text in texts_of(part))


def names_word(part, words):
    """True if a sentence or a row has one of these words."""
    texts = texts_of(part)
    return any(re.search(rf"(?<![a-z]){word}(?![a-z])", text.replace("_", " "), re.I)
               for text in texts for word in words)
