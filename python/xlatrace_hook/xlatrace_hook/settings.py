# SPDX-License-Identifier: Apache-2.0
"""What `xlatrace record` asks of the hook, by environment variables.

XLATRACE_HOOK_DIR         absolute folder to write to; the hook does nothing when it is unset
XLATRACE_HOOK_DELAY_S     seconds to wait, from when the framework's runtime is up (default 0)
XLATRACE_HOOK_DURATION_S  seconds to record, compilation not counted (default 60, 0: no limit)
XLATRACE_HOOK_MEMORY_MB   memory that a profile may take until it is ended (default 256, more where
                          the machine has much to spare, up to 1024; 0: no limit): all events are
                          kept in memory, some 2 million in 256 MB, and three times as much is
                          needed for a moment when it is ended
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
SPARE_PART = 16  # Of what the machine has to spare, a profile may take one.


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
