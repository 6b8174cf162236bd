# SPDX-License-Identifier: Apache-2.0
"""Limits of a recording: seconds and memory.

A profiler keeps all its events in memory until it is stopped. An event needs about 120 bytes, and a
busy training loop makes some 50,000 per second. The profiler does not report their number. So the growth of
the process is watched. If it is too large, the size of the profile shows whether the profile is the
cause. Time and growth during compilation do not count.

The seconds are a window of computing. A script may load data for minutes between its first use of
a device and its first step, so the window begins after a compilation. A program that took longer to
compile than all before it, for example a training step, opens the window again. Some scripts compile
nothing (eager loops, executables from a file). If a window's length has passed without a
compilation, the window begins then.
"""

from __future__ import annotations

import math
import resource
import time

from .settings import Settings

# A profile needs about 5 to 9 times as much memory as its serialised form.
MEMORY_PER_BYTE_WRITTEN = 8
# The growth is the profile's if the profile explains a quarter of it.
EXPLAINED = 0.25
MAX_FALSE_ALARMS = 5
MAX_WINDOWS = 8
SAMPLES_KEPT = 4096
_PAGE = resource.getpagesize()


class Limits:
    """Not thread-safe where it does not matter: a lost update shifts a limit a little."""

    def __init__(self, settings: Settings) -> None:
        self._duration_s = settings.duration_s
        self._memory = settings.memory_bytes
        self._deadline = math.inf
        self._wait_until = math.inf
        self._baseline = 0
        self._false_alarms = 0
        self._started = False
        self._longest_compilation_s = 0.0
        self._windows = 0
        self.has_compiled = False
        self._has_waited = False  # as long as a window, for a first compilation
        self._samples: list[tuple[float, int]] = []  # (time, resident bytes), in order of time

    def wait(self, seconds: float) -> None:
        self._wait_until = time.monotonic() + seconds

    def wait_is_over(self) -> bool:
        return time.monotonic() >= self._wait_until

    def session_started(self) -> None:
        if not self._started:
            self._started = True
            self._deadline = time.monotonic() + self._duration_s
        self._baseline = resident_bytes()
        self._samples = [(time.monotonic(), self._baseline)]

    def compiled(self, seconds: float) -> bool:
        """A compilation of that many seconds has just ended. Does it open the window again?"""
        self.has_compiled = True
        if not self._samples:
            return False
        now = time.monotonic()
        self._deadline += seconds
        opens = seconds > self._longest_compilation_s and self._windows < MAX_WINDOWS
        if opens:
            self._longest_compilation_s = seconds
            self._windows += 1
            self._deadline = now + self._duration_s
        before = next(
            (size for when, size in reversed(self._samples) if when <= now - seconds),
            self._samples[0][1],
        )
        size = resident_bytes()
        self._baseline += max(0, size - before)
        self._sample(now, size)
        return opens

    def reached(self, begun: bool = True) -> str | None:
        """The limit that has been reached, if any. Takes a sample of the process's size.

        Without `begun` the window is not over: a compilation is under way.
        """
        now = time.monotonic()
        self._sample(now, resident_bytes())
        if begun and now >= self._deadline:
            return "duration"
        return "memory" if self.growth() > self._memory else None

    def had_begun(self) -> bool:
        """Was it the window that is over? It begins now if nothing was compiled until now."""
        if self.has_compiled or self._has_waited:
            return True
        self._has_waited = True
        self._deadline = time.monotonic() + self._duration_s
        return False

    def growth(self) -> int:
        return self._samples[-1][1] - self._baseline if self._samples else 0

    def may_go_on(self, grown: int, written: int) -> bool:
        """Was that growth something else, seeing the size of the profile? Then more is allowed."""
        if written * MEMORY_PER_BYTE_WRITTEN > grown * EXPLAINED:
            return False
        self._false_alarms += 1
        if self._false_alarms <= 2:
            self._memory *= 2
        return self._false_alarms <= MAX_FALSE_ALARMS

    def _sample(self, when: float, size: int) -> None:
        self._samples.append((when, size))
        if len(self._samples) > SAMPLES_KEPT:
            del self._samples[: SAMPLES_KEPT // 2]


def resident_bytes() -> int:
    """Resident memory of this process in bytes; 0: unknown."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
