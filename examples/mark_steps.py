# SPDX-License-Identifier: Apache-2.0
"""Marks training steps for xlatrace, and leaves warm-up out, with nothing but ctypes.

    xlatrace record -- python examples/mark_steps.py

Without xlatrace the calls do nothing. The functions are those of include/xlatrace.h.
"""

import ctypes


def xlatrace(name, *arguments):
    """Calls a function of libxlatrace.so where the program runs under it."""
    function = getattr(ctypes.CDLL(None), "xlatrace_" + name, None)
    return function(*arguments) if function is not None else None


def train_step():
    """Your step: this one stands for it."""


def main():
    xlatrace("pause")  # warm-up and compilation are not recorded
    for step in range(20):
        if step == 5:
            xlatrace("resume")
        xlatrace("mark_step", ctypes.c_longlong(step))
        train_step()


if __name__ == "__main__":
    main()
