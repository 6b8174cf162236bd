# SPDX-License-Identifier: Apache-2.0
"""Tables as text and HTML. Names in a run are data of unknown origin, so both are made safe."""

from __future__ import annotations

import html
from itertools import islice
from typing import Any, List, Mapping, Sequence

_TEXT_ROWS = 10
_HTML_ROWS = 20
_TEXT_WIDTH = 100
_CELL_WIDTH = 40

Columns = Mapping[str, List[Any]]


def table_text(columns: Columns, count: int) -> str:
    """The size, and the first rows of the columns that fit a line."""
    blocks: List[List[str]] = []
    width = 0
    for name, values in columns.items():
        cells = [_cut(_text(name)), *(_cut(_text(value)) for value in values[:_TEXT_ROWS])]
        wide = max(map(len, cells))
        if blocks and width + wide > _TEXT_WIDTH:
            break
        width += wide + 2
        numbers = _are_numbers(values)
        blocks.append([cell.rjust(wide) if numbers else cell.ljust(wide) for cell in cells])
    lines = ["  ".join(cells).rstrip() for cells in zip(*blocks)]
    lines.insert(0, f"<xlatrace table: {_count(count, 'row')}, {_count(len(columns), 'column')}>")
    if count > _TEXT_ROWS:
        lines.append(f"... {count - _TEXT_ROWS:,} more rows")
    hidden = list(columns)[len(blocks) :]
    if hidden:
        lines.append(f"... {len(hidden)} more columns: {', '.join(map(_text, hidden))}")
    return "\n".join(lines)


def column_text(name: str, kind: str, values: Sequence[Any]) -> str:
    """The name, the type, and the first values."""
    shown = [_cut(_text(value)) for value in islice(values, _TEXT_ROWS)]
    if len(values) > _TEXT_ROWS:
        shown.append(f"... {len(values) - _TEXT_ROWS:,} more")
    return f"<xlatrace column {_text(name)} ({kind}): {', '.join(shown)}>"


def table_html(columns: Columns, count: int) -> str:
    """The first rows as a table of HTML."""
    # Notebooks align cells to the right. Texts are easier to read from the left.
    starts = {
        name: "" if _are_numbers(values) else ' style="text-align: left"' for name, values in columns.items()
    }
    head = "".join(f"<th{starts[name]}>{html.escape(_text(name))}</th>" for name in columns)
    body = []
    for row in islice(zip(*columns.values()), _HTML_ROWS):
        cells = "".join(
            f"<td{start}>{'' if value is None else html.escape(_text(value))}</td>"
            for start, value in zip(starts.values(), row)
        )
        body.append(f"<tr>{cells}</tr>")
    more = f"<p>{count:,} rows, {_HTML_ROWS} shown</p>" if count > _HTML_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{more}"


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether the shown values are numbers; a column without values counts as one."""
    return all(value is None or isinstance(value, (int, float)) for value in values[:_HTML_ROWS])


def _text(value: Any) -> str:
    """A value on one line, without characters that could steer a terminal."""
    text = "" if value is None else str(value)
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cut(text: str) -> str:
    return text if len(text) <= _CELL_WIDTH else text[: _CELL_WIDTH - 2] + ".."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
