# SPDX-License-Identifier: Apache-2.0
"""The script's own use of the framework's profiler comes first.

A framework can take one profile at a time. Its functions that start and stop one are replaced by
these: same signature, results and exceptions, but ours has ended before and goes on afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from .recorder import Recorder

REASON = "script_profiler"


def giving_way_to_start(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def start(*args: Any, **kwargs: Any) -> Any:
        script_had_one = recorder.give_way(REASON)
        try:
            return original(*args, **kwargs)
        except BaseException:
            if not script_had_one:
                recorder.go_on()
            raise

    return start


def going_on_after_stop(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def stop(*args: Any, **kwargs: Any) -> Any:
        # Ours has ended here, too: a stop without a start must fail as ever, not stop ours.
        recorder.give_way(REASON)
        try:
            return original(*args, **kwargs)
        finally:
            recorder.go_on()

    return stop


def noting_server(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    """A profiler server is no profile yet: ours goes on, and a remote capture has to wait."""

    @functools.wraps(original)
    def start_server(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        recorder.status.note(
            "the script started a profiler server; it cannot capture while this recording runs"
        )
        return result

    return start_server


def replace(modules: Iterable[ModuleType | None], name: str, wrap: Callable[..., Any]) -> None:
    """Replaces the function `name`, the same one in each of these modules."""
    wrapped: dict[Any, Any] = {}
    for module in modules:
        original = getattr(module, name, None)
        if original is not None and original not in wrapped.values():
            wrapped.setdefault(original, wrap(original))
            setattr(module, name, wrapped[original])
