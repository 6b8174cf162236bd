# SPDX-License-Identifier: Apache-2.0
"""Compares expected cells with actual values, and writes actual values as cells.

A cell is compared as it is written: `470 us` equals 469,697 ns, `469.7 us` equals it, too, `469 us` does not.
"""

import decimal
import json
import re

TIMES = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
SIZES = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000,
         "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
NUMBER = re.compile(r"^([+-]?\d[\d_]*(?:\.\d+)?)\s*(%|[A-Za-z/]+)?$")
NULL = "-"
ANYTHING = "..."  # In the cell of a text: any text.
# The type of a column, by the end of its name.
TIME_NAME = re.compile(r"(_ns|_ns_per_step|_ns_per_run)$")
SIZE_NAME = re.compile(r"(^|_)bytes$")
PERCENT_NAME = re.compile(r"_pct$")


PERCENT = {"%": 1}


def units_of(name):
    """The units that a cell may have. A name without a unit allows any unit."""
    if TIME_NAME.search(name):
        return TIMES
    if SIZE_NAME.search(name):
        return SIZES
    return PERCENT if PERCENT_NAME.search(name) else TIMES | SIZES


def rounded(value, unit, places):
    quantum = decimal.Decimal(1).scaleb(-places)
    return (decimal.Decimal(repr(value)) / unit).quantize(quantum, decimal.ROUND_HALF_UP)


def as_text(value):
    if value is None:
        return NULL
    return value if isinstance(value, str) else json.dumps(value)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def matches(cell, value, name):
    """Whether a cell of column (or field) `name` equals the value, rounded as the cell is."""
    if not is_number(value):
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in cell.split(ANYTHING))
        return re.fullmatch(pattern, " ".join(as_text(value).split())) is not None
    found = NUMBER.match(cell)
    if not found:
        return False
    digits, unit = found[1].replace("_", ""), found[2]
    if unit and unit not in units_of(name):
        return False
    places = len(digits.partition(".")[2])
    return rounded(value, units_of(name)[unit] if unit else 1, places) == decimal.Decimal(digits)


def written(value, name, before=""):
    """The value as a cell; in the unit and with the decimals of the cell `before`, where it has any."""
    if not is_number(value):
        return " ".join(as_text(value).split())
    units = units_of(name)
    found = NUMBER.match(before)
    if found and (not found[2] or found[2] in units):
        unit = found[2] or ""
        places = len(found[1].partition(".")[2])
        text = f"{rounded(value, units.get(unit, 1), places):f}"
        return f"{text} {unit}".strip()
    if units is TIMES or units is SIZES:
        largest = [unit for unit, size in units.items() if abs(value) >= size]
        if units is SIZES:  # Powers of two where they are exact, else powers of ten.
            exact = [unit for unit in largest if value % units[unit] == 0]
            largest = sorted(exact, key=units.get)
        unit = largest[-1] if largest else next(iter(units))
        exact = decimal.Decimal(repr(value)) / units[unit]
        return f"{exact.normalize():f} {unit}"
    text = str(value) if isinstance(value, int) else f"{value:.6g}"
    return f"{text} %" if units is PERCENT else text
