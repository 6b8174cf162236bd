# SPDX-License-Identifier: Apache-2.0
"""The one exception of this package."""

from __future__ import annotations


class XlatraceError(Exception):
    """`message` is the cause in a sentence. `hint` is a command or change to try, or empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.message = message
        self.hint = hint
