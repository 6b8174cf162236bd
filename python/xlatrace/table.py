# SPDX-License-Identifier: Apache-2.0
"""Rows of a view, as a table of pandas, Polars or Arrow, or without any library."""

from __future__ import annotations

import operator
import sqlite3
import sys
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
    overload,
)

from xlatrace import column_types, table_convert, table_text
from xlatrace.errors import XlatraceError
from xlatrace.table_column import Column, Mask, Value

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

Row = Dict[str, Value]
# Libraries with a data frame, and the method that converts to it.
_FRAMES = {"pandas": "to_pandas", "polars": "to_polars", "pyarrow": "to_arrow"}
_FRAME_CLASSES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}


class Table:
    """The result of one query, which runs when the table is first read, and only once.

    Rows are dictionaries: iterate, or use `t[0]`, `t[-1]`. `t["col"]` is a column, `t[:5]`,
    `t[["a", "b"]]` and `t[t["col"] > 5]` are tables. `select`, `filter` and `sort` have the names of
    Polars, and some of pandas and Arrow as well. `to_pandas()`, `to_polars()` and `to_arrow()`
    convert to a data frame, which has all the rest. Libraries that read Arrow's C stream take the
    table itself: `polars.DataFrame(t)`, `pyarrow.table(t)`.

    `schema` has a type for each column: int64, float64, string or binary. Columns of views have the
    same type in every run (docs/schema.md), also without rows. Missing values stay missing.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        sql: str,
        parameters: Sequence[Value] = (),
        types: Optional[Callable[[str], Optional[str]]] = None,
    ) -> None:
        self._connection: Optional[sqlite3.Connection] = connection
        self._sql = sql
        self._parameters = tuple(parameters)
        self._types = types or (lambda name: None)
        self._data: Optional[Dict[str, List[Value]]] = None
        self._count = 0
        self._schema: Optional[Dict[str, str]] = None

    # --- rows and columns ------------------------------------------------------------------------

    @property
    def columns(self) -> List[str]:
        """Names of the columns, in order."""
        return list(self._columns())

    column_names = columns

    @property
    def schema(self) -> Dict[str, str]:
        """Column name -> int64, float64, string or binary."""
        if self._schema is None:
            self._schema = {
                name: self._type_of(name, values) for name, values in self._columns().items()
            }
        return dict(self._schema)

    dtypes = schema

    @property
    def shape(self) -> Tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self._columns())

    @property
    def height(self) -> int:
        """Rows."""
        return len(self)

    num_rows = height

    @property
    def width(self) -> int:
        """Columns."""
        return len(self._columns())

    num_columns = width

    def __len__(self) -> int:
        self._columns()
        return self._count

    def __iter__(self) -> Iterator[Row]:
        columns = self._columns()
        for values in zip(*columns.values()):
            yield dict(zip(columns, values))

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: str) -> Column: ...
    @overload
    def __getitem__(self, key: Union[slice, List[str], List[bool], Tuple[str, ...]]) -> Table: ...

    def __getitem__(self, key: Any) -> Union[Row, Column, Table]:
        columns = self._columns()
        if isinstance(key, str):
            return Column(key, self.schema[self._known(key)], columns[key])
        if isinstance(key, slice):
            return self._part({name: values[key] for name, values in columns.items()})
        if isinstance(key, bool):
            raise TypeError("a table has no row True or False; t[t['column'] > 5] takes one value per row")
        if not hasattr(key, "__index__"):
            listed = list(key)
            if isinstance(key, Mask) or (listed and not isinstance(listed[0], str)):
                return self._masked(listed)
            return self._part({self._known(name): columns[name] for name in listed})
        row = operator.index(key)
        if not -self._count <= row < self._count:
            raise IndexError(f"row {row} of a table with {self._count} rows")
        return {name: values[row] for name, values in columns.items()}

    def column(self, name: str) -> Column:
        """The same as `t[name]`."""
        return self[name]

    def head(self, count: int = 5) -> Table:
        """The first rows. A table that was not read yet reads no others."""
        if self._data is not None or self._connection is None:
            return self[: max(count, 0)]
        return Table(
            self._connection,
            f"SELECT * FROM ({self._sql}\n) LIMIT {max(int(count), 0)}",
            self._parameters,
            self._types,
        )

    def tail(self, count: int = 5) -> Table:
        """The last rows."""
        return self[len(self) - min(max(count, 0), len(self)) :]

    def slice(self, offset: int = 0, length: Optional[int] = None) -> Table:
        """`length` rows from `offset` on; without a length, all others. A negative offset counts from the end."""
        start = max(len(self) + offset, 0) if offset < 0 else offset
        return self[start : None if length is None else start + max(length, 0)]

    def select(self, *names: Union[str, Sequence[str]]) -> Table:
        """Some columns: `t.select("op", "self_ns")`."""
        return self[_names(names)]

    def filter(self, rows: Any) -> Table:
        """Some rows: `t.filter(t["self_ns"] > 1000)`, or an expression of Polars or Arrow."""
        return self._masked(table_convert.mask_of(rows, self._columns(), self.schema))

    def sort(
        self, by: Union[str, Sequence[str]], *more: str, descending: bool = False, reverse: bool = False
    ) -> Table:
        """Rows in the order of one or several columns. Missing values are last."""
        order = list(range(len(self)))
        for name in reversed(_names((by, *more))):
            values = self[name]
            present = [row for row in order if values[row] is not None]
            present.sort(key=lambda row, values=values: values[row], reverse=descending or reverse)  # type: ignore[misc]
            order = present + [row for row in order if values[row] is None]
        return self._part({name: [values[row] for row in order] for name, values in self._columns().items()})

    def sort_values(self, by: Union[str, Sequence[str]], ascending: bool = True) -> Table:
        """`sort`, as pandas names it."""
        return self.sort(by, descending=not ascending)

    def sort_by(self, by: Union[str, Sequence[Tuple[str, str]]]) -> Table:
        """`sort`, as Arrow names it: `t.sort_by([("self_ns", "descending")])`."""
        table = self
        for name, order in reversed([(by, "ascending")] if isinstance(by, str) else list(by)):
            if order not in ("ascending", "descending"):
                raise ValueError(f"'{order}' is not an order: ascending or descending")
            table = table.sort(name, descending=order == "descending")
        return table

    def rows(self) -> List[Row]:
        """All rows as dictionaries."""
        return list(self)

    to_dicts = to_pylist = rows

    def to_dict(self) -> Dict[str, List[Value]]:
        """Column name -> its values."""
        return {name: list(values) for name, values in self._columns().items()}

    to_pydict = to_dict

    # --- other libraries ---------------------------------------------------------------------------

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame with columns of Int64, float64 and string."""
        frame: pandas.DataFrame = table_convert.to_pandas(self._columns(), self.schema)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A Polars DataFrame with columns of Int64, Float64 and String."""
        frame: polars.DataFrame = table_convert.to_polars(self._columns(), self.schema)
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table (pyarrow) with columns of int64, double and string."""
        return table_convert.to_arrow(self._columns(), self.schema)

    pandas = to_pandas
    polars = to_polars
    arrow = to_arrow

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's C stream, made by pyarrow or Polars, if one of them is installed."""
        table = table_convert.to_arrow_stream(self._columns(), self.schema)
        return table.__arrow_c_stream__(requested_schema)

    if not TYPE_CHECKING:  # A type checker reports unknown names itself.

        def __getattr__(self, name: str) -> Any:
            """Only for names that a table lacks: the error names the data frame that has them."""
            if name.startswith("_"):
                raise AttributeError(name)
            if name in self._columns():
                raise AttributeError(f"a table has no attribute '{name}'; the column is t['{name}']")
            text = f"a table has no attribute '{name}'"
            has = [
                convert
                for library, convert in _FRAMES.items()
                if hasattr(getattr(sys.modules.get(library), _FRAME_CLASSES[library], None), name)
            ]
            if not has:
                raise AttributeError(f"{text}; it has {', '.join(sorted(n for n in dir(Table) if n[0] != '_'))}")
            raise AttributeError(f"{text}; use {' or '.join(f't.{convert}().{name}' for convert in has)}")

    # --- text --------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return table_text.table_text(self._columns(), self._count)

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        return table_text.table_html(self._columns(), self._count)

    # --- inside ------------------------------------------------------------------------------------

    def _columns(self) -> Mapping[str, List[Value]]:
        """All values. The first call runs the query."""
        if self._data is None:
            assert self._connection is not None
            try:
                cursor = self._connection.execute(self._sql, self._parameters)
                names = [column[0] for column in cursor.description]
                rows = cursor.fetchall()
            except sqlite3.Error as error:
                raise XlatraceError(f"the query failed: {error}", "docs/schema.md lists the views")
            self._count = len(rows)
            # If two columns have one name, the last one stays, as in a dictionary of a row.
            values = [list(column) for column in zip(*rows)] if rows else [[] for _ in names]
            self._data = dict(zip(names, values))
            self._connection = None
        return self._data

    def _known(self, name: str) -> str:
        if name not in self._columns():
            raise KeyError(f"no column '{name}'; columns: {', '.join(self._columns())}")
        return name

    def _type_of(self, name: str, values: List[Value]) -> str:
        kind = self._types(name)
        if kind is None or not column_types.fits(values, kind):
            return column_types.type_of_values(values)
        return kind

    def _masked(self, mask: Sequence[Any]) -> Table:
        if len(mask) != len(self):
            raise ValueError(f"a mask of {len(mask)} values for a table with {len(self)} rows")
        if not all(value is True or value is False or str(value) in ("True", "False") for value in mask):
            raise TypeError("a mask has only True and False")
        return self._part(
            {name: [v for v, wanted in zip(values, mask) if wanted] for name, values in self._columns().items()}
        )

    def _part(self, data: Dict[str, List[Value]]) -> Table:
        """A table of some rows or columns of this one, with the same types."""
        part = Table.__new__(Table)
        part._connection = None
        part._sql, part._parameters = "", ()
        part._types = self._types
        part._data = data
        part._count = len(next(iter(data.values()), []))
        schema = self.schema
        part._schema = {name: schema[name] for name in data}
        return part


def _names(names: Sequence[Union[str, Sequence[str]]]) -> List[str]:
    """`("a", ["b", "c"])` as one list."""
    flat: List[str] = []
    for name in names:
        flat += [name] if isinstance(name, str) else list(name)
    return flat
