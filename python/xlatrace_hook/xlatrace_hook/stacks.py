# SPDX-License-Identifier: Apache-2.0
"""Samples the Python stacks of all threads into `host.samples` in the folder of the process.

A native library samples (collector/stacks). A Python thread that samples needs the GIL. It gets the
GIL from a busy main thread mostly where that thread waits. This module loads the library, starts it
when the framework has been imported, and pauses it while no profile runs.

XLATRACE_STACKS          samples per second (default 100); 0: no samples
XLATRACE_STACKS_LIBRARY  path of the library; no samples without it
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

RATE = "XLATRACE_STACKS"
LIBRARY = "XLATRACE_STACKS_LIBRARY"
FILE = "host.samples"
DEFAULT_RATE_HZ = 100.0
MAX_RATE_HZ = 10_000.0
# The first requests, the second finds what it needs; the others are for bad luck.
PREPARATIONS = 5
FULL = "the stack samples reached their limit of 64 MB; later samples are missing"


def rate_hz(text: str | None) -> float:
    """Samples per second; a number that cannot be read counts as not given."""
    try:
        rate = float(text or DEFAULT_RATE_HZ)
    except ValueError:
        return DEFAULT_RATE_HZ
    return min(rate, MAX_RATE_HZ) if rate >= 0 else DEFAULT_RATE_HZ


class Stacks:
    """No function raises. All functions but `start` may run in a signal handler."""

    def __init__(self) -> None:
        self._library: Any = None
        self._pid = 0

    def start(self, folder: str) -> None:
        path = os.environ.get(LIBRARY)
        rate = rate_hz(os.environ.get(RATE))
        # Without a GIL, stacks cannot be read while their threads run.
        gil = getattr(sys, "_is_gil_enabled", lambda: True)()
        if not path or rate == 0 or not gil or self._library is not None:
            return
        try:
            import ctypes

            with_gil = ctypes.PyDLL(path)
            with_gil.xlatrace_stacks_start.argtypes = [
                ctypes.c_char_p,
                ctypes.c_longlong,
                ctypes.c_ulong,
            ]
            file = os.fsencode(os.path.join(os.path.abspath(folder), FILE))
            main = threading.main_thread().ident
            for _ in range(PREPARATIONS):
                if with_gil.xlatrace_stacks_prepare() == 1:
                    break
            if main is None or with_gil.xlatrace_stacks_start(file, int(1e9 / rate), main) != 0:
                return
            self._library = ctypes.CDLL(path)  # its functions run without the GIL
            self._pid = os.getpid()
        except Exception:
            self._library = None

    def active(self) -> bool:
        return self._library is not None

    def pause(self) -> None:
        self._call("xlatrace_stacks_pause")

    def go_on(self) -> None:
        self._call("xlatrace_stacks_go_on")

    def stop(self) -> str | None:
        """Writes what was sampled; returns a note for the reader of the recording, if any."""
        full = self._call("xlatrace_stacks_stop") == 1
        self._pid = 0
        return FULL if full else None

    def forked(self) -> None:
        """In the child of a fork, which has no sampler."""
        if self._library is not None:
            self._library.xlatrace_stacks_forked()
        self._library = None

    def _call(self, name: str) -> int:
        if self._library is None or self._pid != os.getpid():
            return 0
        return int(getattr(self._library, name)())
