# SPDX-License-Identifier: Apache-2.0
"""Rows of a view, as whatever kind of table is wanted."""

from __future__ import annotations

import html
import sqlite3
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Sequence, Tuple, Union

from xlatrace.errors import XlatraceError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

Value = Union[None, int, float, str]
Row = Dict[str, Value]

_SHOWN_ROWS = 20
_CHUNK = 20000


class Table:
    """The result of one query, read from the file each time it is asked for.

    Iterating gives dictionaries; `pandas()`, `polars()` and `arrow()` give that library's table,
    whole numbers as 64-bit integers with missing values kept missing. `len()` counts rows.
    """

    def __init__(
        self, connection: sqlite3.Connection, sql: str, parameters: Sequence[Value] = ()
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._parameters = tuple(parameters)

    @property
    def columns(self) -> List[str]:
        """Names of the columns, in order."""
        cursor = self._execute(f"SELECT * FROM ({self._sql}\n) LIMIT 0")
        return [column[0] for column in cursor.description]

    def __len__(self) -> int:
        count: int = self._execute(f"SELECT count(*) FROM ({self._sql}\n)").fetchone()[0]
        return count

    def __iter__(self) -> Iterator[Row]:
        cursor = self._execute(self._sql)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row))

    def rows(self) -> List[Row]:
        """All rows as dictionaries."""
        return list(self)

    def head(self, count: int = 5) -> Table:
        """The first rows only."""
        return Table(
            self._connection, f"SELECT * FROM ({self._sql}\n) LIMIT {int(count)}", self._parameters
        )

    def to_dict(self) -> Dict[str, List[Value]]:
        """Column name -> its values; what the conversions below start from."""
        cursor = self._execute(self._sql)
        names = [column[0] for column in cursor.description]
        columns: List[List[Value]] = [[] for _ in names]
        while True:
            chunk: List[Tuple[Value, ...]] = cursor.fetchmany(_CHUNK)
            if not chunk:
                return dict(zip(names, columns))
            for column, values in zip(columns, zip(*chunk)):
                column.extend(values)

    def pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame; columns of integers with NULLs are of type Int64."""
        module = _import("pandas")
        data: Dict[str, Any] = {}
        for name, values in self.to_dict().items():
            kinds = {type(value) for value in values}
            kind = "Int64" if kinds == {int, type(None)} else None
            data[name] = module.Series(values, dtype=kind or ("object" if not values else None))
        frame: pandas.DataFrame = module.DataFrame(data)
        return frame

    def polars(self) -> polars.DataFrame:
        """A Polars DataFrame."""
        module = _import("polars")
        series = [
            module.Series(name, _plain(values), strict=True)
            for name, values in self.to_dict().items()
        ]
        frame: polars.DataFrame = module.DataFrame(series)
        return frame

    def arrow(self) -> pyarrow.Table:
        """An Arrow table (pyarrow)."""
        module = _import("pyarrow")
        return module.table({name: _plain(v) for name, v in self.to_dict().items()})

    def __repr__(self) -> str:
        return f"<xlatrace table: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        columns = self.columns
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = []
        for row in self.head(_SHOWN_ROWS):
            cells = "".join(f"<td>{_cell(row[name])}</td>" for name in columns)
            body.append(f"<tr>{cells}</tr>")
        count = len(self)
        more = f"<p>{count:,} rows, {_SHOWN_ROWS} shown</p>" if count > _SHOWN_ROWS else ""
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{more}"
        )

    def _execute(self, sql: str) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, self._parameters)
        except sqlite3.Error as error:
            raise XlatraceError(f"the query failed: {error}", "docs/schema.md lists the views")


def _plain(values: List[Value]) -> List[Value]:
    """One type per column: whole numbers among fractions become fractions."""
    kinds = {type(value) for value in values}
    if int in kinds and float in kinds:
        return [float(value) if isinstance(value, int) else value for value in values]
    return values


def _cell(value: Value) -> str:
    return "" if value is None else html.escape(str(value))


def _import(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise XlatraceError(
            f"{name} is not installed in this Python", f"python -m pip install {name}"
        ) from None
