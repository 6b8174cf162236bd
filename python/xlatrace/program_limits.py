# SPDX-License-Identifier: Apache-2.0
"""`@xlatrace.limits(...)`: the most of each figure that a test or a function may have.

    @xlatrace.limits(recompilations=0, host_transfers=0)
    def test_training(): ...        # what JAX compiles and reads while the test runs

    @xlatrace.limits(transposes=0, peak_memory="2 GiB")
    @jax.jit
    def step(params, batch): ...    # each program that is compiled for the function
"""

from __future__ import annotations

import functools
import re
import sys
from collections import Counter
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, TypeVar

from xlatrace import checks, jax_events, programs, running_test
from xlatrace.checks import CheckFailed
from xlatrace.errors import XlatraceError
from xlatrace.jax_events import Seen
from xlatrace.program_text import Frame
from xlatrace.programs import FIGURES, Program

# Events while a test runs. The others are figures of one program.
EVENTS = {"recompilations": "recompilations", "host_transfers": "host transfers"}
_UNITS = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15,
    "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40,
}  # fmt: skip
_AMOUNT = re.compile(r"\s*([\d_]+(?:\.\d+)?)\s*([kmgtp]i?)?(b|bytes?|flops?)?\s*", re.I)

Function = TypeVar("Function", bound=Callable[..., Any])


def limits(**limits: Any) -> Callable[[Function], Function]:
    """Decorator for a test, a function, or the result of `jax.jit`. Numbers are the most allowed."""
    wanted = parsed(limits)

    def decorate(function: Function) -> Function:
        if programs.is_test_function(function):
            return _limited_test(function, wanted)
        return _limited_program(function, wanted)

    return decorate


def parsed(limits: Dict[str, Any]) -> Dict[str, int]:
    """Names are checked; "2 GiB" becomes a number."""
    if not limits:
        raise TypeError("limits() needs at least one limit, such as fusions=3")
    known = {**FIGURES, **EVENTS}
    for name in limits:
        if name not in known:
            raise TypeError(f"limits() has no '{name}'; it has {', '.join(sorted(known))}")
    return {name: _amount(name, value) for name, value in limits.items()}


def _amount(name: str, value: Any) -> int:
    if isinstance(value, str):
        match = _AMOUNT.fullmatch(value)
        if not match:
            raise TypeError(f"limits({name}={value!r}): the value must be an amount such as 4096, '2 GiB' or '3 GFLOP'")
        return int(float(match.group(1).replace("_", "")) * _UNITS[(match.group(2) or "").lower()])
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise TypeError(f"limits({name}={value!r}): the value must be a number of at least 0")
    return int(value)


def _limited_test(test: Function, wanted: Dict[str, int]) -> Function:
    @functools.wraps(test)
    def limited(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with jax_events.watch() as seen:
            result = test(*args, **kwargs)
        check_events(seen, wanted)
        of_program = {name: most for name, most in wanted.items() if name not in EVENTS}
        if of_program:
            running = running_test.current()
            made = list(running.programs) if running is not None else []
            check_total(made or seen.programs(), of_program)
        return result

    return limited  # type: ignore[return-value]


def _limited_program(function: Function, wanted: Dict[str, int]) -> Function:
    jitted: Any = function if hasattr(function, "lower") else None
    known: Dict[int, Tuple[Any, Program, str]] = {}
    of_test: List[Tuple[Optional[running_test.RunningTest], List[int]]] = []

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        nonlocal jitted
        jax = programs.jax_module()
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves((args, kwargs))):
            raise XlatraceError(
                f"limits() of '{function.__name__}' is inside of another jax.jit", "put @xlatrace.limits above @jax.jit"
            )
        if jitted is None:
            jitted = jax.jit(function)
        traced = jitted.trace(*args, **kwargs)
        key = id(traced.jaxpr)
        shapes = programs.signature_of(args, kwargs)
        if key not in known:
            lowered = traced.lower()
            program = programs.of_lowered(lowered, lowered.compile(), programs.function_of(function))
            known[key] = (traced.jaxpr, program, shapes)
        test = running_test.current()
        if not of_test or of_test[-1][0] is not test:
            of_test[:] = [(test, [])]
        compiled_now = of_test[-1][1]
        if key not in compiled_now:
            compiled_now.append(key)
            most = wanted.get("recompilations")
            if most is not None and len(compiled_now) - 1 > most:
                before, frame = known[compiled_now[-2]][2], jax_events.user_frame(_caller())
                raise CheckFailed(_recompiled(function.__name__, len(compiled_now) - 1, most, frame, before, shapes), [frame])
        check_program(known[key][1], {n: most for n, most in wanted.items() if n != "recompilations"})
        return jitted(*args, **kwargs)

    return limited  # type: ignore[return-value]


def _caller() -> Any:
    return sys._getframe(1)


def _recompiled(name: str, count: int, most: int, frame: Optional[Frame], before: str, now: str) -> str:
    place = f"\n  {frame.place}  {programs.source_line(frame)}" if frame else ""
    return (
        f"recompilations of '{name}': {count:,}; the limit is {most:,}.{place}\n"
        f"    before: {before}\n    now:    {now}"
    )


def check_events(seen: Seen, wanted: Dict[str, int]) -> None:
    """Raises CheckFailed for recompilations and reads above their limits."""
    __tracebackhide__ = True
    texts, frames = [], []
    most = wanted.get("recompilations")
    if most is not None and seen.recompilations > most:
        text = f"recompilations: {seen.recompilations:,}; the limit is {most:,}."
        texts.append(
            text + _by_line((c.frame, f"{c.function}: {c.reason or 'compiled again'}") for c in seen.again)
        )
        frames += [compilation.frame for compilation in seen.again]
    most = wanted.get("host_transfers")
    if most is not None and seen.host_transfers > most:
        text = f"host transfers: {seen.host_transfers:,}; the limit is {most:,}."
        texts.append(text + _by_line((r.frame, f"{r.shape}, by {r.how}") for r in seen.reads))
        frames += [read.frame for read in seen.reads]
    if texts:
        raise CheckFailed("\n".join(texts), frames)


def check_total(made: List[Program], wanted: Dict[str, int]) -> None:
    """Raises CheckFailed if the programs of a test are together above a limit; memory is the largest."""
    __tracebackhide__ = True
    if not made:
        raise XlatraceError(
            f"the test compiled no function, so {', '.join(wanted)} cannot be checked",
            "call a jitted function in the test, or xlatrace.compile(step, params, batch)",
        )
    if len(made) == 1:
        check_program(made[0], wanted)
        return
    failures, frames = [], []
    for name, most in wanted.items():
        values = [value for p in made if (value := getattr(p, name)) is not None]
        total = max(values, default=0) if name == "peak_memory" else sum(values)
        if total > most:
            failures.append(f"{FIGURES[name]} of {len(made)} programs: {total:,}; the limit is {most:,}.")
            for program in made:
                if getattr(program, name):
                    failures.append(f"  {program.name}: {getattr(program, name):,}")
                    failures += [f"  {line}" for line in checks.places_text(program, name)]
                    frames += checks.frames_of(program, name)
    if failures:
        raise CheckFailed("\n".join(failures), frames)


def check_program(program: Program, wanted: Dict[str, int]) -> None:
    """Raises CheckFailed if one program is above a limit."""
    __tracebackhide__ = True
    failures: List[str] = []
    frames: List[Frame] = []
    for name, most in wanted.items():
        if name not in FIGURES:
            raise XlatraceError(f"{name} cannot be limited for one compiled program", f"put @xlatrace.limits({name}=...) on the test")
        value = getattr(program, name)
        if value is None:
            raise XlatraceError(f"the compiler does not report {FIGURES[name]} of '{program.name}'")
        if value > most:
            failures.append(f"{FIGURES[name]} of '{program.name}': {value:,}; the limit is {most:,}.")
            failures += checks.places_text(program, name)
            frames += checks.frames_of(program, name)
            definition = program.definition()
            if definition is not None and not frames:
                failures.append(f"  {definition.place}  {programs.source_line(definition)}")
                frames.append(definition)
    if failures:
        raise CheckFailed("\n".join(failures), frames)


def _by_line(facts: Iterable[Tuple[Optional[Frame], str]]) -> str:
    """Lines of code with what happened there, in the order of the first time."""
    lines: Dict[Optional[Frame], List[str]] = {}
    for frame, fact in facts:
        lines.setdefault(frame, []).append(fact)
    text = ""
    for frame, of_line in list(lines.items())[: checks.MAX_LINES]:
        place = f"{frame.place}  {programs.source_line(frame)}" if frame else "no line of the user's code"
        text += f"\n  {place}"
        for fact, count in list(Counter(of_line).items())[: checks.MAX_LINES]:
            text += f"\n    {count:,} times {fact}" if count > 1 else f"\n    {fact}"
    if len(lines) > checks.MAX_LINES:
        text += f"\n  and {len(lines) - checks.MAX_LINES:,} more lines"
    return text
