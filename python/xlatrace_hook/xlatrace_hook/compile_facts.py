# SPDX-License-Identifier: Apache-2.0
"""Where JAX's time goes before a program runs: imports, backend, tracing, lowering, compilation.

JAX calls the listeners of `jax.monitoring` at the end of tracing, lowering and compilation, in the
same thread. JAX 0.8 and newer also calls them at the beginning. The arguments of the call are in the
frames of JAX on the stack of that moment. So nothing of JAX is replaced, and nothing runs outside
compilations. JAX's frames are private: a fact that is not found there is left out.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

from . import import_times
from .compile_log import CompileLog, process_start_unix_ns, short
from .compile_program import program_details
from .compile_signature import (
    Functions,
    definition,
    function_chain,
    function_key,
    signature_of,
)
from .status import Status
from .user_frames import is_library, user_place

STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
RETRIEVAL = "/jax/compilation_cache/cache_retrieval_time_sec"
SAVED = "/jax/compilation_cache/compile_time_saved_sec"
HIT = "/jax/compilation_cache/cache_hits"
ASKED = "/jax/compilation_cache/compile_requests_use_cache"

MAX_DEPTH = 200  # Frames that are searched for JAX's.


class _Stage:
    """A stage that has begun."""

    def __init__(self, stage: str, name: str, begin_ns: int) -> None:
        self.stage = stage
        self.name = name
        self.begin_ns = begin_ns
        self.entry: dict[str, Any] = {}
        self.facts: dict[str, Any] = {}


class _Thread(threading.local):
    def __init__(self) -> None:
        self.open: list[_Stage] = []
        self.facts: dict[str, Any] = {}  # The function that was traced or lowered last.
        self.cache: dict[str, Any] = {}  # The compilation that is open.


class CompileFacts:
    def __init__(self, jax: ModuleType, status: Status) -> None:
        self._jax = jax
        self._log = CompileLog(lambda: status.folder)
        self._functions = Functions()
        self._thread = _Thread()
        self._next_id = 1
        self._lock = threading.Lock()

    def install(self) -> None:
        self._write_beginning()
        self._watch_backend()
        from jax import monitoring

        monitoring.register_event_duration_secs_listener(self._guarded(self._ended))
        monitoring.register_event_listener(self._guarded(self._happened))
        try:
            from jax._src import monitoring as private

            private.register_scalar_listener(self._guarded(self._began))
        except (ImportError, AttributeError):
            pass  # Older JAX: a stage is known when it has ended.

    def _guarded(self, function: Any) -> Any:
        def listener(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
            except Exception:
                pass  # A fact less; the script goes on.

        return listener

    # --- imports and backend -------------------------------------------------------------------

    def _write_beginning(self) -> None:
        times = import_times.times
        ready = times.started_ns if times is not None else None
        start = process_start_unix_ns()
        self._log.write(stage="process", name="python", start=start, end=ready)
        if times is None:
            return
        entries, times.entries = times.entries, []
        for entry in entries:
            if entry["end"] is not None:
                self._import(entry)
            else:  # The import of a package that imports the framework: not over.
                times.entries.append(entry)
        times.sink = self._import

    def _import(self, entry: dict[str, Any]) -> None:
        self._log.write(stage="import", **entry)

    def _watch_backend(self) -> None:
        bridge = sys.modules.get("jax._src.xla_bridge")
        original = getattr(bridge, "backends", None)
        if original is None:
            return
        log = self._log

        def backends(*args: Any, **kwargs: Any) -> Any:
            began = time.time_ns()
            result = original(*args, **kwargs)
            if not done:
                done.append(True)
                file, line = user_place(sys._getframe(1)) or (None, None)
                log.write(
                    stage="backend_start",
                    name=_default_platform(bridge),
                    start=began,
                    end=time.time_ns(),
                    file=file,
                    line=line,
                )
            if getattr(bridge, "backends", None) is backends:
                bridge.backends = original
            return result

        done: list[bool] = []
        functools.update_wrapper(backends, original)
        bridge.backends = backends

    # --- stages --------------------------------------------------------------------------------

    def _began(self, event: str, _value: float, fun_name: str = "", **_: Any) -> None:
        stage = STAGES.get(event)
        if stage is not None:
            if stage == "compile":
                self._thread.cache = {}
            self._begin(stage, fun_name, time.time_ns(), sys._getframe(1))

    def _begin(self, stage: str, name: str, now: int, frame: FrameType) -> _Stage:
        name = _plain_name(name)
        begun = _Stage(stage, name, now)
        thread = self._thread
        thread.open.append(begun)
        entry = {"stage": stage, "name": name, "start": now, "thread": threading.get_native_id()}
        entry["file"], entry["line"] = user_place(frame) or (None, None)
        if stage == "lower":
            thread.facts = self._facts_of_call(name, frame)
        elif stage == "trace":
            thread.facts = {"name": name, "id": self._number()}
        facts = thread.facts
        if facts.get("name") != name:  # Compiled without being traced or lowered now.
            facts = thread.facts = self._facts_of_call(name, frame)
        entry["id"] = facts["id"]
        begun.entry, begun.facts = entry, facts
        if stage == "compile":
            for key in ("function", "again", "details"):
                if key in facts:
                    entry[key] = facts[key]
        self._log.write(**entry)  # The process may be killed in this stage.
        return begun

    def _ended(self, event: str, duration: float, fun_name: str = "", **_: Any) -> None:
        now = time.time_ns()
        stage = STAGES.get(event)
        thread = self._thread
        if stage is None:
            if event == RETRIEVAL:
                thread.cache["retrieval_ns"] = int(duration * 1e9)
            elif event == SAVED:
                thread.cache["saved_ns"] = int(duration * 1e9)
            return
        frame = sys._getframe(1)
        if not fun_name:  # Before JAX 0.5 the event has no name.
            fun_name = (_find(frame, ("log_elapsed_time",)) or {}).get("fun_name", "")
        name = _plain_name(fun_name)
        while thread.open and thread.open[-1].stage != stage:
            thread.open.pop()  # It failed.
        if thread.open:
            begun = thread.open.pop()
        else:
            begun = self._begin(stage, name, now - int(duration * 1e9), frame)
            thread.open.pop()
        # The line of the beginning has all else.
        entry = {key: begun.entry[key] for key in ("stage", "name", "id", "start")}
        entry["end"] = now
        # JAX's own clock: the facts for the first line were collected outside of its stage.
        entry["start"] = now - int(duration * 1e9)
        if stage == "trace":
            thread.facts = begun.facts  # Those of a function that was traced inside have replaced it.
            self._remember_traced(frame, thread.facts)
        if stage == "compile":
            details = self._cache_details(entry, thread)
            if details:
                entry["details"] = details
            thread.facts, thread.cache = {}, {}
        self._log.write(**entry)

    def _happened(self, event: str, **_: Any) -> None:
        if event == HIT:
            self._thread.cache["hit"] = True
        elif event == ASKED:
            self._thread.cache["asked"] = True

    def _number(self) -> int:
        with self._lock:
            self._next_id += 1
            return self._next_id - 1

    # --- facts ---------------------------------------------------------------------------------

    def _remember_traced(self, frame: FrameType | None, facts: dict[str, Any]) -> None:
        """Keeps the call of a function that another call lowers later on: `jitted.lower(x)`."""
        found = _find(frame, ("_infer_params", "_infer_params_impl", "infer_params"))
        if found is not None:
            facts["info"] = found.get("ji") or found.get("jit_info")
            facts["fun"] = found.get("fun") or getattr(facts["info"], "fun", None)
            facts["args"], facts["kwargs"] = found.get("args", ()), found.get("kwargs", {})

    def _facts_of_call(self, name: str, frame: FrameType | None) -> dict[str, Any]:
        traced = self._thread.facts if self._thread.facts.get("name") == name else {}
        facts: dict[str, Any] = {"name": name, "id": traced.get("id") or self._number()}
        call = _find(frame, ("cache_miss", "lower"))
        if call is None:
            return facts
        info = call.get("jit_info") or traced.get("info")
        # Before JAX 0.5 the function is a part of `jit_info`.
        fun = call.get("fun") or getattr(call.get("jit_info"), "fun", None) or traced.get("fun")
        if fun is None:
            return facts
        args, kwargs = call.get("args"), call.get("kwargs")
        # Before JAX 0.5 the parameters are variables of a helper of the call.
        flat = call if "p" in call else _find(frame, ("_python_pjit_helper",)) or {}
        params = flat.get("p")
        if params is None and "in_avals" in flat:
            params = SimpleNamespace(**{k: flat[k] for k in ("params", "in_avals", "arg_names")})
        elif params is None:
            args, kwargs = traced.get("args", ()), traced.get("kwargs", {})
            params = _params_of_traced(call.get("self"))
        if _is_operation(fun):
            facts["function"] = {"operation": True, "library": True}
            facts["details"] = _caller(frame)
            return facts
        facts["function"] = definition(fun)
        signature = signature_of(self._jax, fun, info, args or (), kwargs or {}, params, flat.get("args_flat"))
        with self._lock:
            found = self._functions.compare(function_key(fun, name), signature)
        facts["again"] = None if found is None else list(dict.fromkeys(d["kind"] for d in found))
        details = list(found or [])
        jaxpr = (getattr(params, "params", None) or {}).get("jaxpr")
        if jaxpr is not None:
            option = "jax_use_simplified_jaxpr_constants"
            details += program_details(jaxpr, fun, getattr(self._jax.config, option, False))
        if details:
            facts["details"] = details
        return facts

    def _cache_details(self, entry: dict[str, Any], thread: _Thread) -> list[dict[str, Any]]:
        """The answer of JAX's persistent cache, if that is on."""
        cache = thread.cache
        folder = getattr(self._jax.config, "jax_compilation_cache_dir", None)
        if not folder or not cache.get("asked"):
            return []
        if cache.get("hit"):
            if "retrieval_ns" in cache:
                part = dict(entry, stage="cache")
                part["start"] = max(entry["end"] - cache["retrieval_ns"], entry["start"])
                self._log.write(**part)
            return [{"kind": "cache_hit", "name": short(folder), "value": cache.get("saved_ns")}]
        detail: dict[str, Any] = {"kind": "cache_miss", "name": short(folder)}
        least = getattr(self._jax.config, "jax_persistent_cache_min_compile_time_secs", None)
        if least is not None and (entry["end"] - entry["start"]) / 1e9 < least:
            detail["before"] = "not kept"  # It takes less than JAX keeps.
            detail["value"] = int(least * 1e9)
        else:
            detail["before"] = _other_keys(str(folder), entry["name"], entry["start"])
            detail["after"] = short(", ".join(_parts_of_key(self._jax.config)))
        return [detail]


def _params_of_traced(traced: Any) -> Any:
    """As PjitParams, from what `jitted.trace(x)` returns."""
    params = getattr(traced, "_params", None)
    if params is None:  # Before JAX 0.5.
        params = getattr(getattr(traced, "_lower_callable", None), "keywords", None)
    if params is None:
        return None
    jaxpr = params.get("jaxpr")
    info = getattr(getattr(jaxpr, "jaxpr", None), "debug_info", None)
    names = getattr(info, "arg_names", None) or getattr(traced, "_arg_names", None)
    return SimpleNamespace(
        params=params,
        in_avals=list(getattr(jaxpr, "in_avals", ())),
        arg_names=list(names or ()),
    )


def _caller(frame: FrameType | None) -> list[dict[str, Any]]:
    """The user's function that calls an operation."""
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return []
    code = frame.f_code
    place = {"file": code.co_filename, "line": code.co_firstlineno}
    return [{"kind": "caller", "name": code.co_name, **place}]


def _default_platform(bridge: Any) -> str:
    return str(getattr(getattr(bridge, "_default_backend", None), "platform", None) or "jax")


def _plain_name(name: str) -> str:
    """JAX names a traced function `f` and a lowered one `jit(f)`, `jit_f` before 0.5."""
    for start, end in (("jit(", ")"), ("pjit(", ")"), ("jit_", ""), ("pmap(", ")")):
        if name.startswith(start) and name.endswith(end):
            return name[len(start) : len(name) - len(end)]
    return name


def _find(frame: FrameType | None, names: tuple[str, ...]) -> dict[str, Any] | None:
    """The variables of the innermost frame of JAX with such a name."""
    for _ in range(MAX_DEPTH):
        if frame is None:
            return None
        code = frame.f_code
        if code.co_name in names and f"{os.sep}jax{os.sep}" in code.co_filename:
            return frame.f_locals
        frame = frame.f_back
    return None


def _is_operation(fun: Any) -> bool:
    """A primitive of JAX, or a function of jax.numpy and its like, that is called outside of jit."""
    chain = function_chain(fun)
    return bool(chain) and all(f"{os.sep}jax{os.sep}" in each.__code__.co_filename for each in chain)


def _parts_of_key(config: Any) -> list[str]:
    """Settings of this process that are part of the cache's key and not the default."""
    parts = []
    if getattr(config, "jax_compilation_cache_include_metadata_in_key", False):
        parts.append("metadata with source paths (jax_compilation_cache_include_metadata_in_key)")
    for variable in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):
        for flag in os.environ.get(variable, "").split():
            if not flag.startswith(("--xla_dump", "--xla_force_host")):
                parts.append(f"{variable} {flag}")
    return parts


def _other_keys(folder: str, name: str, before_ns: int) -> str:
    """Does the persistent cache hold the function under another key?"""
    try:
        count = sum(
            entry.name.startswith((f"jit_{name}-", f"pjit_{name}-"))
            and entry.name.endswith("-cache")
            and entry.stat().st_mtime_ns < before_ns
            for entry in os.scandir(folder)
        )
    except OSError:
        return ""
    return "other key" if count else "not in the cache"
