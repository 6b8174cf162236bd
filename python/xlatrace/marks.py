# SPDX-License-Identifier: Apache-2.0
"""What a training script can say to the recorder in its process: the functions of xlatrace.h.

The recorder is there when the process was started by `xlatrace record` or with libxlatrace.so
preloaded. Without it every function does nothing and costs a fraction of a microsecond, so calls
can stay in the script.
"""

from __future__ import annotations

import ctypes
from typing import Callable, Optional


def _find(name: str) -> Optional[Callable[..., object]]:
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    function.restype = None
    function.argtypes = []
    found: Callable[..., object] = function
    return found


_mark_step = _find("xlatrace_mark_step")
_pause = _find("xlatrace_pause")
_resume = _find("xlatrace_resume")


def is_recording() -> bool:
    """Whether the preload library of xlatrace is in this process."""
    return _mark_step is not None


def mark_step() -> None:
    """A step of the training loop begins here; call it once per iteration."""
    if _mark_step is not None:
        _mark_step()


def pause() -> None:
    """What is launched from here on is not recorded, until `resume`."""
    if _pause is not None:
        _pause()


def resume() -> None:
    """Records again after `pause`."""
    if _resume is not None:
        _resume()
