# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's profiler, with its default options, which are the right ones here.

It is started at the first use of TensorFlow's runtime, not at the import. Until then the script may
still choose devices, and many programs import TensorFlow for its readers and writers only.

TensorFlow does not report compilations. A call without a trace for its arguments traces, compiles
and runs a `tf.function`. Every call reads the number of traces before and after
(`Function.__call__`, for the name of its span), so a larger number identifies such a call.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from . import script_profiler
from .jax_profiler import keep_forever, take_xplane
from .quiet_log import quiet_log
from .recorder import Recorder

# The first call of one of these starts the runtime: eager mode and functions, or sessions of
# TensorFlow 1.
SESSIONS = ("tensorflow.python.client.session", "BaseSession", "__init__")
RUNTIME = (("tensorflow.python.eager.context", "Context", "ensure_initialized"), SESSIONS)

# The class whose calls trace and compile: since TensorFlow 2.11, and before.
FUNCTIONS = (
    ("tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function"),
    ("tensorflow.python.eager.def_function", "Function"),
)
COUNT = "experimental_get_tracing_count"
# Calls under way in a thread, one inside another, and those that have raised.
MAX_CALLS = 1000


class TensorFlowProfiler:
    name = "tensorflow"

    def __init__(self, tensorflow: ModuleType, recorder: Recorder) -> None:
        from tensorflow.python.profiler import profiler_v2

        self._tensorflow = tensorflow
        self._private = profiler_v2
        self._recorder = recorder
        self._start = profiler_v2.start
        self._stop = profiler_v2.stop
        self._directory = ""
        self._functions: type | None = None
        self._count: Callable[[Any], int] = lambda function: 0
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
            "xla_flags": os.environ.get("XLA_FLAGS", ""),
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

        sessions = getattr(sys.modules.get(SESSIONS[0]), SESSIONS[1], None)
        if sessions is not None:  # graphs of TensorFlow 1 are not seen to compile
            _call_after(sessions, SESSIONS[2], lambda: self._recorder.compiled(0.0))
        for module_name, class_name, method in RUNTIME:
            owner = getattr(sys.modules.get(module_name), class_name, None)
            if owner is not None and method in vars(owner):
                undo.append(_call_after(owner, method, first_call))
        if not undo:
            raise RuntimeError("this version of TensorFlow has no Context.ensure_initialized")
        for module_name, class_name in FUNCTIONS:
            owner = getattr(sys.modules.get(module_name), class_name, None)
            if owner is not None and COUNT in vars(owner):
                self._watch_calls(owner)
                break
        else:
            self._recorder.compiled(0.0)

    def start(self, directory: str) -> None:
        self._directory = directory
        with quiet_log():
            self._start(directory)

    def stop(self, path: str) -> None:
        with quiet_log():
            self._stop()
        take_xplane(self._directory, path)

    def annotate(self, text: str) -> None:
        from tensorflow.python.profiler.trace import Trace

        with Trace(text):
            pass

    def compiling(self) -> bool:
        for frame in sys._current_frames().values():
            caller: FrameType | None = frame
            while caller is not None:
                if self._is_first_call(caller):
                    return True
                caller = caller.f_back
        return False

    def computing_while_compiling(self) -> bool:
        return True  # the call that compiles also runs, and may be a whole loop of training

    def _is_first_call(self, frame: FrameType) -> bool:
        """Is it a call of a tf.function that traces for the first time, or has traced again?"""
        if frame.f_code.co_name != "__call__" or self._functions is None:
            return False
        variables = frame.f_locals
        before, function = variables.get("tracing_count"), variables.get("self")
        if not isinstance(before, int) or not isinstance(function, self._functions):
            return False
        return before == 0 or self._count(function) > before

    def _watch_calls(self, functions: type) -> None:
        self._functions = functions
        self._count = original = vars(functions)[COUNT]
        recorder = self._recorder
        module = vars(sys.modules[functions.__module__])
        local = threading.local()

        def asked(caller: FrameType, count: int) -> None:
            if caller.f_code.co_name != "__call__" or caller.f_globals is not module:
                return  # a call from the script
            # Per thread: the calls that have read the number once, by their frames. A call that
            # raised stays until a call with the same frame address reads the number first.
            calls: dict[int, tuple[int, int, float]] = vars(local).setdefault("calls", {})
            now = time.monotonic()
            where, before, since = calls.pop(id(caller), (caller.f_lasti, count, now))
            if caller.f_lasti > where:
                if count > before:
                    recorder.compiled(now - since)
                return
            if len(calls) >= MAX_CALLS:
                calls.clear()
            calls[id(caller)] = (caller.f_lasti, count, now)

        @functools.wraps(original)
        def counted(function: Any) -> int:
            count: int = original(function)
            try:
                if recorder.pid == os.getpid():
                    asked(sys._getframe(1), count)
            except Exception:  # a compilation that is not seen must not end the script
                pass
            return count

        setattr(functions, COUNT, counted)

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
