# SPDX-License-Identifier: Apache-2.0
"""Facts of a traced program (a jaxpr) that make its compilation slow.

Kinds of details:

    equations       number of equations, those of inner programs included (value)
    repeated_line   a line that made many of them: an unrolled loop (value: how many; file, line)
    loop_body       the largest body of a loop of JAX (name: scan, while; value: its equations; file,
                    line: of the loop)
    constant        an array that is part of the program (name, value: bytes; file, line of its use)
"""

from __future__ import annotations

import collections
import math
from typing import Any

from .user_frames import is_library

MAX_EQUATIONS = 100_000  # More are not counted.
MAX_PLACES = 384  # Equations of which the line is looked up: a few microseconds each.
MIN_EQUATIONS = 200
MIN_REPEATS = 16
MIN_BODY_EQUATIONS = 100
MIN_CONSTANT_BYTES = 1 << 16
MAX_CONSTANTS = 4


def program_details(jaxpr: Any, fun: Any, passes_constants: bool) -> list[dict[str, Any]]:
    """`jaxpr`: a closed jaxpr. `passes_constants`: JAX makes arguments of its constants."""
    equations: list[Any] = []
    constants: list[tuple[Any, Any]] = []  # Value, the jaxpr's variable of it.
    _collect(jaxpr, equations, constants, set())
    details: list[dict[str, Any]] = [{"kind": "equations", "name": "", "value": len(equations)}]
    details += _repeated_line(equations)
    details += _loop_body(equations)
    if not passes_constants:
        details += _constants(constants, equations, fun)
    return details


def _collect(closed: Any, equations: list, constants: list, seen: set[int]) -> None:
    if id(closed) in seen or len(equations) >= MAX_EQUATIONS:
        return
    seen.add(id(closed))
    jaxpr = getattr(closed, "jaxpr", closed)
    variables = getattr(jaxpr, "constvars", ())
    for value, variable in zip(getattr(closed, "consts", ()), variables):
        if _bytes(value) >= MIN_CONSTANT_BYTES:
            constants.append((value, variable))
    equations.extend(jaxpr.eqns)
    for equation in jaxpr.eqns:
        for operand in equation.invars:
            value = getattr(operand, "val", None)  # A literal.
            if value is not None and _bytes(value) >= MIN_CONSTANT_BYTES:
                constants.append((value, operand))
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(inner, "eqns") or hasattr(getattr(inner, "jaxpr", None), "eqns"):
                    _collect(inner, equations, constants, seen)


def _bytes(value: Any) -> int:
    """The size of an array. JAX 0.7 keeps constants in arrays without `nbytes`."""
    known = getattr(value, "nbytes", None)
    if known is None and hasattr(value, "shape") and hasattr(value, "dtype"):
        known = math.prod(value.shape) * getattr(value.dtype, "itemsize", 0)
    return known or 0


def _place(equation: Any) -> tuple[str, int] | None:
    traceback = getattr(equation.source_info, "traceback", None)
    if traceback is None:
        return None
    for frame in traceback.frames:
        if not is_library(frame.file_name):
            return frame.file_name, frame.line_num
    return None


def _repeated_line(equations: list) -> list[dict[str, Any]]:
    if len(equations) < MIN_EQUATIONS:
        return []
    step = max(len(equations) // MAX_PLACES, 1)
    # The same operation of the same line: a line of many operations is no loop.
    lines: collections.Counter = collections.Counter()
    for equation in equations[::step]:
        place = _place(equation)
        if place is not None:
            lines[(place, equation.primitive.name)] += 1
    if not lines:
        return []
    ((file, line), _), count = lines.most_common(1)[0]
    count *= step
    if count < MIN_REPEATS:
        return []
    return [{"kind": "repeated_line", "name": "", "value": count, "file": file, "line": line}]


def _loop_body(equations: list) -> list[dict[str, Any]]:
    largest: tuple[int, Any] = (0, None)
    for equation in equations:
        if equation.primitive.name not in ("scan", "while"):
            continue
        body = equation.params.get("jaxpr") or equation.params.get("body_jaxpr")
        inner: list[Any] = []
        if body is not None:
            _collect(body, inner, [], set())
        if len(inner) > largest[0]:
            largest = len(inner), equation
    if largest[0] < MIN_BODY_EQUATIONS:
        return []
    detail = {"kind": "loop_body", "name": largest[1].primitive.name, "value": largest[0]}
    place = _place(largest[1])
    if place is not None:
        detail["file"], detail["line"] = place
    return [detail]


def _constants(constants: list, equations: list, fun: Any) -> list[dict[str, Any]]:
    seen: set[int] = set()
    details = []
    for value, variable in sorted(constants, key=lambda c: -_bytes(c[0])):
        if id(value) in seen or len(details) >= MAX_CONSTANTS:
            continue
        seen.add(id(value))
        detail = {
            "kind": "constant",
            "name": _name_of(value, fun),
            "value": _bytes(value),
            "after": f"{value.dtype}[{','.join(map(str, value.shape))}]",
        }
        for equation in equations:
            if any(operand is variable for operand in equation.invars):
                place = _place(equation)
                if place is not None:
                    detail["file"], detail["line"] = place
                break
        details.append(detail)
    return details


def _name_of(value: Any, fun: Any) -> str:
    """The variable by which the function reads the array, as far as that is simple to see."""
    from .compile_signature import function_chain

    for each in function_chain(fun):
        found = _name_in(value, each, 0)
        if found:
            return found
    return ""


def _name_in(value: Any, fun: Any, depth: int) -> str:
    code = fun.__code__
    scope: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, fun.__closure__ or ()):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            pass
    known = getattr(fun, "__globals__", {})
    scope.update({name: known[name] for name in code.co_names if name in known})
    for name, thing in scope.items():
        if _same(thing, value):
            return name
        if isinstance(thing, dict):
            for key, inner in list(thing.items())[:64]:
                if _same(inner, value):
                    return f"{name}[{key!r}]"
    if depth < 3:
        for thing in scope.values():
            inner = getattr(thing, "_fun", thing)  # A jitted function.
            inner = getattr(inner, "__wrapped__", inner)
            if hasattr(inner, "__code__") and not is_library(inner.__code__.co_filename):
                found = _name_in(value, inner, depth + 1)
                if found:
                    return found
    return ""


def _same(thing: Any, value: Any) -> bool:
    """JAX keeps a NumPy array as it is or as an array of its own with the same content."""
    if thing is value:
        return True
    if type(thing).__module__ != "numpy" or not hasattr(thing, "shape"):
        return False
    return (
        thing.shape == getattr(value, "shape", None)
        and thing.size > 1
        and str(thing.dtype).replace("64", "32") == str(value.dtype).replace("64", "32")
    )
