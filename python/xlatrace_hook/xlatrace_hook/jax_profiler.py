# SPDX-License-Identifier: Apache-2.0
"""JAX's profiler: host events without the Python tracer, and the HLO of every module.

`jax.profiler.start_trace` brings the backends up, which must be the script's doing: before that it
may still choose platforms, set XLA_FLAGS, or call `jax.distributed.initialize`. So the profile is
started by the first call of `jax._src.xla_bridge.backends` that succeeds; nothing is computed or
compiled without it.

`jax.profiler.stop_trace` also converts the profile to JSON for a trace viewer, which takes twice as
long as all the rest. The session underneath gives the bytes of the XSpace, so they are taken there.
Both are private to JAX: what is not found is done without, the longer way.
"""

from __future__ import annotations

import functools
import glob
import importlib
import os
import shutil
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from . import script_profiler
from .recorder import Recorder
from .status import write_file
from .tensorflow_import import no_tensorflow_import

COMPILER = os.path.join("jax", "_src", "compiler.py")
COMPILATION = "/jax/core/compile/backend_compile_duration"


class JaxProfiler:
    name = "jax"

    def __init__(self, jax: ModuleType, recorder: Recorder) -> None:
        public = importlib.import_module("jax.profiler")
        self._jax = jax
        self._public = public
        self._recorder = recorder
        self._private = sys.modules.get("jax._src.profiler")
        self._start_trace = public.start_trace
        self._stop_trace = public.stop_trace
        self._jaxlib_version = getattr(sys.modules.get("jaxlib"), "__version__", None)
        self._directory = ""
        self._session: Any = None
        modules = (public, self._private)
        for name, wrap in (
            ("start_trace", script_profiler.giving_way_to_start),
            ("stop_trace", script_profiler.going_on_after_stop),
            ("stop_and_get_fdo_profile", script_profiler.going_on_after_stop),
            ("start_server", script_profiler.noting_server),
        ):
            script_profiler.replace(modules, name, functools.partial(wrap, recorder))

    def versions(self) -> dict[str, str | None]:
        return {
            "framework_version": getattr(self._jax, "__version__", None),
            "jaxlib_version": self._jaxlib_version,
            "xla_flags": os.environ.get("XLA_FLAGS", ""),
        }

    def watch(self, ready: Callable[[], None]) -> None:
        """Calls `ready` once, when the backends are up."""
        self._count_compilations()
        bridge = sys.modules.get("jax._src.xla_bridge")
        original = getattr(bridge, "backends", None)
        if original is None:
            raise RuntimeError("this version of JAX is too old: no jax._src.xla_bridge.backends")

        @functools.wraps(original)
        def backends(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if getattr(bridge, "backends", None) is backends:
                bridge.backends = original
                ready()
            return result

        bridge.backends = backends
        self._hide_from_tracebacks()

    def start(self, directory: str) -> None:
        if getattr(self._jax.config, "jax_enable_pgle", False):
            raise RuntimeError("jax_enable_pgle is on: JAX itself needs the profiler")
        self._directory = directory
        options = _profile_options(self._public)
        with no_tensorflow_import(self._jaxlib_version):
            if options is not None:
                self._start_trace(directory, profiler_options=options)
                self._session = getattr(self._state(), "profile_session", None)
            else:
                self._start_session_of_older_jax(directory)

    def stop(self, path: str) -> None:
        with no_tensorflow_import(self._jaxlib_version):
            self._stop(path)

    def _stop(self, path: str) -> None:
        state, session, self._session = self._state(), self._session, None
        if session is None or not hasattr(session, "stop"):
            self._stop_trace()
            take_xplane(self._directory, path)
            return
        with state.lock:
            if state.profile_session is not session:
                raise RuntimeError("other code has already stopped the profile")
            try:
                xspace = session.stop()
            finally:
                state.reset()
                getattr(self._private, "clear_metadata", lambda: None)()
        write_file(path, xspace)

    def annotate(self, text: str) -> None:
        with self._public.TraceAnnotation(text):
            pass

    def compiling(self) -> bool:
        for frame in sys._current_frames().values():
            caller: FrameType | None = frame
            while caller is not None:
                if caller.f_code.co_filename.endswith(COMPILER):
                    return True
                caller = caller.f_back
        return False

    def computing_while_compiling(self) -> bool:
        return False

    def abandon(self) -> None:
        session, self._session = self._session, None
        state = self._state()
        if session is None:
            return
        keep_forever(session)
        if getattr(state, "profile_session", None) is session:
            state.reset()

    def _state(self) -> Any:
        """State of jax.profiler between start_trace and stop_trace; None: unknown layout."""
        state = getattr(self._private, "_profile_state", None)
        complete = all(hasattr(state, name) for name in ("lock", "reset", "profile_session"))
        return state if complete else None

    def _start_session_of_older_jax(self, directory: str) -> None:
        """Its start_trace takes no options, and so has the Python tracer on; its session does."""
        state = self._state()
        library = getattr(self._private, "xla_client", None)
        profiler: Any = getattr(library, "profiler", None)
        options = _profile_options(profiler)
        if state is None or options is None:
            self._start_trace(directory)
            self._session = getattr(state, "profile_session", None)
            return
        with state.lock:
            if state.profile_session is not None:
                raise RuntimeError("a profile is running already")
            state.profile_session = self._session = profiler.ProfilerSession(options)
            state.log_dir = directory

    def _count_compilations(self) -> None:
        def listener(event: str, duration: float, **_: Any) -> None:
            if event == COMPILATION:
                self._recorder.compiled(duration)

        try:
            from jax import monitoring

            monitoring.register_event_duration_secs_listener(listener)
        except (ImportError, AttributeError):
            self._recorder.compiled(0.0)  # compilation counts as recorded time

    def _hide_from_tracebacks(self) -> None:
        """JAX leaves its own frames out of tracebacks; ours are between them."""
        try:
            from jax._src import traceback_util

            for file in (__file__, script_profiler.__file__):
                traceback_util.register_exclusion(file)
        except (ImportError, AttributeError):
            pass


def _profile_options(module: ModuleType | None) -> Any:
    """Options without the Python tracer, which records every call: 40 times the events."""
    options = getattr(module, "ProfileOptions", None)
    if options is None:
        return None
    options = options()
    for name, value in (
        ("host_tracer_level", 2),
        ("python_tracer_level", 0),
        ("enable_hlo_proto", True),
    ):
        if hasattr(options, name):
            setattr(options, name, value)
    return options


def take_xplane(directory: str, path: str) -> None:
    """Moves the XSpace protobuf of a profiler to `path` and removes its other files."""
    found = glob.glob(os.path.join(glob.escape(directory), "plugins/profile/*/*.xplane.pb"))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} .xplane.pb files under {directory}")
    os.replace(found[0], path)
    os.chmod(path, 0o600)
    shutil.rmtree(directory, ignore_errors=True)


def keep_forever(thing: object) -> None:
    """Its destructor must not run, not even at exit: it would wait for the parent's threads."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
