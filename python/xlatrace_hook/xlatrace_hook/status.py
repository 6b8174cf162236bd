# SPDX-License-Identifier: Apache-2.0
"""The folder of this process, and its small file with the course of the recording.

The folder is `<pid>-<start time>`: the start time of /proc/<pid>/stat (clock ticks since boot), so
that a reused pid gives two folders. A process that replaces itself by exec keeps both numbers; its
next folder ends in `.2`. status.json is always complete, because a rename replaces it. It is written
after the framework's import, at the start and stop of a session, and at the end of the process.

    schema_version          1
    pid, ppid, argv         of the process; values of secret-looking flags are masked
    start_unix_ns           when the framework had been imported
    python_version, framework ("jax", "tensorflow"), framework_version, jaxlib_version
                            of the framework that is profiled; the first one imported until then
    xla_flags               XLA_FLAGS when the framework had been imported; null: not known
    delay_s                 seconds from when the runtime is up until recording starts
    frameworks_imported     all of them, in order
    started, start_error    is there a session; why not. Neither: nothing was ever computed
    stopped, stop_reason    exit, exception, SIGINT, SIGTERM, SIGHUP, os._exit, exec, duration,
                            memory, script_profiler, jax_started. Not stopped in a file of a process
                            that is gone: it was killed, and its last session is lost
    stop_error              why a session's file is missing
    sessions                in order; each: xplane (a file in this folder, or null), framework,
                            start_unix_ns, stop_unix_ns, stop_reason, bytes
    exit                    how the process ended: kind exit, exception or SIGINT (with exception),
                            os._exit (with status), signal (with signal), exec; null while it runs,
                            and for ever if it was killed
    profile_start_unix_ns, profile_stop_unix_ns
                            from the first session to the last
    own_cost_ns             time spent in this hook, most of it in stopping sessions
    notes                   sentences for the reader of the recording
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from typing import Any

from .masking import mask_secrets

SCHEMA_VERSION = 1


class Status:
    """Content of status.json; `update` writes it. No function here raises."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folder: str | None = None
        self.data: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "start_unix_ns": time.time_ns(),
            "argv": mask_secrets(getattr(sys, "argv", [])),
            "python_version": platform.python_version(),
            "framework": None,
            "framework_version": None,
            "jaxlib_version": None,
            "xla_flags": None,
            "delay_s": 0.0,
            "frameworks_imported": [],
            "started": False,
            "start_error": None,
            "stopped": False,
            "stop_reason": None,
            "stop_error": None,
            "sessions": [],
            "exit": None,
            "profile_start_unix_ns": None,
            "profile_stop_unix_ns": None,
            "own_cost_ns": 0,
            "notes": [],
        }

    @property
    def folder(self) -> str:
        """The folder of this process, made at the first call. Raises OSError."""
        if self._folder is None:
            self._folder = _make_folder(self._root)
        return self._folder

    def note(self, text: str) -> None:
        """Remembers something that a reader of the recording should know, once."""
        if text not in self.data["notes"]:
            self.data["notes"].append(text)

    def update(self, **changes: Any) -> None:
        """Changes entries and writes the file."""
        self.data.update(changes)
        try:
            write_file(
                os.path.join(self.folder, "status.json"),
                json.dumps(self.data, indent=1).encode("utf-8", "backslashreplace") + b"\n",
            )
        except Exception:
            pass  # a full or vanished disk is not the script's problem


def write_file(path: str, content: bytes) -> None:
    """Writes a file that appears only when it is complete. Raises OSError."""
    partial = path + ".partial"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _make_folder(root: str) -> str:
    os.makedirs(root, mode=0o700, exist_ok=True)
    name = os.path.join(root, f"{os.getpid()}-{_process_start_time()}")
    for attempt in range(1, 1000):
        path = name if attempt == 1 else f"{name}.{attempt}"
        try:
            os.mkdir(path, 0o700)
            return path
        except FileExistsError:
            continue
    raise FileExistsError(name)


def _process_start_time() -> int:
    try:
        with open("/proc/self/stat", "rb") as stat:
            # The second field, the program's name in brackets, may itself hold blanks and brackets.
            return int(stat.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return time.time_ns()
