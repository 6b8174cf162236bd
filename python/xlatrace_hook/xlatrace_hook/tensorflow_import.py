# SPDX-License-Identifier: Apache-2.0
"""Keeps jaxlib before 0.9 from importing TensorFlow.

There a profile, when it starts and when it stops, sets a flag in a module of TensorFlow. Where
TensorFlow is installed, that would import it: seconds, and perhaps a GPU's memory. Where it is not,
there would be an error on the script's stderr, twice.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

FLAG = "tensorflow.python.profiler.trace"


@contextlib.contextmanager
def no_tensorflow_import(jaxlib_version: str | None) -> Iterator[None]:
    """For the time of one call into the profiler. Other threads may import what they like."""
    if "tensorflow" in sys.modules or _version(jaxlib_version) >= (0, 9):
        yield
    elif PathFinder.find_spec("tensorflow") is None:
        with _stand_ins():
            yield
    else:
        refusal = _Refusal(threading.get_ident())
        sys.meta_path.insert(0, refusal)
        try:
            yield
        finally:
            sys.meta_path.remove(refusal)


@contextlib.contextmanager
def _stand_ins() -> Iterator[None]:
    """Safe, because no other code can import TensorFlow here."""
    modules = {name: ModuleType(name) for name in ("tensorflow", FLAG)}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)


class _Refusal:
    """On `sys.meta_path`: no TensorFlow for this thread. The error on stderr stays, then."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "tensorflow" and threading.get_ident() == self._thread:
            raise ImportError("not for a profile of JAX")


def _version(text: str | None) -> tuple[int, ...]:
    numbers = []
    for part in (text or "").split(".")[:2]:
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
