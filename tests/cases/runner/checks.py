# SPDX-License-Identifier: Apache-2.0
"""The sections that check results: `rows` and `$ xlatrace ...`.

Each check runs one command and returns its failures, and the lines of its section with the actual values (for
--update).
"""

import dataclasses
import json
import re
import shlex

from expected import as_text, matches, written

OTHERS = "..."  # Any number of further rows.
NONE = "none"  # No row at all.
FORBIDDEN = "no "
SEPARATOR = re.compile(r"(?<!\|)\|(?!\|)")
EXIT, ERROR, PRINTS = "exit", "error", "prints"


@dataclasses.dataclass
class Failure:
    place: str
    message: str

    def __str__(self):
        return f"{self.place}: {self.message}"


@dataclasses.dataclass
class Outcome:
    failures: list
    body: list  # New lines of the section, without indentation.


def is_comment(line):
    return line.text.startswith("#")


def cells(text):
    return [cell.strip() for cell in SEPARATOR.split(text)]


def aligned(rows):
    """Rows of cells as lines, with the separators below each other; texts stay as they are."""
    tables = [row for row in rows if isinstance(row, list)]
    widths = [max(len(row[i]) for row in tables if i < len(row)) for i in range(max(map(len, tables)))]
    return [row if isinstance(row, str) else
            " | ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]


# --- tables ------------------------------------------------------------------------------------------


class Table:
    """Expected rows below a line of columns."""

    def __init__(self, head, lines):
        self.head = head  # The line above.
        self.lines = lines
        columns = [line for line in lines if not is_comment(line)]
        if len(columns) < 2:
            raise head.error("expected a line with columns, then rows, `none` or `...`")
        self.columns_line = columns[0]
        self.columns = cells(columns[0].text)

    def compare(self, rows):
        """`rows`: the actual ones, each with a value per column."""
        names = [re.sub(r".*\bas\s+", "", column, flags=re.I) for column in self.columns]
        failures, new = [], []
        left = list(range(len(rows)))  # Actual rows that no line has taken.
        may_skip = False
        for line in self.lines:
            if is_comment(line):
                new.append(line.text)
            elif line is self.columns_line:
                new.append(self.columns)
            elif line.text == OTHERS:
                may_skip = True
                new.append(OTHERS)
            elif line.text == NONE:
                if rows:
                    failures.append(Failure(line.place, f"expected no row, but there are {len(rows)}"))
            elif line.text.startswith(FORBIDDEN) and "|" not in line.text:
                name = line.text[len(FORBIDDEN) :].strip()
                if any(matches(name, row[0], names[0]) for row in rows):
                    failures.append(Failure(line.place, f"'{name}' is there, and must not be"))
                else:
                    new.append(line.text)
            else:
                expected = cells(line.text)
                if len(expected) != len(names):
                    raise line.error(f"{len(expected)} cells below {len(names)} columns")
                taken = next_row(expected, names, rows, left, may_skip)
                if taken is None:
                    failures.append(Failure(line.place, "no such row"))
                    continue
                row = []
                for cell, value, name in zip(expected, rows[taken], names):
                    is_right = matches(cell, value, name)
                    row.append(cell if is_right else written(value, name, cell))
                    if not is_right:
                        failures.append(Failure(line.place, f"{name}: expected '{cell}', actual '{row[-1]}'"))
                new.append(row)
                del left[: left.index(taken) + 1]
                may_skip = False
        if OTHERS not in new and left:
            more = [[written(value, name) for value, name in zip(rows[k], names)] for k in left]
            failures.append(Failure(self.head.place, f"{len(more)} more rows, the first: {' | '.join(more[0])}"))
            new += more
        if not rows and not any(isinstance(line, str) and not line.startswith("#") for line in new):
            new.append(NONE)
        return Outcome(failures, aligned(new))


def next_row(expected, names, rows, left, may_skip):
    """The actual row for an expected one: the next row. After `...` it is the next equal row, or else the next row with
    an equal first cell."""
    if not may_skip:
        return left[0] if left else None
    for count in (len(expected), 1):
        for k in left:
            if all(map(matches, expected[:count], rows[k][:count], names[:count])):
                return k
    return None


def check_rows(section, run_program):
    """`rows [of RUN] from ...`: the cells of the first line are the columns of a SELECT."""
    found = re.fullmatch(r"(?:of (\S+) )?(from .*)", section.rest)
    if not found:
        raise section.head.error("expected `rows from VIEW ...` or `rows of RUN from VIEW ...`")
    table = Table(section.head, section.body)
    sql = f"SELECT {', '.join(table.columns)} {found[2]}"
    done = run_program(["query", f"{found[1] or 'run'}.db", sql, "--format", "json"])
    if done.code != 0:
        raise section.head.error(f"the query fails: {first_error(done)}")
    rows = [list(row.values()) for row in json.loads(done.stdout)["rows"]]
    if rows and len(rows[0]) != len(table.columns):
        raise table.columns_line.error("two columns have one name: add `as NAME`")
    return table.compare(rows)


# --- commands ----------------------------------------------------------------------------------------


def check_command(section, run_program):
    """`$ xlatrace ...`: its exit status, its first error, a text that it prints, fields of its JSON."""
    words = shlex.split(section.rest)
    if not words or words[0] != "xlatrace":
        raise section.head.error("expected `$ xlatrace COMMAND ...`")
    done = run_program(words[1:])
    failures, new = [], []
    lines = list(section.body)
    if not any(line.text.startswith(f"{EXIT}:") for line in lines) and done.code != 0:
        failures.append(Failure(section.head.place, f"exit status {done.code}: {first_error(done)}"))
        new.append(f"{EXIT}: {done.code}")
    while lines:
        line = lines.pop(0)
        if is_comment(line):
            new.append(line.text)
            continue
        field, colon, cell = (part.strip() for part in line.text.partition(":"))
        if not colon:
            raise line.error("expected `FIELD: VALUE`")
        below = []
        while lines and lines[0].indent > line.indent:
            below.append(lines.pop(0))
        if field == PRINTS:
            if " ".join(cell.split()) in " ".join(done.stdout.split()):
                new.append(line.text)
            else:
                failures.append(Failure(line.place, f"not printed: {cell}\n{done.stdout}"))
            continue
        if field in (EXIT, ERROR):
            value = done.code if field == EXIT else first_error(done)
        else:
            value = select(read_json(done, line), field)
        if below:
            table = Table(line, below)
            if not isinstance(value, list):
                raise line.error(f"{field} is no array: {written(value, '')}")
            outcome = table.compare([[select(one, column) for column in table.columns] for one in value])
            failures += outcome.failures
            new += [line.text, *("  " + text for text in outcome.body)]
        elif matches(cell, value, last_name(field)):
            new.append(line.text)
        else:
            actual = written(value, last_name(field), cell)
            failures.append(Failure(line.place, f"{field}: expected '{cell}', actual '{actual}'"))
            new.append(f"{field}: {actual}")
    return Outcome(failures, new)


def first_error(done):
    """The first error without the program's name, else the last line of standard error."""
    for line in done.stderr.splitlines():
        if line.startswith("xlatrace: error: "):
            return line.removeprefix("xlatrace: error: ")
    return (done.stderr.splitlines() or ["no error message"])[-1]


def read_json(done, line):
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise line.error("the command prints no JSON: add `--format json`") from None


def last_name(field):
    return re.sub(r"\[[^\]]*\]$", "", field).rpartition(".")[2]


def select(answer, field):
    """`checks[0].name`; `checks[name=step].outcome`: of the first element with that value; `checks.length`."""
    value = answer
    for name, index in re.findall(r"([\w\-]+)|\[([^\]]+)\]", field):
        try:
            if name == "length" and isinstance(value, list):
                value = len(value)
            elif name:
                value = value[name]
            elif "=" in index:
                key, _, wanted = index.partition("=")
                value = next(one for one in value if as_text(one.get(key)) == wanted)
            else:
                value = value[int(index)]
        except (KeyError, IndexError, TypeError, ValueError, StopIteration):
            return f"no {name or '[' + index + ']'}"
    return value


CHECKS = {"rows": check_rows, "$": check_command}
