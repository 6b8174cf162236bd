# SPDX-License-Identifier: Apache-2.0
"""xlatrace from Python: read a run, mark steps in a training script.

    import xlatrace

    run = xlatrace.open("run.db")
    run.findings().to_pandas()
    run.op_time().to_polars()
    print(run.module("jit_train_step").text())

    for step, batch in enumerate(data):   # in the training script; nothing where nobody records
        xlatrace.mark_step(step)
        state = train_step(state, batch)

What each view and column means: docs/schema.md. pandas, Polars and Arrow are asked for only when
one of them is wanted.
"""

from __future__ import annotations

from xlatrace.errors import XlatraceError
from xlatrace.marks import is_recording, mark_step, pause, resume
from xlatrace.places import library, program
from xlatrace.run import Module, Run, open
from xlatrace.table import Table
from xlatrace.version import __version__

__all__ = [
    "Module",
    "Run",
    "Table",
    "XlatraceError",
    "__version__",
    "is_recording",
    "library",
    "mark_step",
    "open",
    "pause",
    "program",
    "resume",
]
