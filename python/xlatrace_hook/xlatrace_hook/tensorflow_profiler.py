# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's profiler, with its default options: those ask for just what is wanted here.

It is started when TensorFlow's runtime is first used, not at the import: until then the script may
still choose devices, and many programs import TensorFlow for its readers and writers only.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import script_profiler
from .jax_profiler import keep_forever, take_xplane
from .quiet_log import quiet_log
from .recorder import Recorder

# Whichever of these is called first brings the runtime up: eager mode and functions, or sessions
# of TensorFlow 1.
RUNTIME = (
    ("tensorflow.python.eager.context", "Context", "ensure_initialized"),
    ("tensorflow.python.client.session", "BaseSession", "__init__"),
)


class TensorFlowProfiler:
    name = "tensorflow"

    def __init__(self, tensorflow: ModuleType, recorder: Recorder) -> None:
        from tensorflow.python.profiler import profiler_v2

        self._tensorflow = tensorflow
        self._private = profiler_v2
        self._start = profiler_v2.start
        self._stop = profiler_v2.stop
        self._directory = ""
        modules = [profiler_v2, tensorflow.profiler.experimental] + [
            module
            for name, module in list(sys.modules.items())
            if name.startswith("tensorflow.") and name.endswith(".profiler.experimental")
        ]
        for name, wrap in (
            ("start", script_profiler.giving_way_to_start),
            ("stop", script_profiler.going_on_after_stop),
        ):
            script_profiler.replace(modules, name, functools.partial(wrap, recorder))

    def versions(self) -> dict[str, str | None]:
        return {
            "framework_version": getattr(self._tensorflow, "__version__", None),
            "jaxlib_version": None,
        }

    def watch(self, ready: Callable[[], None]) -> None:
        """Calls `ready` once, when the runtime is up."""
        undo: list[Callable[[], None]] = []

        def first_call() -> None:
            if undo:
                for restore in undo:
                    restore()
                undo.clear()
                ready()

        for module_name, class_name, method in RUNTIME:
            owner = getattr(sys.modules.get(module_name), class_name, None)
            if owner is not None and method in vars(owner):
                undo.append(_call_after(owner, method, first_call))
        if not undo:
            raise RuntimeError("this version of TensorFlow has no Context.ensure_initialized")

    def start(self, directory: str) -> None:
        self._directory = directory
        with quiet_log():
            self._start(directory)

    def stop(self, path: str) -> None:
        with quiet_log():
            self._stop()
        take_xplane(self._directory, path)

    def compiling(self) -> bool:
        return False  # TensorFlow does not say; its compilations are short

    def abandon(self) -> None:
        session = getattr(self._private, "_profiler", None)
        if session is not None:
            keep_forever(session)
            self._private._profiler = None


def _call_after(owner: type, method: str, callback: Callable[[], None]) -> Callable[[], None]:
    """Has `callback` called after each call of the method; returns what undoes it."""
    original = vars(owner)[method]

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        callback()
        return result

    def restore() -> None:
        if vars(owner).get(method) is wrapper:
            setattr(owner, method, original)

    setattr(owner, method, wrapper)
    return restore
