# SPDX-License-Identifier: Apache-2.0
"""Compilations and reads of device arrays while a test runs, from JAX's own events.

Compilations: JAX calls its monitoring listeners inside of the compilation, so the caller's stack has
the line that caused it, and the function. Why a function was traced again: JAX's own explanation of
a tracing cache miss. Reads: JAX has no event for them. A `watch` wraps the accessors that give an array to
the host, `numpy.asarray` and `numpy.array` as long as it is open.

Programs of JAX's own helpers (`jnp.ones`, one operation called outside of jit) do not count.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from xlatrace import program_text, programs
from xlatrace.errors import XlatraceError
from xlatrace.program_text import Frame

_COMPILATION = "/jax/core/compile/backend_compile_duration"
_EXPLANATIONS = "jax._src.interpreters.partial_eval"


@dataclass
class Compilation:
    """One program that was compiled for a function of the user."""

    function: str
    defined: Tuple[str, int, str]  # File, line, name: the same for a lambda made again and again.
    frame: Optional[Frame]  # The user's line that called it.
    executable: Any
    lowered: bytes  # HLO proto before optimization.
    python_function: Any
    reason: str = ""


@dataclass
class Read:
    """One read of a device array by the host."""

    how: str
    shape: str
    frame: Optional[Frame]


@dataclass
class Seen:
    """Events of one `watch`."""

    compilations: List[Compilation] = field(default_factory=list)
    reads: List[Read] = field(default_factory=list)
    explanations: List[str] = field(default_factory=list)

    @property
    def again(self) -> List[Compilation]:
        """Compilations of functions that had been compiled before."""
        seen, again = set(), []
        for compilation in self.compilations:
            if compilation.defined in seen:
                again.append(compilation)
            seen.add(compilation.defined)
        return again

    @property
    def recompilations(self) -> int:
        return len(self.again)

    @property
    def host_transfers(self) -> int:
        return len(self.reads)

    def programs(self) -> List[programs.Program]:
        """The programs that were compiled."""
        return [_program(compilation) for compilation in self.compilations]


_watching: List[Seen] = []
_installed = False


@contextlib.contextmanager
def watch() -> Iterator[Seen]:
    """Counts compilations and reads in the `with` block, in all threads.

    JAX's caches are cleared first, so that the count does not depend on what ran before.
    """
    jax = programs.jax_module()
    _install(jax)
    seen = Seen()
    if not _watching:
        jax.clear_caches()
    _watching.append(seen)
    try:
        with contextlib.ExitStack() as stack:
            if len(_watching) == 1:
                stack.enter_context(_explaining(jax))
                stack.enter_context(_counting_reads(jax))
            yield seen
    finally:
        _watching.remove(seen)


def _install(jax: Any) -> None:
    global _installed
    if _installed:
        return
    try:
        jax.monitoring.register_event_duration_secs_listener(_compiled)
    except AttributeError:
        raise XlatraceError(f"JAX {jax.__version__} has no jax.monitoring", "pip install -U jax")
    _installed = True


def _compiled(event: str, duration: float, **facts: Any) -> None:
    if event != _COMPILATION or not _watching:
        return
    compile_frame = call = None
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        names = frame.f_code.co_varnames + frame.f_code.co_freevars
        if "xla_executable" in names and compile_frame is None:
            compile_frame = frame
        if frame.f_code.co_name == "cache_miss" and "fun" in names and call is None:
            call = frame
        frame = frame.f_back
    if call is None or compile_frame is None:
        return  # Compiled ahead of time, by `compile` or by the user, without a call.
    function = programs.function_of(call.f_locals["fun"])
    code = getattr(function, "__code__", None)
    if code is not None and _is_jax(code.co_filename):
        return
    name = str(getattr(function, "__name__", facts.get("fun_name", "")))
    defined = (code.co_filename, code.co_firstlineno, name) if code else ("", 0, name)
    local = compile_frame.f_locals
    compilation = Compilation(
        name, defined, user_frame(call), local.get("xla_executable"), _lowered_proto(local.get("computation")), function
    )
    for seen in _watching:
        compilation.reason = _reason(seen, compilation)
        seen.compilations.append(compilation)


def _reason(seen: Seen, compilation: Compilation) -> str:
    """The latest explanation of this function, in one line."""
    place = f"{compilation.defined[0]}:{compilation.defined[1]}"
    for text in reversed(seen.explanations):
        if f"defined at {place}" not in text:
            continue
        changes = re.findall(r"^\s*\* (.*)$", text, re.M)
        if changes:
            return "; ".join(changes)
        return "the function was made again" if "another function" in text else ""
    return ""


def user_frame(frame: Optional[FrameType]) -> Optional[Frame]:
    """The innermost frame of the user's code, from `frame` outwards."""
    while frame is not None:
        code = frame.f_code
        if program_text.is_own_file(code.co_filename):
            return Frame(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


@functools.lru_cache(maxsize=None)
def _is_jax(file: str) -> bool:
    folders = [
        os.path.dirname(str(sys.modules[name].__file__)) + os.sep for name in ("jax", "jaxlib") if name in sys.modules
    ]
    return any(file.startswith(folder) for folder in folders)


@contextlib.contextmanager
def _explaining(jax: Any) -> Iterator[None]:
    """Collects the explanations of cache misses; prints them if the user turned them on."""
    logger = logging.getLogger(_EXPLANATIONS)
    wanted = bool(getattr(jax.config, "jax_explain_cache_misses", False))

    def keep(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if not text.startswith("TRACING CACHE MISS"):
            return True
        for seen in _watching:
            seen.explanations.append(text)
        return wanted

    logger.addFilter(keep)
    try:
        jax.config.update("jax_explain_cache_misses", True)
    except AttributeError:
        pass  # Another version of JAX: counts without reasons.
    try:
        yield
    finally:
        with contextlib.suppress(AttributeError):
            jax.config.update("jax_explain_cache_misses", wanted)
        logger.removeFilter(keep)


@contextlib.contextmanager
def _counting_reads(jax: Any) -> Iterator[None]:
    import numpy

    array = type(jax.numpy.zeros(()))
    value = getattr(array, "_value", None)
    if not isinstance(value, property) or value.fget is None:
        raise XlatraceError(f"reads of arrays cannot be counted with JAX {jax.__version__}", "pip install -U jax")
    read = value.fget
    inside = [False]

    def counted(self: Any) -> Any:
        if not inside[0]:
            frame = sys._getframe(1)
            _count_read(frame, self, frame.f_code.co_name.strip("_"))
        return read(self)

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not inside[0] and args and isinstance(args[0], array):
                _count_read(sys._getframe(1), args[0], f"numpy.{function.__name__}")
                inside[0] = True
                try:
                    return function(*args, **kwargs)
                finally:
                    inside[0] = False
            return function(*args, **kwargs)

        return call

    originals: Dict[str, Callable[..., Any]] = {"asarray": numpy.asarray, "array": numpy.array}
    array._value = property(counted)
    for name, function in originals.items():
        setattr(numpy, name, wrapped(function))
    try:
        yield
    finally:
        array._value = value
        for name, function in originals.items():
            setattr(numpy, name, function)


def _count_read(frame: FrameType, array: Any, how: str) -> None:
    # JAX reads arrays for itself: constants while it traces, the text of an error.
    inner: Optional[FrameType] = frame
    while inner is not None and not program_text.is_own_file(inner.f_code.co_filename):
        if inner.f_code.co_name in ("cache_miss", "_device_put_impl", "ir_constant"):
            return
        inner = inner.f_back
    shape = programs.shape_text(array)
    for seen in _watching:
        seen.reads.append(Read(how, shape, user_frame(frame)))


def _program(compilation: Compilation) -> programs.Program:
    if not compilation.lowered:
        raise XlatraceError(
            f"the program of '{compilation.function}' cannot be read with this version of JAX",
            "program = xlatrace.compile(function, *arguments)",
        )
    try:
        hlo = compilation.executable.hlo_modules()[0].to_string()
    except (AttributeError, IndexError) as error:
        raise XlatraceError(f"the program of '{compilation.function}' cannot be read: {error}")
    return programs.Program(
        compilation.python_function,
        compilation.lowered,
        hlo,
        programs.peak_memory_of(compilation.executable),
    )


def _lowered_proto(module: Any) -> bytes:
    """HLO before optimization, as `Lowered.compiler_ir("hlo")` makes it; empty if JAX has changed."""
    try:
        from jax._src.interpreters import mlir  # type: ignore[import-not-found,unused-ignore]
        from jax._src.lib import _jax  # type: ignore[import-not-found,unused-ignore]

        converted = _jax.mlir.mlir_module_to_xla_computation(
            mlir.module_to_bytecode(module), use_tuple_args=False
        )
        return bytes(converted.as_serialized_hlo_module_proto())
    except (ImportError, AttributeError, TypeError):
        return b""
