# SPDX-License-Identifier: Apache-2.0
"""xlatrace from Python: read a run, record one, mark steps, and test what JAX compiles.

    import xlatrace

    run = xlatrace.open("run.db")
    run.findings().to_pandas()
    run.op_time().to_polars()
    print(run.module("jit_train_step").text())

    for step, batch in enumerate(data):   # in the training script; nothing where nobody records
        xlatrace.mark_step(step)
        state = train_step(state, batch)

docs/schema.md describes each view and column. pandas, Polars and Arrow are imported only by the
conversions to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xlatrace.errors import XlatraceError
from xlatrace.marks import is_recording, mark_step, pause, resume
from xlatrace.places import library, program, schemas
from xlatrace.run import Module, Run, open
from xlatrace.table import Table
from xlatrace.version import __version__

if TYPE_CHECKING:
    from xlatrace.checks import CheckFailed, same_as
    from xlatrace.jax_events import watch
    from xlatrace.program_limits import limits
    from xlatrace.programs import Program, compile
    from xlatrace.recorder import Recording, record

# Loaded when first used, so that a training script imports only what it needs.
_LAZY = {
    "CheckFailed": "xlatrace.checks",
    "Program": "xlatrace.programs",
    "Recording": "xlatrace.recorder",
    "compile": "xlatrace.programs",
    "limits": "xlatrace.program_limits",
    "record": "xlatrace.recorder",
    "same_as": "xlatrace.checks",
    "watch": "xlatrace.jax_events",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'xlatrace' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext xlatrace` in IPython and Jupyter."""
    from xlatrace import notebook

    notebook.load(shell)


__all__ = [
    "CheckFailed",
    "Module",
    "Program",
    "Recording",
    "Run",
    "Table",
    "XlatraceError",
    "__version__",
    "compile",
    "is_recording",
    "library",
    "limits",
    "mark_step",
    "open",
    "pause",
    "program",
    "record",
    "resume",
    "same_as",
    "schemas",
    "watch",
]
