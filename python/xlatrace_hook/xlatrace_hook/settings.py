# SPDX-License-Identifier: Apache-2.0
"""Settings of the hook, which `xlatrace record` sets as environment variables.

Without XLATRACE_HOOK_DIR the hook does nothing; the others have defaults:

    XLATRACE_HOOK_DIR         absolute output folder
    XLATRACE_HOOK_DELAY_S     seconds to wait after the start of the framework's runtime (default 0)
    XLATRACE_HOOK_DURATION_S  seconds to record, compilation not counted (default 60, 0: no limit)
    XLATRACE_HOOK_MEMORY_MB   memory at which a profile is ended (default 256, up to 1024 if the
                              machine has much free memory; 0: no limit). All events are kept in
                              memory, some 2 million in 256 MB. The end of a profile needs three
                              times as much for a moment.
"""

from __future__ import annotations

import math
import os

TYPE_CHECKING = False  # the module `typing` is not loaded in processes that record nothing
if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTORY = "XLATRACE_HOOK_DIR"
DELAY = "XLATRACE_HOOK_DELAY_S"
DURATION = "XLATRACE_HOOK_DURATION_S"
MEMORY = "XLATRACE_HOOK_MEMORY_MB"

DEFAULT_DURATION_S = 60.0
DEFAULT_MEMORY_MB = 256.0
MOST_MEMORY_MB = 1024.0
SPARE_PART = 16  # A profile may use this part of the machine's free memory.


class Settings:
    """The settings of this process; a number that cannot be read counts as not given."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.directory: str = os.path.abspath(environment[DIRECTORY])
        self.delay_s: float = _number(environment.get(DELAY), 0.0)
        self.duration_s: float = _number(environment.get(DURATION), DEFAULT_DURATION_S) or math.inf
        given = environment.get(MEMORY)
        memory_mb = _number(given, default_memory_mb() if not given else DEFAULT_MEMORY_MB)
        memory_mb = memory_mb or math.inf
        self.memory_bytes: float = memory_mb * 1e6


def default_memory_mb() -> float:
    """A program grows for reasons of its own, and a profile that is ended for that has a hole."""
    try:
        with open("/proc/meminfo", "rb") as meminfo:
            for line in meminfo:
                if line.startswith(b"MemAvailable:"):
                    spare_mb = int(line.split()[1]) / 1000
                    return min(max(DEFAULT_MEMORY_MB, spare_mb / SPARE_PART), MOST_MEMORY_MB)
    except (OSError, ValueError, IndexError):
        pass
    return DEFAULT_MEMORY_MB


def _number(text: str | None, default: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return default
    return value if math.isfinite(value) and value >= 0 else default
