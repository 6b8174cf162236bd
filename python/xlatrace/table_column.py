# SPDX-License-Identifier: Apache-2.0
"""One column of a table, and the masks that its comparisons make."""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterable, List, Sequence, Union

from xlatrace import table_text

Value = Union[None, int, float, str]


class Mask(List[bool]):
    """One truth value per row: `t[t["self_ns"] > 1000]`. `&`, `|` and `~` combine masks."""

    def __and__(self, other: Iterable[bool]) -> Mask:
        return Mask(a and b for a, b in zip(self, _same_length(self, other)))

    def __or__(self, other: Iterable[bool]) -> Mask:
        return Mask(a or b for a, b in zip(self, _same_length(self, other)))

    def __invert__(self) -> Mask:
        return Mask(not value for value in self)

    def __bool__(self) -> bool:
        raise TypeError("a comparison of a column has one truth value per row; use any(...) or all(...)")


class Column(List[Value]):
    """The values of one column: a list with the column's name and type.

    Comparisons with one value give a Mask, and arithmetic with a number or another column gives a
    column. A missing value compares as false and stays missing in arithmetic. `==` with a list
    compares lists.
    """

    def __init__(self, name: str, type: str, values: Iterable[Value]) -> None:
        super().__init__(values)
        self.name = name
        self.type = type

    def to_list(self) -> List[Value]:
        """A plain list."""
        return list(self)

    to_pylist = tolist = to_list

    def present(self) -> List[Any]:
        """The values that are not missing."""
        return [value for value in self if value is not None]

    def sum(self) -> Any:
        """Sum of the values that are not missing."""
        return sum(self.present())

    def min(self) -> Any:
        """Smallest value, or None without values."""
        return min(self.present(), default=None)

    def max(self) -> Any:
        """Largest value, or None without values."""
        return max(self.present(), default=None)

    def mean(self) -> Any:
        """Mean of the values that are not missing, or None without values."""
        values = self.present()
        return sum(values) / len(values) if values else None

    def unique(self) -> List[Value]:
        """Each value once, in the order of its first row."""
        return list(dict.fromkeys(self))

    # --- comparisons and arithmetic, row by row --------------------------------------------------

    def _compared(self, other: Any, compare: Callable[[Any, Any], bool]) -> Mask:
        rows = zip(self, self._other(other))
        return Mask(a is not None and b is not None and compare(a, b) for a, b in rows)

    def _computed(self, other: Any, compute: Callable[[Any, Any], Any]) -> Column:
        rows = zip(self, self._other(other))
        values = [None if a is None or b is None else compute(a, b) for a, b in rows]
        kind = "float64" if any(isinstance(value, float) for value in values) else self.type
        return Column(self.name, kind, values)

    def _other(self, other: Any) -> Iterable[Any]:
        return _same_length(self, other) if isinstance(other, list) else [other] * len(self)

    def __eq__(self, other: object) -> Any:
        return super().__eq__(other) if isinstance(other, list) else self._compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return super().__ne__(other) if isinstance(other, list) else self._compared(other, operator.ne)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, operator.ge)

    def __add__(self, other: Any) -> Any:
        return self._computed(other, operator.add)

    def __sub__(self, other: Any) -> Column:
        return self._computed(other, operator.sub)

    def __mul__(self, other: Any) -> Any:
        return self._computed(other, operator.mul)

    def __truediv__(self, other: Any) -> Column:
        return self._computed(other, operator.truediv)

    def isin(self, values: Iterable[Value]) -> Mask:
        """Whether each value is one of these."""
        wanted = set(values)
        return Mask(value in wanted for value in self)

    is_in = isin

    def __repr__(self) -> str:
        return table_text.column_text(self.name, self.type, self)


def _same_length(column: Sequence[Any], other: Iterable[Any]) -> List[Any]:
    values = list(other)
    if len(values) != len(column):
        raise ValueError(f"{len(column)} rows cannot be combined with {len(values)}")
    return values
