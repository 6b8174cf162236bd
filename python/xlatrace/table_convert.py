# SPDX-License-Identifier: Apache-2.0
"""Columns and their types as tables of pandas, Polars and Arrow."""

from __future__ import annotations

from typing import Any, List, Mapping

from xlatrace.column_types import BINARY, FLOAT64, INT64, STRING
from xlatrace.errors import XlatraceError

Columns = Mapping[str, List[Any]]
Schema = Mapping[str, str]


def to_pandas(columns: Columns, schema: Schema) -> Any:
    pandas = _import("pandas")
    types = {INT64: "Int64", FLOAT64: "float64", STRING: "string", BINARY: "object"}
    return pandas.DataFrame(
        {
            name: pandas.Series(_values(values, schema[name]), dtype=types[schema[name]])
            for name, values in columns.items()
        }
    )


def to_polars(columns: Columns, schema: Schema) -> Any:
    polars = _import("polars")
    types = {
        INT64: polars.Int64,
        FLOAT64: polars.Float64,
        STRING: polars.String,
        BINARY: polars.Binary,
    }
    return polars.DataFrame(
        [
            polars.Series(name, _values(values, schema[name]), dtype=types[schema[name]])
            for name, values in columns.items()
        ]
    )


def to_arrow(columns: Columns, schema: Schema) -> Any:
    arrow = _import("pyarrow")
    types = {
        INT64: arrow.int64(),
        FLOAT64: arrow.float64(),
        STRING: arrow.string(),
        BINARY: arrow.binary(),
    }
    return arrow.table(
        {
            name: arrow.array(_values(values, schema[name]), type=types[schema[name]])
            for name, values in columns.items()
        }
    )


def to_arrow_stream(columns: Columns, schema: Schema) -> Any:
    """An object with __arrow_c_stream__, of the first library that is installed."""
    for library, convert in (("pyarrow", to_arrow), ("polars", to_polars)):
        try:
            __import__(library)
        except ImportError:
            continue
        return convert(columns, schema)
    raise XlatraceError(
        "Arrow's C stream needs pyarrow or Polars", "python -m pip install pyarrow"
    )


def mask_of(rows: Any, columns: Columns, schema: Schema) -> List[Any]:
    """Truth values per row: a sequence of them, or an expression that its own library evaluates."""
    library = type(rows).__module__.partition(".")[0]
    if library == "polars" and type(rows).__name__ == "Expr":
        # A missing value is no match, as in the filter of Polars.
        return [value is True for value in to_polars(columns, schema).select(rows).to_series().to_list()]
    if library == "pyarrow" and type(rows).__name__ == "Expression":
        arrow = _import("pyarrow")
        table = to_arrow(columns, schema)
        table = table.append_column("", arrow.array(range(table.num_rows)))
        found = set(table.filter(rows).column(table.num_columns - 1).to_pylist())
        return [row in found for row in range(table.num_rows)]
    return list(rows)


def _values(values: List[Any], kind: str) -> List[Any]:
    """Values of the types of Python that the libraries convert without a guess."""
    if kind == FLOAT64:
        return [None if value is None else float(value) for value in values]
    if kind == STRING:
        return [None if value is None else _text(value) for value in values]
    return values


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _import(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise XlatraceError(
            f"{name} is not installed in this Python", f"python -m pip install {name}"
        ) from None
