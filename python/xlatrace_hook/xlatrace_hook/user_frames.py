# SPDX-License-Identifier: Apache-2.0
"""Which frame of a stack is the user's: outside of installed packages and the standard library."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_HERE = os.path.dirname(os.path.abspath(__file__))
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_is_library: dict[str, bool] = {}


def is_library(file: str) -> bool:
    known = _is_library.get(file)
    if known is None:
        known = _is_library[file] = (
            file.startswith(("<frozen", _LIBRARY, _HERE))
            or f"{os.sep}site-packages{os.sep}" in file
            or f"{os.sep}dist-packages{os.sep}" in file
        )
    return known


def user_place(frame: FrameType | None) -> tuple[str, int] | None:
    """File and line of the innermost frame that is the user's."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_library(file):
            return os.path.abspath(file) if os.path.exists(file) else file, frame.f_lineno
        frame = frame.f_back
    return None


def caller(depth: int = 1) -> FrameType | None:
    return sys._getframe(depth + 1)
