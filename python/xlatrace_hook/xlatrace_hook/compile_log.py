# SPDX-License-Identifier: Apache-2.0
"""compile.jsonl in the folder of the process: where the time before and between steps goes.

One JSON object per line, in the order in which its stage ended. Times are Unix nanoseconds.

    stage           process (first line), import, backend_start, trace, lower, compile, cache
    name            package, or function as JAX names it
    id              number of the compilation; its trace, lower, compile and cache share it
    start, end      no `end`: the stage has begun. A line of the same id and stage with an `end`
                    completes it, and has JAX's own start; without one the process ended in this
                    stage. An old JAX reports only the end, so that there is one line.
    thread          number of the thread (native)
    file, line      the user's line that imports or calls
    function        {file, line, library, operation}: where the function is defined; `operation`: it
                    is one operation of JAX that was called outside all jitted functions
    again           null: the first compilation of the function. Else the kinds of differences from
                    the nearest earlier one; the first kind leads
    details         [{kind, name, before, after, value, file, line}]: the differences
                    (compile_signature.py), facts of the program (compile_program.py), and of the
                    persistent cache: cache_hit (value: ns saved), cache_miss (before: "not kept",
                    "other key", "not in the cache"; after: settings that are part of the key);
                    caller: the user's function that calls an operation

A line has at most MAX_LINE_BYTES, the file MAX_FILE_BYTES. A last line with the stage `dropped` has
the `count` of the lines beyond.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

NAME = "compile.jsonl"
MAX_FILE_BYTES = 16 << 20
MAX_LINE_BYTES = 64 << 10
MAX_TEXT = 300


class CompileLog:
    """Appends lines. Nothing here raises; nothing is written in a fork of the process."""

    def __init__(self, folder: Callable[[], str]) -> None:
        self._folder = folder
        self._pid = os.getpid()
        self._descriptor: int | None = None
        self._bytes = 0
        self._dropped = 0
        self._lock = threading.Lock()

    def write(self, **entry: Any) -> None:
        try:
            line = json.dumps(entry, separators=(",", ":"), default=str) + "\n"
            content = line.encode("utf-8", "backslashreplace")
            if len(content) > MAX_LINE_BYTES:
                entry["details"] = []
                content = (json.dumps(entry, separators=(",", ":"), default=str) + "\n").encode(
                    "utf-8", "backslashreplace"
                )
            self._append(content)
        except Exception:
            pass  # A full or vanished disk is not the script's problem.

    def _append(self, content: bytes) -> None:
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._bytes + len(content) > MAX_FILE_BYTES:
                self._dropped += 1
                if self._dropped & (self._dropped - 1):  # 1, 2, 4, 8...: the last one counts.
                    return
                content = b'{"stage":"dropped","count":%d}\n' % self._dropped
            if self._descriptor is None:
                path = os.path.join(self._folder(), NAME)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._descriptor = os.open(path, flags, 0o600)
            os.write(self._descriptor, content)
            self._bytes += len(content)


def process_start_unix_ns() -> int | None:
    """When the process was started, to a clock tick (10 ms)."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        age_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
        return time.time_ns() - age_ns
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def short(text: object) -> str:
    """A text of bounded length; the middle of a long one is left out."""
    text = str(text)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT // 2] + "..." + text[-MAX_TEXT // 2 :]
