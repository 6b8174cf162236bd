# SPDX-License-Identifier: Apache-2.0
"""The test that pytest runs now. Every pytest loads this file, so it imports next to nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Iterator, List, Optional

if TYPE_CHECKING:
    from xlatrace.programs import Program


class RunningTest:
    def __init__(
        self, file: Path, name: str, node_id: str, update: bool = False, accept_compiler: bool = False
    ) -> None:
        self.file = file
        self.name = name
        self.node_id = node_id
        self.update = update  # Write all baselines.
        self.accept_compiler = accept_compiler  # Write those that only the compiler changed.
        self.programs: List[Program] = []  # Made by `xlatrace.compile` in this test.


_current: Optional[RunningTest] = None


@contextlib.contextmanager
def running(test: RunningTest) -> Iterator[RunningTest]:
    global _current
    before, _current = _current, test
    try:
        yield test
    finally:
        _current = before


def current() -> Optional[RunningTest]:
    """None outside of a test."""
    return _current
