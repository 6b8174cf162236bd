# SPDX-License-Identifier: Apache-2.0
"""Calls from a training script to the recorder in its process: the functions of xlatrace.h.

The recorder exists if the process was started by `xlatrace record` or with libxlatrace.so
preloaded. Without it every function does nothing and costs a fraction of a microsecond, so calls
can stay in the script.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Optional


class _Preload:
    """The functions of libxlatrace.so, if this process was started with it."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self.mark_step = library.xlatrace_mark_step
        self.mark_step.argtypes, self.mark_step.restype = [ctypes.c_longlong], None
        self.pause = library.xlatrace_pause
        self.pause.argtypes, self.pause.restype = [], None
        self.resume = library.xlatrace_resume
        self.resume.argtypes, self.resume.restype = [], None
        self.is_recording = library.xlatrace_is_recording
        self.is_recording.argtypes, self.is_recording.restype = [], ctypes.c_int


def _find() -> Optional[_Preload]:
    try:
        return _Preload()
    except (OSError, AttributeError):
        return None


_preload = _find()
_steps = itertools.count()


def is_recording() -> bool:
    """Whether launches of this process are being recorded now."""
    return _preload is not None and bool(_preload.is_recording())


def mark_step(step: Optional[int] = None) -> None:
    """A training step begins; call it once per iteration, at its beginning. Reports use the number
    as given; without one, calls are counted from 0."""
    if _preload is not None:
        _preload.mark_step(next(_steps) if step is None else step)


def pause() -> None:
    """Launches that begin from here on are not recorded, until `resume`."""
    if _preload is not None:
        _preload.pause()


def resume() -> None:
    """Records again after `pause`."""
    if _preload is not None:
        _preload.resume()
