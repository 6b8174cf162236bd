# SPDX-License-Identifier: Apache-2.0
"""One profile at a time: when it starts, gives way, goes on and ends, and which process it is of.

    WAITING --runtime_ready--> [DELAYED ->] RUNNING <--give_way, go_on--> PAUSED
                                             |   ^                          |
                        the window is over --+   +-- compiled               |
                                             v   |                          |
                                            RESTING ------- finish ---------+--> FINISHED

A fork of a process that has begun to record is DISOWNED: the profile belongs to its parent.
A RUNNING stretch is one session, one file. Calls may come from any thread and from a signal
handler that interrupts another call; none of them raises anything but a KeyboardInterrupt.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from .limits import Limits
from .settings import Settings
from .stacks import Stacks
from .status import Status

WAITING, DELAYED, RUNNING, PAUSED = "waiting", "delayed", "running", "paused"
RESTING = "resting"
FINISHED, DISOWNED = "finished", "disowned"

# Longest wait at the end of the process for another thread that is writing the profile.
WAIT_S = 120.0


class Profiler(Protocol):
    """A framework's own profiler."""

    name: str

    def versions(self) -> dict[str, str | None]:
        """Entries of status.json that name versions and XLA's flags."""

    def start(self, directory: str) -> None:
        """Starts a session. Should the framework write files of its own, then to `directory`."""

    def stop(self, path: str) -> None:
        """Stops the session and puts the XSpace protobuf at `path`, complete or not at all."""

    def compiling(self) -> bool:
        """True while a thread compiles a program: no window ends then."""

    def computing_while_compiling(self) -> bool:
        """True if the program may also compute while `compiling`, so that the profile may grow."""

    def annotate(self, text: str) -> None:
        """Adds an event with this text to the session, in the line of the calling thread."""

    def abandon(self) -> None:
        """In a fork of the recording process: makes sure that its session is never touched."""


class Recorder:
    def __init__(
        self, settings: Settings, status: Status, limits: Limits, stacks: Stacks | None = None
    ) -> None:
        self.settings = settings
        self.status = status
        self.limits = limits
        self._stacks = stacks or Stacks()
        self.state = WAITING
        self.pid = os.getpid()
        self._profiler: Profiler | None = None
        self._given_way = False
        self._lock = threading.RLock()
        self._busy_thread: int | None = None
        self._when_free: Callable[[], None] | None = None

    def start_stacks(self) -> None:
        """Samples stacks from now on, also before the first profile."""
        try:
            self._stacks.start(self.status.folder)
        except OSError:
            pass  # no folder, no samples

    # --- what may happen ---------------------------------------------------------------------

    def runtime_ready(self, profiler: Profiler) -> None:
        """The framework can be profiled from now on. Called once per framework."""
        with self._exclusive() as free:
            if not free:
                return
            if self.state == WAITING:
                self._profiler = profiler
                if self.settings.delay_s > 0:
                    self.state = DELAYED
                    self.limits.wait(self.settings.delay_s)
                else:
                    self._start_or_wait()
            elif self.state in (DELAYED, RUNNING, PAUSED, RESTING) and profiler.name == "jax":
                # JAX programs use TensorFlow to read their data, and often begin with it.
                self.status.note("tensorflow was profiled until jax came up")
                if self.state == RUNNING:
                    self._stop("jax_started")
                self._profiler = profiler
                if self.state in (PAUSED, RESTING):
                    self._start_or_wait()
            else:
                self.status.note(profiler.name + " came up, too, and was not profiled")

    def give_way(self, reason: str) -> bool:
        """No profile of ours until `go_on`: ends the session, or does not start one.

        Returns whether that was so before, which is what the caller has to restore on failure.
        """
        with self._exclusive() as free:
            if not free:
                return True
            before, self._given_way = self._given_way, True
            if self.state == RUNNING:
                self._stop(reason)
            return before

    def go_on(self) -> None:
        with self._exclusive() as free:
            if free:
                self._given_way = False
                if self.state == PAUSED:
                    self._start()

    def finish(self, reason: str, exit: dict[str, Any] | None = None) -> None:
        """Ends the recording for good. `exit`: how the process ends; None: it does not end."""
        with self._exclusive() as free:
            if not free or self.state == DISOWNED:
                return
            has_begun = self._has_begun()
            if self.state == RUNNING:
                self._stop(reason)
            if self.state == PAUSED:  # RESTING has its reason already
                self.status.data["stop_reason"] = reason
            self.state = FINISHED
            note = self._stacks.stop()
            if note:
                self.status.note(note)
            if has_begun:
                self.status.update(exit=exit)

    def about_to_end(self, exit: dict[str, Any] | None) -> None:
        """Writes to status.json how the process is about to end; None: it does not end after all."""
        with self._exclusive() as free:
            if free and self.state != DISOWNED and self._has_begun():
                self.status.update(exit=exit)

    def tick(self) -> None:
        """Called a few times a second: enforces the limits."""
        if self.state == DELAYED and self.limits.wait_is_over():
            with self._exclusive() as free:
                if free and self.state == DELAYED:
                    self._start_or_wait()
        elif self.state == RUNNING:
            reached = self.limits.reached()
            profiler = self._profiler
            if reached and profiler is not None and profiler.compiling():
                # It does not count, but how much it was is known only afterwards.
                if not profiler.computing_while_compiling():
                    return
                reached = self.limits.reached(begun=False)
            if reached == "duration":
                if self.limits.had_begun():
                    self._rest()
            elif reached == "memory":
                self._end_or_split_session()

    def compiled(self, seconds: float) -> None:
        """A compilation of that many seconds has just ended: a window may begin now.

        A framework that does not report compilations calls this once, with 0.
        """
        opens_window = self.limits.compiled(seconds)
        # Also while another thread still writes the previous window (state PAUSED): the compiled
        # program must not run before its window is open.
        writing = self.state == PAUSED and not self._given_way
        if opens_window and (self.state == RESTING or writing):
            with self._exclusive() as free:
                if free and self.state == RESTING:
                    self._start_or_wait()

    def needs_ticks(self) -> bool:
        return self.state in (DELAYED, RUNNING, PAUSED, RESTING)

    def when_free(self, action: Callable[[], None]) -> None:
        """Runs a signal's action: now, or when the call that the signal interrupted is done."""
        if self._busy_thread == threading.get_ident():
            self._when_free = action
        else:
            action()

    def forked(self) -> None:
        """In the child of a fork."""
        self.pid = os.getpid()
        self._lock = threading.RLock()
        self._busy_thread = None
        self._when_free = None
        self.status = Status(self.settings.directory)
        self._stacks.forked()
        if self.state != WAITING:
            self.state = DISOWNED
            if self._profiler is not None:
                self._profiler.abandon()

    def _has_begun(self) -> bool:
        """False in a forked child that has done nothing yet: it leaves no folder."""
        return self.state != WAITING or bool(self.status.data["frameworks_imported"])

    # --- sessions ----------------------------------------------------------------------------

    def _start_or_wait(self) -> None:
        if self._given_way:
            self.state = PAUSED
        else:
            self._start()

    def _start(self) -> None:
        profiler, data = self._profiler, self.status.data
        assert profiler is not None
        number = len(data["sessions"]) + 1
        began = time.perf_counter_ns()
        session = {
            "xplane": None,
            "framework": profiler.name,
            "start_unix_ns": time.time_ns(),
            "stop_unix_ns": None,
            "stop_reason": None,
            "bytes": None,
        }
        try:
            data.update(profiler.versions())
            profiler.start(os.path.join(self.status.folder, f"session-{number}"))
        except Exception as error:
            data["start_error"] = describe(error)
            self.state = FINISHED if number == 1 else PAUSED
        else:
            self.state = RUNNING
            self._stacks.go_on()
            if self._stacks.active():
                self._mark_thread(profiler)
            self.limits.session_started()
            data["sessions"].append(session)
            data["framework"] = profiler.name
            data["started"] = True
            data["stopped"], data["stop_reason"] = False, None
            data["profile_start_unix_ns"] = (
                data["profile_start_unix_ns"] or session["start_unix_ns"]
            )
        data["own_cost_ns"] += time.perf_counter_ns() - began
        self.status.update()

    def _mark_thread(self, profiler: Profiler) -> None:
        """Lines of a profile have other numbers than the threads of stack samples."""
        try:
            profiler.annotate(f"xlatrace_thread={threading.get_native_id()}")
        except Exception:  # the samples then belong to no line
            pass

    def _stop(self, reason: str) -> None:
        profiler, data = self._profiler, self.status.data
        assert profiler is not None
        session = data["sessions"][-1]
        name = f"session-{len(data['sessions'])}.xplane.pb"
        began = time.perf_counter_ns()
        self.state = PAUSED  # from here on there is no profile to stop, also after an error
        self._stacks.pause()
        data["stopped"], data["stop_reason"] = True, reason
        session["stop_unix_ns"] = data["profile_stop_unix_ns"] = time.time_ns()
        session["stop_reason"] = reason
        try:
            path = os.path.join(self.status.folder, name)
            profiler.stop(path)
            session["bytes"] = os.path.getsize(path)
            session["xplane"] = name
        except Exception as error:
            data["stop_error"] = describe(error)
        data["own_cost_ns"] += time.perf_counter_ns() - began
        self.status.update()

    def _rest(self) -> None:
        """The window is over. Another compilation may open it again."""
        with self._exclusive() as free:
            if free and self.state == RUNNING:
                self._stop("duration")
                self.state = RESTING
                if self.limits.reached() != "duration":  # compiled meanwhile
                    self._start_or_wait()

    def _end_or_split_session(self) -> None:
        """The process has grown. If that was not the profile, it goes on in another session."""
        with self._exclusive() as free:
            if not free or self.state != RUNNING:
                return
            grown = self.limits.growth()
            self._stop("memory")
            written = self.status.data["sessions"][-1]["bytes"]
            if written is not None and self.limits.may_go_on(grown, written):
                self._start()
            else:
                self.state = FINISHED

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[bool]:
        """True for one caller at a time, in the process that owns the recording."""
        if self.pid != os.getpid() or not self._lock.acquire(timeout=WAIT_S):
            yield False
            return
        try:
            if self._busy_thread is not None:  # a signal's handler, inside another call
                yield False
                return
            self._busy_thread = threading.get_ident()
            try:
                yield True
            finally:
                self._busy_thread = None
                action, self._when_free = self._when_free, None
                if action is not None:
                    action()
        finally:
            self._lock.release()


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
