# SPDX-License-Identifier: Apache-2.0
"""Joins the pieces when a framework has been imported."""

from __future__ import annotations

import os
import time
from types import ModuleType

from . import exits
from .compile_facts import CompileFacts
from .jax_profiler import JaxProfiler
from .limits import Limits
from .recorder import FINISHED, Profiler, Recorder, describe
from .settings import Settings
from .signals import Signals
from .stacks import Stacks
from .status import Status
from .tensorflow_profiler import TensorFlowProfiler
from .watcher import start_watcher

_hook: Hook | None = None


def framework_imported(module: ModuleType) -> None:
    global _hook
    began = time.perf_counter_ns()
    if _hook is None:
        _hook = Hook(Settings(os.environ))
    _hook.framework_imported(module)
    _hook.recorder.status.data["own_cost_ns"] += time.perf_counter_ns() - began


class Hook:
    """State of the process, made at the import of the first framework."""

    def __init__(self, settings: Settings) -> None:
        self.recorder = Recorder(settings, Status(settings.directory), Limits(settings), Stacks())
        self.signals = Signals(self.recorder.when_free, self._finish_by_signal)
        self._armed = False
        self._watched = False
        self.recorder.status.data["delay_s"] = settings.delay_s
        exits.install(self.recorder)
        os.register_at_fork(
            before=self.signals.before_fork,
            after_in_parent=self.signals.after_fork,
            after_in_child=self._forked,
        )

    def framework_imported(self, module: ModuleType) -> None:
        name = module.__name__
        status = self.recorder.status
        status.data["frameworks_imported"].append(name)
        try:
            profiler: JaxProfiler | TensorFlowProfiler
            if name == "jax":
                self._watch_compilations(module)
                profiler = JaxProfiler(module, self.recorder)
            else:
                profiler = TensorFlowProfiler(module, self.recorder)
            if status.data["framework"] is None:
                status.data.update(profiler.versions(), framework=name)
            profiler.watch(lambda: self._runtime_ready(profiler))
        except Exception as error:
            status.data["start_error"] = describe(error)
        status.update()
        self.recorder.start_stacks()

    def _watch_compilations(self, jax: ModuleType) -> None:
        try:
            CompileFacts(jax, self.recorder.status).install()
        except Exception as error:
            self.recorder.status.note(f"compilations are not explained: {describe(error)}")

    def _runtime_ready(self, profiler: Profiler) -> None:
        try:
            if self.recorder.state == FINISHED:
                return
            if not self._armed:
                self._armed = True
                if self.signals.possible():
                    self.signals.install()
                else:
                    self.recorder.status.note("the runtime was started by a thread: SIGTERM will lose the profile")
            self.recorder.runtime_ready(profiler)
            if not self._watched and self.recorder.needs_ticks():
                self._watched = True
                start_watcher(self.recorder, self.signals)
        except Exception as error:
            self.recorder.status.update(start_error=describe(error))

    def _finish_by_signal(self, name: str) -> None:
        self.recorder.finish(name, {"kind": "signal", "signal": name})

    def _forked(self) -> None:
        for forked in (self.recorder.forked, self.signals.forked):
            try:
                forked()
            except Exception:
                pass
