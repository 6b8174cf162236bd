# SPDX-License-Identifier: Apache-2.0
"""Ends the profile when the process ends of its own accord.

normal end, sys.exit, uncaught exception, Ctrl-C    atexit
os._exit                                            replaced by a function that ends it first
os.exec*                                            the same; goes on if the exec fails
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from typing import Any

from .recorder import Recorder


def install(recorder: Recorder) -> None:
    # After the framework's import, so before its own atexit functions: those tear it down.
    atexit.register(_at_exit, recorder)
    _wrap_exit(recorder)
    _wrap_exec(recorder, "execv")  # os.execl, os.execvp and the others end in one of these two
    _wrap_exec(recorder, "execve")


def _at_exit(recorder: Recorder) -> None:
    kind, exit = _how_it_ends()
    try:
        recorder.finish(kind, exit)
    except KeyboardInterrupt:
        pass  # not what ends this process: it is ending


def _how_it_ends() -> tuple[str, dict[str, Any]]:
    """The reason and the exit facts. Python stores an uncaught exception, except SystemExit."""
    error = getattr(sys, "last_exc", None)
    error_type = type(error) if error is not None else getattr(sys, "last_type", None)
    if error_type is None:
        return "exit", {"kind": "exit"}
    kind = "SIGINT" if issubclass(error_type, KeyboardInterrupt) else "exception"
    return kind, {"kind": kind, "exception": error_type.__name__}


def _wrap_exit(recorder: Recorder) -> None:
    original = os._exit

    @functools.wraps(original)
    def _exit(*args: Any, **kwargs: Any) -> Any:
        try:
            status = args[0] if args and isinstance(args[0], int) else None
            recorder.finish("os._exit", {"kind": "os._exit", "status": status})
        finally:
            original(*args, **kwargs)

    os._exit = _exit


def _wrap_exec(recorder: Recorder, name: str) -> None:
    original = getattr(os, name)

    @functools.wraps(original)
    def exec_(*args: Any, **kwargs: Any) -> Any:
        script_had_one = recorder.give_way("exec")
        recorder.about_to_end({"kind": "exec"})
        try:
            return original(*args, **kwargs)
        except BaseException:
            recorder.about_to_end(None)
            if not script_had_one:
                recorder.go_on()
            raise

    setattr(os, name, exec_)
