# SPDX-License-Identifier: Apache-2.0
"""The one thread of the hook: keeps to the limits and sees signals that the main thread cannot.

It is started by `_thread`, so that the script does not find it in `threading.enumerate()`.
"""

from __future__ import annotations

import _thread
import select
import time

from .recorder import Recorder
from .signals import Signals

TICK_S = 0.25


def start_watcher(recorder: Recorder, signals: Signals) -> None:
    _thread.start_new_thread(_watch, (recorder, signals))


def _watch(recorder: Recorder, signals: Signals) -> None:
    try:
        descriptor = signals.descriptor()
        if descriptor is None:
            while recorder.needs_ticks():
                time.sleep(TICK_S)
                recorder.tick()
            return
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while True:
            if poll.poll(TICK_S * 1000 if recorder.needs_ticks() else None):
                signals.receive()
            recorder.tick()
    except Exception as error:  # without limits from here on
        recorder.status.note(f"the watcher ended: {type(error).__name__}: {error}")
