# SPDX-License-Identifier: Apache-2.0
"""Keeps the start and stop lines of TensorFlow's profiler out of the script's stderr.

Those lines have level INFO in the log of the Abseil library, whose threshold has no Python
interface. The C++ function is called if it is found (TensorFlow 2.17 and later, on Linux); else the
lines stay. A redirection of stderr itself could lose concurrent output of other code.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterator

WARNING = 1

# The dates of Abseil's releases are part of its symbols.
RELEASES = ("20250814", "20250512", "20250127", "20240722", "20240116", "20230802")
LIBRARY = "libtensorflow_framework.so.2"


@contextlib.contextmanager
def quiet_log() -> Iterator[None]:
    functions = _log_level_functions()
    if functions is None:
        yield
        return
    get_level, set_level = functions
    level = get_level()
    set_level(max(level, WARNING))
    try:
        yield
    finally:
        set_level(level)


@functools.lru_cache(maxsize=None)
def _log_level_functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    folder = os.path.dirname(getattr(sys.modules.get("tensorflow"), "__file__", None) or "")
    try:
        library = ctypes.CDLL(os.path.join(folder, LIBRARY), mode=os.RTLD_NOLOAD)
    except (OSError, AttributeError):
        return None
    for release in RELEASES:
        scope = f"_ZN4absl12lts_{release}"
        get_level = getattr(library, scope + "11MinLogLevelEv", None)
        set_level = getattr(library, scope + "14SetMinLogLevelENS0_18LogSeverityAtLeastE", None)
        if get_level is not None and set_level is not None:
            get_level.restype = ctypes.c_int
            set_level.argtypes, set_level.restype = [ctypes.c_int], None
            return get_level, set_level
    return None
